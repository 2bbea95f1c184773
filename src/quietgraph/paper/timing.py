"""Training time relative to a GCN, timed side by side without cached embeddings."""

from dataclasses import dataclass, replace
from typing import Final

import pandas as pd

from quietgraph.bench.protocol import Run
from quietgraph.paper.comparison import Cell, Comparison, Number, Row, Unit
from quietgraph.paper.marks import time_marks
from quietgraph.paper.printed import printed
from quietgraph.paper.results import Needs, Results, number_of
from quietgraph.paper.scope import Extent, Scope

UNIT_METHOD: Final = "gcn"
_NOISE: Final = "symmetric:0.4"
_DRAWS: Final = 3
_TIMES: Final = Unit("times gcn", 1, 1)
_ROWS: Final = (
    "gcn", "s2gc", "gce", "nrgnn", "rtgnn", "sugrl", "merit", "ariel", "sfa", "sel-cl", "jo-src",
    "grand-plus", "gcl-lrr", "gcl-lr-attention",
)  # fmt: skip
_DATASETS: Final = Extent(
    ("cora",),
    ("cora", "citeseer"),
    (
        "cora", "citeseer", "pubmed", "coauthor-cs", "wiki-cs", "amazon-computers", "amazon-photo",
        "ogbn-arxiv",
    ),
)  # fmt: skip
_METHODS: Final = Extent(("gcn", "s2gc", "gcl-lrr", "gcl-lr-attention"), _ROWS, _ROWS)


@dataclass(frozen=True)
class TimeTable:
    """Seconds of a fit divided by those of a GCN on the same draw."""

    target: str
    title: str

    def runs(self, scope: Scope) -> tuple[Run, ...]:
        """Return every run, without a cache: all work is timed."""
        return tuple(
            replace(scope.run(dataset, method, _NOISE, seed), cache=None)
            for dataset in scope.datasets(_DATASETS)
            for method in _METHODS.of(scope.budget)
            for seed in _own(scope).seeds
        )

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run."""
        return Needs(times=scope.can_run(self.runs(scope)))

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return the ratios beside those of the printed seconds."""
        frame = results.of("times", self.runs(scope))
        done = frame[frame["status"] == "done"]
        datasets = scope.datasets(_DATASETS)
        seconds = {name: _by_method(done[done["dataset"] == name]) for name in datasets}
        rows = [
            Row("", method, {d: self._cell(scope, seconds[d], d, method) for d in datasets})
            for method in _METHODS.of(scope.budget)
        ]
        notes = [*_own(scope).notes(), *_NOTES]
        return Comparison(self.target, self.title, "method", datasets, rows, notes)

    def _cell(self, scope: Scope, seconds: pd.DataFrame, dataset: str, method: str) -> Cell:
        variant, unit = scope.variant(method), scope.variant(UNIT_METHOD)
        ours, words = None, scope.absent(dataset)
        if {variant, unit} <= set(seconds.columns):
            ratios = (seconds[variant] / seconds[unit]).dropna()
            if len(ratios):
                ours, words = number_of(ratios), f"{seconds[variant].mean():.2g} s"
        theirs = self._printed_ratio(dataset, method)
        marks = time_marks(method) if theirs else ()
        return Cell(ours, theirs, _TIMES, marks, words)

    def _printed_ratio(self, dataset: str, method: str) -> Number | None:
        own = printed(self.target, dataset, method, dataset)
        unit = printed(self.target, dataset, UNIT_METHOD, dataset)
        return Number(own.number.mean / unit.number.mean) if own and unit else None


def _own(scope: Scope) -> Scope:
    return scope.with_draws(scope.seeds[:_DRAWS])


def _by_method(done: pd.DataFrame) -> pd.DataFrame:
    """Return seconds of a fit [seeds, methods]."""
    return done.pivot_table("seconds_fit", "seed", "method") if len(done) else pd.DataFrame()


_NOTES: Final = (
    "Seconds of a fit divided by those of `gcn` on the same draw, mean ± standard deviation "
    "(draws); in italics the ratio of the printed seconds.",
    "Ours: one thread of a CPU, one run at a time, symmetric noise of 40 %; the paper's: one GPU. "
    "Read ratios, not seconds.",
)
TRAINING_TIME: Final = TimeTable("training-time", "Training time relative to a GCN")
