"""Trials of a search in an SQLite file of Optuna's, one process adding to it at a time."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from quietgraph.bench.search_space import Options, Span
from quietgraph.errors import UnwritablePathError


@dataclass(frozen=True)
class Trial:
    """One set of values that was tried."""

    values: dict[str, Any]
    score: float | None  # None: it failed
    reason: str = ""
    seconds: float = 0.0


@contextmanager
def open_study(optuna: Any, name: str, store: Path) -> Iterator[Any]:
    """Give the study of this name, made where it is missing, and the sole right to add to it."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    store = store.absolute()
    try:
        store.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(f"{store}-writer", timeout=0).acquire()
    except Timeout:
        raise UnwritablePathError(
            f"another process tunes into {store}. Wait for it, or choose another --store."
        ) from None
    except OSError as error:
        raise UnwritablePathError(
            f"cannot write {store}: {error.strerror}. Choose another --store."
        ) from error
    with lock:
        storage = _open_storage(optuna, store)
        study = optuna.create_study(
            storage=storage, study_name=name, direction="maximize", load_if_exists=True
        )
        states = optuna.trial.TrialState
        for killed in study.get_trials(deepcopy=False, states=(states.RUNNING,)):
            study.tell(killed.number, state=states.FAIL)
        try:
            yield study
        finally:
            storage.engine.dispose()


def finished_trials(optuna: Any, study: Any) -> list[Trial]:
    """Return the trials in order; one that was killed under way is none."""
    complete = optuna.trial.TrialState.COMPLETE
    return [
        Trial(
            trial.params,
            trial.value if trial.state == complete else None,
            trial.user_attrs.get("reason", ""),
            trial.user_attrs.get("seconds", 0.0),
        )
        for trial in study.get_trials(deepcopy=False)
        if trial.state == complete or "reason" in trial.user_attrs
    ]


def distributions(optuna: Any, space: Mapping[str, Span | Options]) -> dict[str, Any]:
    """Return the space as Optuna writes it."""
    return {name: _distribution(optuna.distributions, choice) for name, choice in space.items()}


def _distribution(kinds: Any, choice: Span | Options) -> Any:
    if isinstance(choice, Options):
        return kinds.CategoricalDistribution(choice.values)
    is_whole = isinstance(choice.low, int) and isinstance(choice.high, int)
    kind = kinds.IntDistribution if is_whole else kinds.FloatDistribution
    return kind(choice.low, choice.high, log=choice.is_log)


def _open_storage(optuna: Any, store: Path) -> Any:
    try:
        return optuna.storages.RDBStorage(f"sqlite:///{store}")
    except Exception as error:  # of Optuna, SQLAlchemy, Alembic or SQLite
        words = " ".join(str(error).split())[:200]
        raise UnwritablePathError(
            f"{store} cannot be used as a store of trials ({words}). Choose another --store."
        ) from error
