"""`quietgraph tune`: search for parameters by noisy labels, never by test labels."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from quietgraph.bench.cross_validation import paper_grid
from quietgraph.bench.grid import Grid, parse_seeds
from quietgraph.bench.paper_search import PaperSearch, paper_search
from quietgraph.bench.search_space import parse_space, usual_space
from quietgraph.bench.trial_store import Trial
from quietgraph.bench.tuning import Goal, best_trial, search, search_grid, with_values
from quietgraph.bench.variant import Variant, parse_variant
from quietgraph.cli.bench import span_words
from quietgraph.cli.console import results, say
from quietgraph.data.noise_setting import parse_noise
from quietgraph.errors import InvalidParameterError
from quietgraph.methods import get_method

_SHOWN = 5
_WORDS = {
    "validation": "accuracy on noisy validation labels",
    "folds": "five-fold accuracy on noisy training labels",
    "fold-loss": "negative five-fold loss on noisy training labels",
}


def tune(
    *,
    dataset: str,
    method: str,
    noise: str,
    trials: int,
    store: Path,
    param: list[str] | None,
    objective: str | None,
    is_paper_grid: bool,
    is_paper_search: bool,
    seeds: str,
    split: str | None,
    data_root: str | None,
    as_json: bool,
) -> None:
    """Search for good parameters; started again, it continues."""
    goal = Goal(
        dataset=dataset,
        variant=parse_variant(method),
        noise=parse_noise(noise),
        seeds=tuple(parse_seeds(seeds)),
        objective=objective or ("folds" if is_paper_grid else "validation"),
        split=split,
        data_root=data_root,
    )
    _rehearse(goal)
    if sum(map(bool, (param, is_paper_grid, is_paper_search))) > 1:
        raise InvalidParameterError(
            "--param, --paper-grid and --paper-search exclude each other. Name one of them."
        )
    chosen = get_method(goal.variant.method)
    if is_paper_search:
        _print_search(goal, paper_search(goal, store, trials=trials, tell=_show), store, as_json)
        return
    if is_paper_grid:
        found = search_grid(goal, paper_grid(chosen), store, tell=_show)
    else:
        space = parse_space(chosen, param) if param else usual_space(chosen)
        found = search(goal, space, store, trials=trials, tell=_show)
    _print_results(goal, found, store, as_json=as_json)


def _rehearse(goal: Goal) -> None:
    """Tell a mistake before anything is tried."""
    grid = Grid(
        datasets=[goal.dataset],
        methods=[goal.variant],
        noise=[goal.noise],
        seeds=goal.seeds,
        split=goal.split,
        data_root=goal.data_root,
    )
    grid.runs()
    grid.rehearse()


def _show(found: list[Trial], wanted: int) -> None:
    last = found[-1]
    outcome = last.reason if last.score is None else f"{last.score:.4f}"
    seconds = sum(trial.seconds for trial in found) / len(found) * (wanted - len(found))
    line = f"[{len(found)}/{wanted}] {outcome} with {_words(last.values)}"
    say(escape(f"{line}; about {span_words(seconds)} left"))


def _print_results(goal: Goal, found: list[Trial], store: Path, *, as_json: bool) -> None:
    best = best_trial(found)
    if as_json:
        typer.echo(json.dumps(goal.facts() | _facts(found), indent=1))
        return
    _print_trials(found, _WORDS[goal.objective], store)
    _print_command(goal, with_values(goal.variant, best))


def _print_search(goal: Goal, found: PaperSearch, store: Path, as_json: bool) -> None:
    """Print both stages of the paper's search and what they chose together."""
    if as_json:
        stages = {"training": _facts(found.training), "rank": _facts(found.rank)}
        facts = goal.facts() | stages | {"chosen": str(found.variant)}
        typer.echo(json.dumps(facts, indent=1))
        return
    _print_trials(found.training, _WORDS["fold-loss"], store)
    words = "five-fold accuracy on a fifth of the noisy training labels"
    _print_trials(found.rank, words, store)
    _print_command(goal, found.variant)


def _facts(found: list[Trial]) -> dict[str, Any]:
    return {"best": asdict(best_trial(found)), "trials": [asdict(one) for one in found]}


def _print_trials(found: list[Trial], words: str, store: Path) -> None:
    scored = sorted((one for one in found if one.score is not None), key=_by_score)
    table = Table("score", *best_trial(found).values)
    for trial in scored[:_SHOWN]:
        table.add_row(f"{trial.score:.4f}", *(_value(each) for each in trial.values.values()))
    results.print(table)
    failed = len(found) - len(scored)
    results.print(f"{len(found)} trials ({failed} failed), score: {words}: {store}")


def _print_command(goal: Goal, variant: Variant) -> None:
    results.print(
        f"try it: quietgraph bench run --datasets {goal.dataset} --methods {variant} "
        f"--noise {goal.noise}"
    )


def _by_score(trial: Trial) -> float:
    return -(trial.score if trial.score is not None else 0.0)


def _words(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {_value(value)}" for name, value in values.items())


def _value(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
