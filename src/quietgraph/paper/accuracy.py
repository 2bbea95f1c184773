"""Tables of accuracies: a dataset's rows of methods, columns of noise."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.methods import METHODS
from quietgraph.paper.comparison import NOT_HERE, Cell, Comparison, Row
from quietgraph.paper.marks import accuracy_marks, weight_marks
from quietgraph.paper.printed import printed, printed_number
from quietgraph.paper.results import ABSENT, Needs, Results, Summary
from quietgraph.paper.scope import SEEDS, Extent, Scope

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
# own; tedgcn, printed for heterophilic graphs alone, comes last.
_PRINTED: Final = (*BASELINES, *PAPER, "tedgcn")
# The letter of the paper; the paper states no width, and 256 halves the time.
_AS_PRINTED: Final = ":preset=paper:hidden=256:dim=256"
LETTER: Final = tuple(f"{name}{_AS_PRINTED}" for name in PAPER)
_OTHERS: Final = tuple(sorted(name for name in METHODS if name not in _PRINTED))
EVERY_METHOD: Final = (*BASELINES, *PAPER, *_OTHERS, "tedgcn")
_TED: Final = tuple(f"{name}:encoder=tedgcn" for name in PAPER)
_PROBED: Final = ("sugrl", "merit", "sfa")
_ALL_AT_SMALL: Final = ("cora", "citeseer")
_LARGER: Final = ("pubmed", "coauthor-cs", "amazon-computers", "amazon-photo")
# The three best of the paper's baselines over the informative cells of Cora and CiteSeer.
_FEW: Final = ("gcn", "s2gc", "grand-plus", "merit", "sel-cl", "jo-src", *PAPER, "quiet")
_FOUR: Final = ("none", "asymmetric:0.4", "symmetric:0.4", "attribute:0.6")
_TEN_DRAWS: Final = tuple(parse_seeds(SEEDS["full"]))
# Of the controls, and of the letter, an epoch of which contrasts all pairs of nodes.
CONTROL_DRAWS: Final = tuple(range(9100, 9105))
GPT_LABELS: Final = "labels:cora-gpt35.csv"
FRESH_DRAWS: Final = tuple(range(8000, 8005))
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
        left_out: At `small`, rows that a dataset goes without, for the time they take.
        few_noises: At `small`, the columns in which these are run; empty: all.
        ten_draws: Datasets that have the draws of `full` at `small` already.
        draws: Of Cora and CiteSeer where they are not the budget's; larger graphs keep those of
            the other tables, whose embeddings serve again.
        printed_in: The table that has the printed numbers; empty: this one.
        stands_in: Whether a smoke without files takes the embedded graph.
    """

    target: str
    title: str
    datasets: Extent
    rows: Extent
    noises: Extent
    marks: Callable[[str, str, str, str], tuple[str, ...]] = accuracy_marks
    notes: tuple[str, ...] = ()
    few: tuple[str, ...] = ()
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    few_noises: tuple[str, ...] = ()
    ten_draws: tuple[str, ...] = ()
    draws: tuple[int, ...] = ()
    printed_in: str = ""
    stands_in: bool = True

    def rows_on(self, dataset: str, scope: Scope) -> tuple[str, ...]:
        """Return the methods or variants that a dataset gets."""
        if scope.budget != "small":
            return self.rows.of(scope.budget)
        if self.few and dataset not in _ALL_AT_SMALL:
            return self.few
        without = self.left_out.get(dataset, ())
        return tuple(row for row in self.rows.of(scope.budget) if row not in without)

    def noises_on(self, dataset: str, scope: Scope) -> tuple[str, ...]:
        """Return the columns in which a dataset is run."""
        if self.few_noises and scope.budget == "small" and dataset not in _ALL_AT_SMALL:
            return self.few_noises
        return self.noises.of(scope.budget)

    def seeds_on(self, dataset: str, scope: Scope) -> tuple[int, ...]:
        """Return the draws of a dataset; those asked for come first."""
        if self.draws and scope.budget != "smoke" and dataset in _ALL_AT_SMALL:
            return scope.with_draws(self.draws).seeds
        if scope.budget == "small" and dataset in self.ten_draws:
            return scope.with_draws(_TEN_DRAWS).seeds
        return scope.seeds

    def datasets_in(self, scope: Scope) -> tuple[str, ...]:
        """Return the datasets of the table."""
        return scope.datasets(self.datasets, stands_in=self.stands_in)

    def runs(self, scope: Scope) -> tuple[Run, ...]:
        """Return every run of the table."""
        return tuple(
            scope.run(dataset, row, noise, seed)
            for dataset in self.datasets_in(scope)
            for row in self.rows_on(dataset, scope)
            for noise in self.noises_on(dataset, scope)
            for seed in self.seeds_on(dataset, scope)
            if scope.noise(noise) is not None
        )

    def _shown(self, scope: Scope) -> tuple[Run, ...]:
        """Return every run that the table would show, needed or not."""
        return replace(self, few_noises=()).runs(scope)

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run."""
        return Needs(accuracy=scope.can_run(self.runs(scope)))

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return mean accuracies beside the printed ones."""
        noises = self.noises.of(scope.budget)
        found = results.summaries("accuracy", self._shown(scope), "test_accuracy")
        rows = [
            Row(
                dataset,
                row,
                {each: self._cell(scope, dataset, row, each, found) for each in noises},
            )
            for dataset in self.datasets_in(scope)
            for row in self.rows_on(dataset, scope)
        ]
        notes = [*self._draw_notes(scope), ACCURACY_NOTE, *self.notes]
        return Comparison(self.target, self.title, "method", noises, rows, notes)

    def _draw_notes(self, scope: Scope) -> list[str]:
        """Return the draws of the budget, and those of datasets that have their own."""
        names = self.datasets_in(scope)
        if scope.is_asked or scope.budget == "smoke":
            return scope.notes()
        fresh = [name for name in names if self.draws and name in _ALL_AT_SMALL]
        if len(fresh) == len(names):
            return scope.with_draws(self.draws).notes()
        notes = scope.notes()
        if fresh:
            notes.append(f"{' and '.join(fresh)}: seeds {self.draws[0]} to {self.draws[-1]}.")
        if scope.budget != "small":
            return notes
        ten = [name for name in names if name in self.ten_draws]
        if ten:
            notes.append(f"{' and '.join(ten)}: seeds {_TEN_DRAWS[0]} to {_TEN_DRAWS[-1]}.")
        for name, rows in self.left_out.items():
            if name in names:
                notes.append(f"{name}: without {' and '.join(rows)}, which take too long.")
        return notes

    def _cell(
        self,
        scope: Scope,
        dataset: str,
        row: str,
        noise: str,
        found: dict[tuple[str, str, str], Summary],
    ) -> Cell:
        drawn, shown = scope.noise(noise), row.partition(":preset=")[0]
        ours = found.get((dataset, scope.variant(row), drawn or noise), ABSENT)
        absent = scope.absent(dataset) if drawn else NOT_HERE
        source = self.printed_in or self.target
        return Cell(
            ours.number,
            printed_number(source, dataset, shown, noise),
            marks=self.marks(source, dataset, shown, noise),
            words=absent if ours is ABSENT else ours.words,
        )


