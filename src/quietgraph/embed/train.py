"""One training loop for every method: steps, early stop, best epoch, history."""

import copy
import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from quietgraph.embed.adam import Adam, State
from quietgraph.errors import QuietgraphError

History: TypeAlias = list[dict[str, float]]
Losses: TypeAlias = Callable[[int], Mapping[str, Tensor]]  # of a step, numbered from 0
logger = logging.getLogger("quietgraph")


class DivergedError(QuietgraphError):
    """A loss became NaN or infinite."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int
    learning_rate: float
    weight_decay: float = 0.0
    patience: int | None = None  # epochs without a better value before training stops
    steps: int = 1  # of an epoch; several where the graph is trained in partitions


@dataclass(frozen=True)
class Epoch:
    """What one epoch of a training came to.

    Attributes:
        what: Name of the training, such as `learning embeddings`; a fit may have several.
        number: Of the epoch, from 1.
        total: Epochs that are planned; training may stop before.
        metrics: Mean losses by name, `score` where validation labels choose the epoch, and `seconds` since the start.
    """

    what: str
    number: int
    total: int
    metrics: Mapping[str, float]

    def __str__(self) -> str:
        values = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.items())
        return f"{self.what}: epoch {self.number} of {self.total}, {values}"


def train(
    module: nn.Module,
    losses: Losses,
    schedule: Schedule,
    *,
    score: Callable[[], float] | None = None,
    parameters: list[dict[str, Any]] | None = None,
    after_step: Callable[[], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    moments: State | None = None,
    what: str = "training",
) -> History:
    """Train a module in place, leave it in eval mode, and return one record of mean losses per epoch.

    Args:
        module: What is trained.
        losses: Gives the named losses of a step; "loss" is the one that is minimised.
        schedule: Epochs, steps, step size, decay, patience.
        score: Larger is better, evaluated after every epoch in eval mode; the parameters of the best epoch are
            restored at the end. Without it the last epoch's stay, and patience counts epochs without a better loss.
        parameters: Optimiser groups, where they differ from all parameters with one decay.
        after_step: Called after every step, for example to move a target network.
        on_epoch: Called after every epoch.
        moments: Of Adam, by position of the parameter; training goes on from them and leaves its own there.
        what: Name of the work for progress.
    """
    groups = parameters or [{"params": list(module.parameters())}]
    optimiser = Adam(groups, learning_rate=schedule.learning_rate, weight_decay=schedule.weight_decay)
    if moments is not None:
        optimiser.state = moments
    history: History = []
    best, best_state, waited, started = -math.inf, None, 0, time.perf_counter()
    for number in range(schedule.epochs):
        if schedule.patience is not None and waited >= schedule.patience:
            break
        sums: dict[str, list[float]] = {}
        for step in range(number * schedule.steps, (number + 1) * schedule.steps):
            module.train()
            for name, value in _step(losses(step), optimiser, f"{what} diverged at epoch {number}").items():
                sums.setdefault(name, []).append(value)
            if after_step is not None:
                after_step()
        record = {name: sum(values) / len(values) for name, values in sums.items()}
        if score is not None:
            module.eval()
            with torch.no_grad():
                record["score"] = score()
        record["seconds"] = time.perf_counter() - started
        history.append(record)
        value, waited = record.get("score", -record["loss"]), waited + 1
        if value > best:
            best, waited = value, 0
            best_state = copy.deepcopy(module.state_dict()) if score is not None else None
        epoch = Epoch(what, number + 1, schedule.epochs, record)
        logger.debug("%s", epoch)
        if on_epoch is not None:
            on_epoch(epoch)
    if best_state is not None:
        module.load_state_dict(best_state)
    module.eval()
    return history


def _step(values: Mapping[str, Tensor], optimiser: Adam, diverged: str) -> dict[str, float]:
    """Follow the gradient of "loss" once and return all values."""
    optimiser.zero_grad()
    values["loss"].backward()
    optimiser.step()
    record = {name: float(value.detach()) for name, value in values.items()}
    if not math.isfinite(record["loss"]):
        raise DivergedError(f"{diverged}: the loss is {record['loss']}. Lower learning_rate.")
    return record
