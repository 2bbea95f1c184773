"""Runs what the stores do not have yet, and says beforehand how long that takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from quietgraph.bench.costs import Costs
from quietgraph.bench.embedding_groups import group_of
from quietgraph.bench.engines.local import LocalEngine
from quietgraph.bench.protocol import Run
from quietgraph.bench.runner import Engine, Progress, plan_sweep, run_sweep
from quietgraph.bench.store import Store
from quietgraph.paper.results import KINDS, Needs, Results, digest_of, store_path
from quietgraph.paper.studies import StudyEngine, fold_numbers, theory_numbers


@dataclass(frozen=True)
class Estimate:
    """What is left to do.

    Attributes:
        total: Runs wanted.
        missing: Of which the store has none.
        seconds: Until the missing ones are finished.
        guessed: Missing runs, those that share embeddings once, of whose kind none is finished.
    """

    total: int = 0
    missing: int = 0
    seconds: float = 0.0
    guessed: int = 0

    def __add__(self, other: "Estimate") -> "Estimate":
        """Return the sum of both."""
        return Estimate(
            self.total + other.total,
            self.missing + other.missing,
            self.seconds + other.seconds,
            self.guessed + other.guessed,
        )


def estimate(needs: Needs, results: Results, *, jobs: int = 1) -> Estimate:
    """Return how much is missing and about how long it takes with so many jobs."""
    whole = Estimate()
    for kind in KINDS:
        whole += _estimate(kind, needs.of(kind), results.frames[kind], jobs)
    return whole


def missing_runs(runs: Sequence[Run], frame: pd.DataFrame) -> list[Run]:
    """Return the runs that no finished row is of."""
    done = set(frame[frame["status"] == "done"]["digest"])
    return [run for run in runs if digest_of(run) not in done]


def carry_out(
    needs: Needs,
    store: Path,
    results: Results,
    *,
    jobs: int,
    tell: Callable[[Progress], None] | None = None,
) -> int:
    """Run what is missing, each kind into its own file, and return how many runs were made.

    Stopping at any moment loses at most the runs under way; the same call goes on from there. A
    file of which nothing is missing is not opened, so another process may write to it.
    """
    made = 0
    for kind, engine in _engines(jobs).items():
        missing = missing_runs(needs.of(kind), results.frames[kind])
        if missing:
            with Store(store_path(store, kind)) as opened:
                made += len(run_sweep(missing, opened, engine, tell=tell))
    return made


def _engines(jobs: int) -> dict[str, Engine]:
    return {
        "accuracy": LocalEngine(jobs),
        "times": LocalEngine(1),  # nothing beside it that could slow it down
        "theory": StudyEngine(theory_numbers, jobs),
        "folds": StudyEngine(fold_numbers, jobs),
    }


def _estimate(kind: str, runs: Sequence[Run], frame: pd.DataFrame, jobs: int) -> Estimate:
    missing = missing_runs(runs, frame)
    if not missing:
        return Estimate(len(runs))
    plan, costs = plan_sweep(runs, missing, frame), Costs.of(frame, cache=missing[0].cache)
    guessed = {group_of(run) or run for run in missing if not costs.knows(run)}
    span = plan.span(1 if kind == "times" else jobs)  # nothing beside what is timed
    return Estimate(len(runs), len(missing), span, len(guessed))
