"""The ablation of the rank on Cora: differences to the best rank of each column."""

from dataclasses import dataclass
from typing import Final

import pandas as pd

from quietgraph.paper.accuracy import NOISES, AccuracyTable
from quietgraph.paper.comparison import (
    PERCENT,
    POINTS,
    Cell,
    Comparison,
    Number,
    Row,
)
from quietgraph.paper.printed import printed_number
from quietgraph.paper.results import Needs, Results, number_of
from quietgraph.paper.scope import Extent, Scope

BEST: Final = "best"
_RATIOS: Final = (*(f"0.{step}" for step in range(1, 10)), "1")
_LABEL_NOISES: Final = tuple(noise for noise in NOISES if "attribute" not in noise)


def _rows(*ratios: str) -> tuple[str, ...]:
    return tuple(f"gcl-lrr:rank_ratio={ratio}" for ratio in ratios)


@dataclass(frozen=True)
class RankTable:
    """Accuracy lost by other ranks than the best, paired draw by draw."""

    target: str
    title: str
    grid: AccuracyTable

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run."""
        return self.grid.needs(scope)

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return differences to the best rank, and the accuracy of that."""
        noises = self.grid.noises.of(scope.budget)
        frame = results.of("accuracy", self.grid.runs(scope))
        done = frame[frame["status"] == "done"]
        rows = []
        for dataset in scope.datasets(self.grid.datasets):
            names = (*self.grid.rows.of(scope.budget), BEST)
            own = done[done["dataset"] == dataset]
            columns = {noise: self._column(scope, own, dataset, noise) for noise in noises}
            rows += [
                Row(dataset, name, {noise: columns[noise][name] for noise in noises})
                for name in names
            ]
        notes = [*scope.notes(), *_NOTES]
        return Comparison(self.target, self.title, "rank", noises, rows, notes)

    def _column(
        self, scope: Scope, done: pd.DataFrame, dataset: str, noise: str
    ) -> dict[str, Cell]:
        ours = _against_best(done[done["noise"] == noise])
        words = scope.absent(dataset)
        cells = {}
        for name in (*self.grid.rows.of(scope.budget), BEST):
            number = ours.get(name if name == BEST else scope.variant(name))
            theirs = printed_number(self.target, dataset, name, noise)
            unit = PERCENT if name == BEST else POINTS
            said = "" if number else words
            cells[name] = Cell(number, theirs, unit, words=said)
        return cells


def _against_best(done: pd.DataFrame) -> dict[str, Number]:
    """Return each variant's accuracy less the best one's on shared draws, and that one's own."""
    if done.empty:
        return {}
    wide = done.pivot_table("test_accuracy", "seed", "method")
    best = str(wide.mean().idxmax())
    numbers = {BEST: number_of(wide[best].dropna())}
    for name in map(str, wide.columns):
        differences = (wide[name] - wide[best]).dropna()
        if len(differences):
            numbers[name] = number_of(differences)
    return numbers


_NOTES: Final = (
    "Rows: accuracy less that of the best rank of the column, in points, mean ± standard "
    "deviation over shared draws; last row: the accuracy of the best rank in percent.",
    "The best rank is chosen by test accuracy, in the paper and here: read the spread of the "
    "differences, not their sign.",
)
RANK: Final = RankTable(
    "rank",
    "Ablation of the rank of the truncated nuclear norm on Cora",
    AccuracyTable(
        "rank",
        "",
        Extent(("cora",), ("cora",), ("cora",)),
        Extent(_rows("0.2", "0.5"), _rows(*_RATIOS), _rows(*_RATIOS)),
        Extent(("symmetric:0.4",), _LABEL_NOISES, _LABEL_NOISES),
    ),
)
