"""Statistics of the datasets, and the rank ratio and weight that cross-validation chooses."""

from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import pandas as pd

from quietgraph.bench.cross_validation import RANK_RATIOS, RANK_WEIGHTS
from quietgraph.bench.protocol import Run
from quietgraph.data.datasets import describe
from quietgraph.paper.comparison import (
    COUNT,
    NOT_HERE,
    PERCENT,
    PLAIN,
    Cell,
    Comparison,
    Number,
    Row,
    Unit,
)
from quietgraph.paper.printed import printed_number
from quietgraph.paper.results import Needs, Results
from quietgraph.paper.scope import Extent, Scope

_EIGHT: Final = (
    "cora", "citeseer", "pubmed", "coauthor-cs", "ogbn-arxiv", "wiki-cs", "amazon-computers",
    "amazon-photo",
)  # fmt: skip
_COLUMNS: Final = ("nodes", "edges", "features", "classes")


@dataclass(frozen=True)
class DatasetTable:
    """Counts of the datasets."""

    target: str
    title: str

    def needs(self, scope: Scope) -> Needs:  # noqa: ARG002
        """Return that nothing has to be run."""
        return Needs()

    def compare(self, scope: Scope, results: Results) -> Comparison:  # noqa: ARG002
        """Return our counts beside the printed ones."""
        rows = [self._row(scope, dataset) for dataset in _EIGHT]
        return Comparison(self.target, self.title, "dataset", _COLUMNS, rows, _DATASET_NOTES)

    def _row(self, scope: Scope, dataset: str) -> Row:
        facts = describe(dataset, data_root=scope.data_root)
        cells = {}
        for column in _COLUMNS:
            theirs = printed_number(self.target, dataset, dataset, column)
            cells[column] = Cell(Number(getattr(facts, column)), theirs, COUNT)
        words = [NOT_HERE] * (not facts.available) + ["counts as published"] * (not facts.measured)
        name = f"{dataset} ({', '.join(words)})" if words else dataset
        return Row(dataset, name, cells)


@dataclass(frozen=True)
class ChoiceTable:
    """Rank ratio gamma and weight tau with the best five-fold accuracy on noisy labels."""

    target: str
    title: str
    datasets: Extent

    def runs(self, scope: Scope) -> tuple[Run, ...]:
        """Return a run for every point of the grid."""
        is_smoke = scope.budget == "smoke"
        grid = product((0.2, 0.5), (0.1, 0.5)) if is_smoke else product(RANK_RATIOS, RANK_WEIGHTS)
        points = list(grid)
        own = self._own(scope)
        return tuple(
            own.run(dataset, f"gcl-lrr:rank_ratio={ratio}:rank_weight={weight}", _NOISE, seed)
            for dataset in scope.datasets(self.datasets)
            for ratio, weight in points
            for seed in own.seeds
        )

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run."""
        return Needs(folds=scope.can_run(self.runs(scope)))

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return the choices beside the printed ones."""
        runs = self.runs(scope)
        frame = results.of("folds", runs)
        done = frame[frame["status"] == "done"]
        rows = []
        for dataset in scope.datasets(self.datasets):
            own = done[done["dataset"] == dataset]
            wanted = sum(run.dataset == dataset for run in runs)
            ours: dict[str, Number] = _choice(own) if len(own) else {}
            absent = scope.absent(dataset)
            cells = {}
            for column, unit in _CHOSEN.items():
                theirs = printed_number(self.target, dataset, dataset, column)
                cells[column] = Cell(ours.get(column), theirs, unit, words="" if ours else absent)
            if ours and len(own) < wanted:
                partly = f"{len(own)} of {wanted} runs"
                cells["best"] = replace(cells["best"], words=partly)
            rows.append(Row(dataset, dataset, cells))
        notes = [*self._own(scope).notes(), *_CHOICE_NOTES]
        return Comparison(self.target, self.title, "dataset", tuple(_CHOSEN), rows, notes)

    @staticmethod
    def _own(scope: Scope) -> Scope:
        return scope.with_draws(_SEEDS[:1] if scope.budget == "smoke" else _SEEDS)


def _choice(done: pd.DataFrame) -> dict[str, Number]:
    """Return the best point of the grid (the first of equals), and how little it stands out."""
    scores = done.groupby("method", sort=False)["fold_accuracy"].mean()
    best = str(scores.idxmax())
    settings = dict(text.split("=") for text in best.split(":")[1:])
    return {
        "gamma": Number(float(settings["rank_ratio"])),
        "tau": Number(float(settings["rank_weight"])),
        "best": Number(float(scores.max())),
        "worst": Number(float(scores.min())),
    }


_NOISE: Final = "symmetric:0.4"  # the paper does not say which
_SEEDS: Final = (0, 1, 2)  # apart from the draws of the tables
_CHOSEN: Final = {"gamma": Unit("", 1, 1), "tau": PLAIN, "best": PERCENT, "worst": PERCENT}
_DATASET_NOTES: Final = (
    "In italics what the paper prints. Ours counts undirected edges, without loops and duplicates.",
)
_CHOICE_NOTES: Final = (
    f"Five-fold accuracy on noisy training labels ({_NOISE}), the first of equal settings; in "
    "italics what the paper prints. Best, worst: the accuracies in percent of the best and the "
    "worst setting of the grid.",
    "The scale of tau differs: ours weighs a norm per node of unit rows.",
)
DATASET_STATISTICS: Final = DatasetTable("datasets", "Statistics of the datasets")
CROSS_VALIDATION: Final = ChoiceTable(
    "cross-validation",
    "Rank ratio gamma and weight tau chosen by cross-validation",
    Extent(("cora",), ("cora", "citeseer"), _EIGHT),
)
