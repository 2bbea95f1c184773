"""Metrics of every epoch, for whoever wants to follow a training: functions, logging, trackers.

model.fit(graph, labels, callbacks=[lambda epoch: print(epoch.number, epoch.metrics["loss"])])
model.fit(graph, labels, callbacks=[TensorBoard("runs/first")])
model.fit(graph, labels, verbose=1)

The logger `quietgraph` says the same: every tenth of the epochs at INFO, each one at DEBUG.
"""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from quietgraph.errors import InvalidParameterError
from quietgraph.extras import import_extra

__all__ = ["Callback", "Epoch", "MLflow", "TensorBoard"]

logger: Final = logging.getLogger("quietgraph")
_LEVELS: Final = (logging.WARNING, logging.INFO, logging.DEBUG)  # by verbose


@dataclass(frozen=True)
class Epoch:
    """What one epoch of a training came to.

    Attributes:
        what: Name of the training, such as `learning embeddings`; a fit may have several.
        number: Of the epoch, from 1.
        total: Epochs that are planned; training may stop before.
        metrics: Mean losses by name; `score` where validation labels choose the epoch, and
            `seconds` since the start of the training.
    """

    what: str
    number: int
    total: int
    metrics: Mapping[str, float]

    def __str__(self) -> str:
        values = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"{self.what}: epoch {self.number} of {self.total}, {values}"


class Callback:
    """Follows a fit; a subclass overrides what it needs. A function stands for `on_epoch`."""

    def on_fit_start(self, model: object) -> None:
        """Called with the estimator before it learns."""

    def on_epoch(self, epoch: Epoch) -> None:
        """Called after every epoch of every training."""

    def on_fit_end(self, model: object) -> None:
        """Called after the fit, also where it failed."""


Follower: TypeAlias = Callback | Callable[[Epoch], Any]
_followers: ContextVar[tuple[Follower, ...]] = ContextVar("callbacks", default=())


class TensorBoard(Callback):
    """Writes the metrics as scalars for TensorBoard (`pip install 'quietgraph[tensorboard]'`)."""

    def __init__(self, folder: str) -> None:
        module = import_extra("torch.utils.tensorboard", "the callback TensorBoard")
        self._writer: Any = module.SummaryWriter(str(folder))

    def on_epoch(self, epoch: Epoch) -> None:
        """Write one point of every curve."""
        for name, value in epoch.metrics.items():
            self._writer.add_scalar(f"{epoch.what}/{name}", value, epoch.number)

    def on_fit_end(self, model: object) -> None:
        """Write the parameters, and all that is still in memory."""
        self._writer.add_text("parameters", repr(model))
        self._writer.flush()


class MLflow(Callback):
    """Logs parameters and metrics to the active MLflow run (`pip install 'quietgraph[mlflow]'`).

    Without an active run MLflow starts one.
    """

    def __init__(self) -> None:
        self._mlflow: Any = import_extra("mlflow", "the callback MLflow")

    def on_fit_start(self, model: Any) -> None:
        """Log the parameters."""
        self._mlflow.log_params({"method": type(model).__name__, **model.get_params()})

    def on_epoch(self, epoch: Epoch) -> None:
        """Log one point of every curve."""
        named = {f"{epoch.what}/{name}": value for name, value in epoch.metrics.items()}
        self._mlflow.log_metrics(named, step=epoch.number)


def report_epoch(epoch: Epoch) -> None:
    """Tell an epoch to the log and to the callbacks in use."""
    step = max(1, epoch.total // 10)
    level = logging.INFO if epoch.number % step == 0 else logging.DEBUG
    logger.log(level, "%s", epoch)
    for follower in _followers.get():
        if isinstance(follower, Callback):
            follower.on_epoch(epoch)
        else:
            follower(epoch)


@contextmanager
def follow(
    model: object, callbacks: Iterable[Follower] = (), *, verbose: int = 0
) -> Iterator[None]:
    """Tell the epochs of a fit inside the block to callbacks, and to stderr if asked for.

    Args:
        model: What is fitted.
        callbacks: Objects of `Callback`, or functions of an `Epoch`.
        verbose: 0, 1 for every tenth of the epochs, 2 for each.
    """
    followers = tuple(callbacks)
    for one in followers:
        if not isinstance(one, Callback) and not callable(one):
            raise InvalidParameterError(
                f"a callback must be a Callback or a function of an epoch, got {one!r}."
            )
    with ExitStack() as after:
        after.enter_context(_shown(verbose))
        after.callback(_followers.reset, _followers.set(followers))
        for one in (each for each in followers if isinstance(each, Callback)):
            after.callback(one.on_fit_end, model)
            one.on_fit_start(model)
        yield


@contextmanager
def _shown(verbose: int) -> Iterator[None]:
    """Show the log inside the block: on stderr, or where a caller who set up logging sends it."""
    if verbose not in (0, 1, 2):
        raise InvalidParameterError(f"verbose must be 0, 1 or 2, got {verbose!r}.")
    if verbose == 0:
        yield
        return
    before, handler = logger.level, logging.StreamHandler(sys.stderr)
    logger.setLevel(_LEVELS[verbose])
    if not logging.getLogger().handlers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
