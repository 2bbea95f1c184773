"""Runs what the stores do not have yet, and says beforehand how long that takes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pandas as pd

from quietgraph.bench.engines.local import LocalEngine
from quietgraph.bench.grid import embedding_group
from quietgraph.bench.protocol import Run
from quietgraph.bench.runner import Engine, Progress, run_sweep
from quietgraph.bench.store import Store
from quietgraph.data.datasets import describe
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.methods import METHODS, get_method
from quietgraph.paper.results import KINDS, Needs, Results, digest_of, store_path
from quietgraph.paper.studies import StudyEngine, fold_numbers, theory_numbers

_CUT: Final = 0.1  # a smoke's share of these
_SECOND_STAGE: Final = 0.5  # seconds of a fit whose embeddings another run has left


@dataclass(frozen=True)
class Estimate:
    """What is left to do.

    Attributes:
        total: Runs wanted.
        missing: Of which the store has none.
        seconds: For the missing ones, one after the other.
        guessed: Missing runs of whose method and dataset nothing is known yet.
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
        part = _estimate(needs.of(kind), results.frames[kind])
        seconds = part.seconds / (1 if kind == "times" else jobs)
        whole += Estimate(part.total, part.missing, seconds, part.guessed)
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


def _estimate(runs: Sequence[Run], frame: pd.DataFrame) -> Estimate:
    missing = missing_runs(runs, frame)
    waiting = set(missing)
    learned = {_group(run) for run in runs if run not in waiting}
    known = _known_seconds(frame, runs[0].cache) if runs else {}
    seconds, guessed = 0.0, 0
    for run in missing:
        group = _group(run)
        if group is not None and group in learned:
            seconds += _SECOND_STAGE
            continue
        learned.add(group)
        cell = _cell(run.dataset, str(run.variant), run.cache)
        seconds += known.get(cell) or rough_seconds(run)
        guessed += cell not in known
    return Estimate(len(runs), len(missing), seconds, guessed)


def _known_seconds(frame: pd.DataFrame, cache: str | None) -> dict[tuple[str, str], float]:
    """Return seconds of finished runs: their mean, or the longest where others found embeddings."""
    spans: dict[tuple[str, str], list[float]] = {}
    done = frame[frame["status"] == "done"]
    for (dataset, variant), part in done.groupby(["dataset", "method"]):
        cell = _cell(str(dataset), str(variant), cache)
        spans.setdefault(cell, []).extend(part["seconds"])
    return {
        (dataset, name): sum(values) / len(values) if _is_variant(name) else max(values)
        for (dataset, name), values in spans.items()
    }


def _cell(dataset: str, variant: str, cache: str | None) -> tuple[str, str]:
    """Return what runs of equal cost share: their variant, or the embeddings that they learn."""
    try:
        shared = embedding_group(Run.parse(dataset, variant, "none", 0, cache=cache))
    except (UnknownNameError, InvalidParameterError):  # of a row that can no longer be run
        shared = None
    return dataset, shared or variant


def _is_variant(name: str) -> bool:
    return name.partition(":")[0] in METHODS


def _group(run: Run) -> tuple[str, float, int] | None:
    """Return what runs share whose embeddings are the same, None where none are kept."""
    shared = embedding_group(replace(run, noise=NoiseSetting(), seed=0))
    return None if shared is None else (shared, run.noise.attribute_rate, run.seed)


def rough_seconds(run: Run) -> float:
    """Return a guess: the method's seconds on Cora, times the size of the graph beside Cora's."""
    facts = (describe(name) for name in (run.dataset, "cora"))
    size, cora = (each.nodes + each.edges / 4 for each in facts)
    is_cut = "epochs" in run.variant.values
    return get_method(run.variant.method).cora_seconds * size / cora * (_CUT if is_cut else 1)
