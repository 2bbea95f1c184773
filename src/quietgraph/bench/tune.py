"""Hyper-parameter search by noisy labels alone, kept in a file of Optuna and resumed from it."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import pandas as pd

from quietgraph.bench.execute import PAPER, Run, cross_validate, words_of
from quietgraph.bench.grid import DatasetLike, Grid, MethodLike
from quietgraph.errors import InvalidParameterError, QuietgraphError, UnknownNameError
from quietgraph.methods.base import NodeClassifier
from quietgraph.params import parameters, parse_assignments

OBJECTIVES: Final = ("validation", "folds")
_PAPERS: Final = "learning_rate=1e-4:0.5:log weight_decay=1e-5:5e-3:log dropout=0.3:0.7"
USUAL: Final = f"{_PAPERS} rank_ratio=0.1:0.9 rank_weight=0.05:0.5 temperature=0.1:1.0".split()


def tune(
    dataset: DatasetLike,
    method: MethodLike,
    path: str | Path,
    *,
    space: Iterable[str] = (),
    trials: int = 30,
    by: str = "validation",
    noise: str = "symmetric:0.4",
    seeds: Sequence[int] = (1000, 1001, 1002),
    on_trial: Callable[[int, int], Any] | None = None,
    **grid: Any,
) -> pd.DataFrame:
    """Return the trials, best first: the values, `score` (mean over seeds; missing where it failed) and `reason`.

    Trials that the file has for the same method, revision, data and space count; no true label is read.

    Args:
        dataset: As for `Grid`.
        method: As for `Grid`.
        path: Journal file of Optuna.
        space: Ranges `name=low:high`, `name=low:high:log` or `name=a,b,c`; by default the usual ones the method has.
        trials: How many there are in the end.
        by: `validation`: accuracy on noisy validation labels; `folds`: of five folds of noisy training labels.
        noise: Setting.
        seeds: Draws that the score is averaged over.
        on_trial: Called with the finished and all trials after each.
        grid: Other fields of `Grid`: split, data_root.
    """
    try:
        import optuna
        from optuna.storages import JournalStorage, journal
    except ImportError as error:
        raise QuietgraphError("Optuna is not installed. Install it with: pip install 'quietgraph[tune]'") from error
    if by not in OBJECTIVES:
        raise UnknownNameError("objective", by, OBJECTIVES)
    runs = Grid(dataset, method, noise, seeds, protocol=PAPER, **grid).runs()
    spans = parse_space(type(runs[0].estimator), space)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    about: Any = {"study_name": f"{runs[0].key} {by} {sorted(spans.items())} {list(seeds)}", "direction": "maximize"}
    study = optuna.create_study(
        storage=JournalStorage(journal.JournalFileBackend(str(path))), load_if_exists=True, **about
    )

    def ended() -> list[Any]:
        return [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]

    def objective(trial: Any) -> float:
        values = {name: _suggest(trial, name, span) for name, span in spans.items()}
        try:
            return sum(_score(run, by, values) for run in runs) / len(runs)
        except Exception as error:
            trial.set_user_attr("reason", words_of(error))
            raise

    study.sampler = optuna.samplers.TPESampler(seed=len(ended()))  # a search that goes on draws other values
    tell = [lambda *_: on_trial(len(ended()), trials)] if on_trial is not None else []
    study.optimize(objective, max(0, trials - len(ended())), catch=Exception, callbacks=tell)
    rows = [{**one.params, "score": one.value, "reason": one.user_attrs.get("reason", "")} for one in ended()]
    frame = pd.DataFrame(rows).astype({"score": float})
    return frame.sort_values("score", ascending=False, kind="stable", ignore_index=True)


def parse_space(method: type[NodeClassifier], texts: Iterable[str] = ()) -> dict[str, tuple[Any, ...]]:
    """Return the arguments of Optuna's suggestion for each parameter: its choices, or low, high and whether log."""
    known, space = parameters(method), dict[str, tuple[Any, ...]]()
    for text in list(texts) or [each for each in USUAL if each.partition("=")[0] in known]:
        name, _, given = text.partition("=")
        is_span = ":" in given and "," not in given
        parts = given.removesuffix(":log").split(":") if is_span else given.split(",")
        values: list[Any] = [parse_assignments(method, {name: part})[name] for part in parts]
        are_ends = len(values) == 2 and all(type(end) in {int, float} for end in values) and values[0] < values[1]
        if is_span and not are_ends:
            raise InvalidParameterError(f"a range is name=low:high, name=low:high:log or name=a,b,c, got '{text}'.")
        space[name] = (*values, given.endswith(":log")) if is_span else (values,)
    if not space:
        raise InvalidParameterError(f"{method.__name__} has none of the usual parameters. Name a range: name=low:high.")
    return space


def _suggest(trial: Any, name: str, span: tuple[Any, ...]) -> Any:
    if len(span) == 1:
        return trial.suggest_categorical(name, span[0])
    suggest = trial.suggest_int if all(isinstance(end, int) for end in span[:2]) else trial.suggest_float
    return suggest(name, *span[:2], log=span[2])


def _score(run: Run, by: str, values: dict[str, Any]) -> float:
    data, _ = run.observe()
    model = run.estimator.set_params(**values, seed=run.seed)
    if by == "folds":
        return cross_validate(model, data)
    held_out = data.split.validation.numpy()
    return float((model.fit(data).predict() == data.labels)[held_out].mean())