ACCURACY_NOTE: Final = (
    "Test accuracy in percent, mean ± standard deviation (draws); in italics what the paper prints."
)
CLASSIFICATION: Final = AccuracyTable(
    "classification",
    "Node classification on Cora, CiteSeer, PubMed and Coauthor-CS",
    _whole("cora", "citeseer", "pubmed", "coauthor-cs", smoke=("cora",)),
    _whole(*EVERY_METHOD, smoke=("gcn", "s2gc", *PAPER)),
    Extent(("none", "symmetric:0.4"), _STUDY, (*NOISES, *_MILD)),
    few=_FEW,
    few_noises=_FOUR,
    ten_draws=_ALL_AT_SMALL,
)
REAL_LABELS: Final = AccuracyTable(
    "real-labels",
    "Labels that a language model gave to Cora, all methods (not in the paper)",
    _whole("cora", smoke=("cora",)),
    _whole(*EVERY_METHOD, "quiet:refit=true", smoke=("gcn", "gcl-lrr", "quiet")),
    _whole(GPT_LABELS, smoke=(GPT_LABELS,)),
    notes=(
        "A third of these labels are wrong, and wrong where the text misleads; seeds draw the "
        "initialisation alone. The file lies in real-noise/ of the data folder.",
    ),
    draws=FRESH_DRAWS,
    stands_in=False,
)
ANNOTATOR: Final = AccuracyTable(
    "annotator",
    "Errors of an annotator who reads attributes alone, all methods (not in the paper)",
    _whole(*_ALL_AT_SMALL, *_LARGER, smoke=("cora",)),
    _whole(*EVERY_METHOD, smoke=("gcn", "gcl-lrr", "quiet")),
    Extent(("annotator:0.3",), ("annotator:0.3",), ("annotator:0.2", "annotator:0.3")),
    few=_FEW,
    draws=FRESH_DRAWS,
)
CLASSIFICATION_MORE: Final = AccuracyTable(
    "classification-more",
    "Node classification on ogbn-arxiv, Wiki-CS, Amazon-Computers and Amazon-Photo",
    Extent(
        ("amazon-photo",),
        ("amazon-computers", "amazon-photo"),
        ("ogbn-arxiv", "wiki-cs", "amazon-computers", "amazon-photo"),
    ),
    Extent(("gcn", "gcl-lrr"), _FEW, EVERY_METHOD),
    Extent(("symmetric:0.4",), _STUDY, (*NOISES, *_MILD)),
    few_noises=_FOUR,
)
HETEROPHILIC: Final = AccuracyTable(
    "heterophilic",
    "Heterophilous graphs, with TEDGCN as the encoder",
    _whole("texas", "chameleon", smoke=("texas",)),
    _whole("tedgcn", *_TED, *_FEW, smoke=("tedgcn", *_TED)),
    Extent(("none", "symmetric:0.8"), _STUDY, (*NOISES, *_MILD)),
    left_out={"chameleon": ("sel-cl", "jo-src")},  # more than a minute a run
    few_noises=_FOUR,
    ten_draws=("texas", "chameleon"),
)
THE_LETTER: Final = AccuracyTable(
    "letter",
    "The two methods to the letter of the paper (preset=paper), beside the defaults and a GCN",
    _whole(*_ALL_AT_SMALL, smoke=("cora",)),
    _whole("gcn", *LETTER, *PAPER, smoke=("gcn", "gcl-lrr:preset=paper", "gcl-lrr")),
    Extent(("symmetric:0.4",), _FOUR[:3], _FOUR),
    notes=("The paper states no width; the letter is 256 wide, which halves its time.",),
    draws=CONTROL_DRAWS,
    printed_in=CLASSIFICATION.target,
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
