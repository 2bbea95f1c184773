"""Trials of a search in an SQLite file of Optuna's, one process adding to it at a time."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Final

from quietgraph.bench.search_space import Options, Span
from quietgraph.errors import QuietgraphError
from quietgraph.params import ParameterValue
from quietgraph.sqlite_file import FileKind, damaged, explained, lock_for_writing, unlock

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.storages import BaseStorage

# Optuna makes and versions the tables.
TRIALS = FileKind("store of trials", 0, 0, "", "Choose another --store.")


# Optuna makes it right after its tables; where a process was killed in between, it would be
# missing for good, and the same study could be begun twice.
_ONE_STUDY_A_NAME: Final = (
    "CREATE UNIQUE INDEX IF NOT EXISTS ix_studies_study_name ON studies (study_name)"
)


@dataclass(frozen=True)
class Trial:
    """One set of values that was tried."""

    values: dict[str, ParameterValue]
    score: float | None  # None: it failed
    reason: str = ""
    seconds: float = 0.0


@contextmanager
def open_study(optuna: ModuleType, name: str, store: Path) -> Iterator["Study"]:
    """Give the study of this name, made where it is missing, and the sole right to add to it."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    store = store.absolute()
    lock = lock_for_writing(store, TRIALS)
    try:
        with _explained(store), ExitStack() as after:
            with readable(store):
                storage = optuna.storages.RDBStorage(f"sqlite:///{store}")
                after.callback(storage.engine.dispose)
                with storage.engine.begin() as connection:
                    connection.exec_driver_sql(_ONE_STUDY_A_NAME)
                study = _continued(optuna, name, storage)
            yield study
    finally:
        unlock(lock)


@contextmanager
def readable(store: Path) -> Iterator[None]:
    """Turn whatever Optuna raises on a store with damaged cells into a sentence."""
    from optuna.exceptions import StorageInternalError  # noqa: PLC0415  (an extra)
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  (comes with it)

    try:
        yield
    except (SQLAlchemyError, StorageInternalError, QuietgraphError):
        raise
    except Exception as error:
        raise damaged(store, TRIALS, error) from error


@contextmanager
def _explained(store: Path) -> Iterator[None]:
    """Turn errors of Optuna and the database below it into sentences."""
    from optuna.exceptions import StorageInternalError  # noqa: PLC0415  (an extra)
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415  (comes with it)

    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        with explained(store, TRIALS):
            raise getattr(cause, "orig", None) or damaged(store, TRIALS, error) from error


def _continued(optuna: ModuleType, name: str, storage: "BaseStorage") -> "Study":
    """Return the study, in which a trial that was under way when it was killed has failed."""
    study: Study = optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True
    )
    states = optuna.trial.TrialState
    for killed in study.get_trials(deepcopy=False, states=(states.RUNNING,)):
        study.tell(killed.number, state=states.FAIL)
    return study


def finished_trials(optuna: ModuleType, study: "Study", store: Path) -> list[Trial]:
    """Return the trials of a store in order; one that was killed under way is none."""
    complete = optuna.trial.TrialState.COMPLETE
    with readable(store):
        return [
            Trial(
                trial.params,
                trial.value if trial.state == complete else None,
                str(trial.user_attrs.get("reason", "")),
                float(trial.user_attrs.get("seconds", 0.0)),
            )
            for trial in study.get_trials(deepcopy=False)
            if trial.state == complete or "reason" in trial.user_attrs
        ]


def distributions(
    optuna: ModuleType, space: Mapping[str, Span | Options]
) -> dict[str, "BaseDistribution"]:
    """Return the space as Optuna writes it."""
    return {name: _distribution(optuna.distributions, choice) for name, choice in space.items()}


def _distribution(kinds: ModuleType, choice: Span | Options) -> "BaseDistribution":
    if isinstance(choice, Options):
        one_of: BaseDistribution = kinds.CategoricalDistribution(choice.values)
        return one_of
    is_whole = isinstance(choice.low, int) and isinstance(choice.high, int)
    kind = kinds.IntDistribution if is_whole else kinds.FloatDistribution
    span: BaseDistribution = kind(choice.low, choice.high, log=choice.is_log)
    return span
