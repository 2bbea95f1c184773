"""Tables of accuracies: a dataset's rows of methods, columns of noise."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from quietgraph.bench.protocol import Run
from quietgraph.methods import METHODS
from quietgraph.paper.comparison import Cell, Comparison, Row
from quietgraph.paper.marks import accuracy_marks, weight_marks
from quietgraph.paper.printed import printed, printed_number
from quietgraph.paper.results import ABSENT, Needs, Results, Summary
from quietgraph.paper.scope import Extent, Scope

BASELINES: Final = (
    "gcn", "s2gc", "gce", "unionnet", "nrgnn", "rtgnn", "sugrl", "merit", "ariel", "sfa", "sel-cl",
    "jo-src", "grand-plus", "gfsa", "hongat", "crgnn", "cgnn",
)  # fmt: skip
PAPER: Final = ("gcl-lrr", "gcl-lr-attention")
NOISES: Final = (
    "none", "asymmetric:0.4", "symmetric:0.4", "attribute:0.4", "asymmetric:0.6", "symmetric:0.6",
    "attribute:0.6", "asymmetric:0.8", "symmetric:0.8", "attribute:0.8",
)  # fmt: skip
# What users meet more often than 80 % wrong labels, of which nothing is printed.
_MILD: Final = ("asymmetric:0.2", "symmetric:0.2")
_STUDY: Final = (
    "none", *_MILD, "asymmetric:0.4", "symmetric:0.4", "attribute:0.4", "asymmetric:0.6",
    "symmetric:0.6", "attribute:0.6", "attribute:0.8",
)  # fmt: skip
# Every other method has a row too: GraphCL is named as a competitor without one, `quiet` is our
# own; tedgcn has a table for heterophilic graphs.
_PRINTED: Final = (*BASELINES, *PAPER, "tedgcn")
_ALL: Final = (*BASELINES, *PAPER, *sorted(name for name in METHODS if name not in _PRINTED))
_TED: Final = tuple(f"{name}:encoder=tedgcn" for name in PAPER)
_PROBED: Final = ("sugrl", "merit", "sfa")
_ALL_AT_SMALL: Final = ("cora", "citeseer")
# The three best of the paper's baselines over the informative cells of Cora and CiteSeer.
_FEW: Final = ("gcn", "s2gc", "merit", "sel-cl", "jo-src", *PAPER, "quiet")
_SHARES: Final = tuple(f"0.{step}" for step in range(1, 10))


def _whole(*names: str, smoke: tuple[str, ...]) -> Extent:
    return Extent(smoke, names, names)


def _probes(methods: Sequence[str]) -> list[str]:
    kinds = ("", ":classifier=gcn", ":classifier=transductive")
    return [f"{method}{kind}" for method in methods for kind in kinds]


def _weights(*weights: str) -> tuple[str, ...]:
    return tuple(f"gcl-lr-attention:rank_weight={weight}" for weight in weights)


def _weight_marks(target: str, dataset: str, row: str, noise: str) -> tuple[str, ...]:
    found = printed(target, dataset, row, noise) is not None
    return weight_marks(row.rpartition("=")[2]) if found else ()


@dataclass(frozen=True)
class AccuracyTable:
    """A table of test accuracies.

    Attributes:
        target: Its name.
        title: What it shows.
        datasets: By budget.
        rows: Methods or variants, by budget.
        noises: Columns, by budget.
        marks: Says why a printed cell cannot be.
        notes: Sentences below it.
        few: At `small`, the rows of datasets other than Cora and CiteSeer; empty: all.
    """

    target: str
    title: str
    datasets: Extent
    rows: Extent
    noises: Extent
    marks: Callable[[str, str, str, str], tuple[str, ...]] = accuracy_marks
    notes: tuple[str, ...] = ()
    few: tuple[str, ...] = ()

    def rows_on(self, dataset: str, scope: Scope) -> tuple[str, ...]:
        """Return the methods or variants that a dataset gets."""
        if self.few and scope.budget == "small" and dataset not in _ALL_AT_SMALL:
            return self.few
        return self.rows.of(scope.budget)

    def runs(self, scope: Scope) -> tuple[Run, ...]:
        """Return every run of the table."""
        return tuple(
            scope.run(dataset, row, noise, seed)
            for dataset in scope.datasets(self.datasets)
            for row in self.rows_on(dataset, scope)
            for noise in self.noises.of(scope.budget)
            for seed in scope.seeds
        )

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run."""
        return Needs(accuracy=scope.can_run(self.runs(scope)))

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return mean accuracies beside the printed ones."""
        found = results.summaries("accuracy", self.runs(scope), "test_accuracy")
        noises = self.noises.of(scope.budget)
        rows = [
            Row(
                dataset,
                row,
                {each: self._cell(scope, dataset, row, each, found) for each in noises},
            )
            for dataset in scope.datasets(self.datasets)
            for row in self.rows_on(dataset, scope)
        ]
        notes = [*scope.notes(), ACCURACY_NOTE, *self.notes]
        return Comparison(self.target, self.title, "method", noises, rows, notes)

    def _cell(
        self,
        scope: Scope,
        dataset: str,
        row: str,
        noise: str,
        found: dict[tuple[str, str, str], Summary],
    ) -> Cell:
        ours = found.get((dataset, scope.variant(row), noise), ABSENT)
        theirs = printed_number(self.target, dataset, row, noise)
        return Cell(
            ours.number,
            theirs,
            marks=self.marks(self.target, dataset, row, noise),
            words=scope.absent(dataset) if ours is ABSENT else ours.words,
        )


ACCURACY_NOTE: Final = (
    "Test accuracy in percent, mean ± standard deviation (draws); in italics what the paper prints."
)
CLASSIFICATION: Final = AccuracyTable(
    "classification",
    "Node classification on Cora, CiteSeer, PubMed and Coauthor-CS",
    _whole("cora", "citeseer", "pubmed", "coauthor-cs", smoke=("cora",)),
    _whole(*_ALL, smoke=("gcn", "s2gc", *PAPER)),
    Extent(("none", "symmetric:0.4"), _STUDY, (*NOISES, *_MILD)),
    few=_FEW,
)
CLASSIFICATION_MORE: Final = AccuracyTable(
    "classification-more",
    "Node classification on ogbn-arxiv, Wiki-CS, Amazon-Computers and Amazon-Photo",
    Extent(
        ("amazon-photo",),
        ("amazon-computers", "amazon-photo"),
        ("ogbn-arxiv", "wiki-cs", "amazon-computers", "amazon-photo"),
    ),
    Extent(("gcn", "gcl-lrr"), _FEW, _ALL),
    Extent(("symmetric:0.4",), _STUDY, (*NOISES, *_MILD)),
)
HETEROPHILIC: Final = AccuracyTable(
    "heterophilic",
    "Heterophilous graphs, with TEDGCN as the encoder",
    _whole("texas", "chameleon", smoke=("texas",)),
    _whole("tedgcn", *_TED, *_FEW, smoke=("tedgcn", *_TED)),
    Extent(("none", "symmetric:0.8"), _STUDY, (*NOISES, *_MILD)),
)
CLASSIFIERS: Final = AccuracyTable(
    "classifiers",
    "Three classifiers on the embeddings of others: inductive, two-layer GCN, transductive",
    _whole("cora", smoke=("cora",)),
    _whole(*_probes(_PROBED), *PAPER, smoke=(*_probes(["sugrl"]), "gcl-lrr")),
    _whole(*NOISES, smoke=("symmetric:0.4",)),
    notes=("A name alone stands for the inductive classifier, logistic regression.",),
)
SENSITIVITY: Final = AccuracyTable(
    "sensitivity",
    "Sensitivity of GCL-LR-Attention to the weight tau on Coauthor-CS",
    _whole("coauthor-cs", smoke=("cora",)),
    _whole(*_weights(*_SHARES), smoke=_weights("0.1", "0.5")),
    _whole("asymmetric:0.6", smoke=("asymmetric:0.6",)),
    marks=_weight_marks,
    notes=(
        "Our truncated norm is per node of unit rows, so that its weight (rank_weight, 1 by "
        "default) is not on the scale of the printed tau.",
    ),
)
