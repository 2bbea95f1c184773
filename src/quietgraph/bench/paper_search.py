"""The paper's search: step size, weight decay and dropout, then rank ratio and rank weight."""

from dataclasses import dataclass, replace
from pathlib import Path

from quietgraph.bench.cross_validation import paper_grid, training_grid
from quietgraph.bench.trial_store import Trial
from quietgraph.bench.tuning import Goal, Tell, best_trial, search_grid, with_values
from quietgraph.bench.variant import Variant
from quietgraph.methods import get_method
from quietgraph.rng import numpy_generator

_RANK_FRACTION = 0.2  # of the training nodes, by which rank ratio and weight are chosen


@dataclass(frozen=True)
class PaperSearch:
    """What both stages have tried, and the method with the best of both."""

    training: list[Trial]
    rank: list[Trial]
    variant: Variant


def paper_search(goal: Goal, store: Path, *, trials: int, tell: Tell | None = None) -> PaperSearch:
    """Search as the paper describes; trials that the store has are not tried again.

    First learning rate, weight decay and dropout by the loss of five folds of the training labels;
    then rank ratio and rank weight by the accuracy of five folds of a fifth of them.

    Args:
        goal: Method, dataset, noise and draws; its objective is set here.
        store: SQLite file of the trials.
        trials: Most settings of each stage, a sample of its grid (270 and 90 settings).
        tell: Called after every trial.
    """
    method = get_method(goal.variant.method)
    first = replace(goal, objective="fold-loss")
    training = search_grid(first, _mixed(training_grid(method)), store, most=trials, tell=tell)
    chosen = with_values(goal.variant, best_trial(training))
    second = replace(goal, variant=chosen, objective="folds", fraction=_RANK_FRACTION)
    rank = search_grid(second, _mixed(paper_grid(method)), store, most=trials, tell=tell)
    return PaperSearch(training, rank, with_values(chosen, best_trial(rank)))


def _mixed(points: list[dict[str, float]]) -> list[dict[str, float]]:
    """Return the points in an order that never changes, so that the first ones are a sample."""
    return [points[place] for place in numpy_generator(0, "paper search").permutation(len(points))]
