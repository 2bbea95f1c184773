"""Controls: every method with as much use of the validation labels as those that use them most."""

from dataclasses import dataclass, replace
from typing import Final

from quietgraph.bench.protocol import Run
from quietgraph.paper.accuracy import CONTROL_DRAWS, EVERY_METHOD, PAPER
from quietgraph.paper.comparison import Cell, Comparison, Row
from quietgraph.paper.results import ABSENT, Needs, Results, Summary
from quietgraph.paper.scope import Extent, Scope

BOTH_SETS: Final = "train+validation"
CONTROLS: Final = {
    "plain": "as it is",
    "class-prior": "class-prior adjustment",
    "both-sets": "taught by training and validation labels",
}
_PLAIN: Final = ("gcn", "s2gc", *PAPER, "quiet")  # as they are, at `small`
_METHODS: Final = Extent(("gcn", "gcl-lrr"), EVERY_METHOD, EVERY_METHOD)
_NOISES: Final = Extent(("symmetric:0.4",), *(("none", "symmetric:0.4", "asymmetric:0.4"),) * 2)


@dataclass(frozen=True)
class ControlTable:
    """Accuracies of every method as it is and under each control."""

    target: str
    title: str
    datasets: Extent

    def run(self, control: str, plain: Run) -> Run | None:
        """Return a run under a control, None where the control changes nothing."""
        if control == "plain":
            return plain
        if control == "both-sets":
            return replace(plain, split=BOTH_SETS)
        adjusted = plain.variant.controlled()
        return None if adjusted == plain.variant else replace(plain, variant=adjusted)

    def runs(self, control: str, scope: Scope) -> tuple[Run, ...]:
        """Return every run under a control."""
        own = _own(scope)
        plain = (
            own.run(dataset, method, noise, seed)
            for dataset in own.datasets(self.datasets)
            for method in _METHODS.of(own.budget)
            for noise in _NOISES.of(own.budget)
            for seed in own.seeds
        )
        return tuple(found for run in plain if (found := self.run(control, run)) is not None)

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run.

        At `small` most methods have runs without control in the classification table alone, on
        other draws; where they were run on these draws, too, they are shown.
        """
        every = [run for control in CONTROLS for run in self.runs(control, scope)]
        return Needs(accuracy=scope.can_run([run for run in every if _is_needed(run, scope)]))

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return a row for every method under every control that changes it."""
        rows = [row for control in CONTROLS for row in self._rows(control, scope, results)]
        rows.sort(key=lambda row: row.dataset)  # stable: controls stay in their order
        notes = [*_own(scope).notes(), *_NOTES]
        columns = _NOISES.of(scope.budget)
        return Comparison(self.target, self.title, "method", columns, rows, notes)

    def _rows(self, control: str, scope: Scope, results: Results) -> list[Row]:
        runs = self.runs(control, scope)
        found = results.summaries("accuracy", runs, "test_accuracy")
        done = {(dataset, variant) for dataset, variant, _ in found}
        named = {(run.dataset, str(run.variant)): _is_needed(run, scope) for run in runs}
        pairs = [pair for pair, is_needed in named.items() if is_needed or pair in done]
        return [
            Row(
                dataset,
                f"{variant}, {CONTROLS[control]}",
                {
                    noise: _cell(found.get((dataset, variant, noise), ABSENT), scope, dataset)
                    for noise in _NOISES.of(scope.budget)
                },
            )
            for dataset, variant in pairs
        ]


def _cell(ours: Summary, scope: Scope, dataset: str) -> Cell:
    return Cell(ours.number, words=scope.absent(dataset) if ours is ABSENT else ours.words)


def _is_needed(run: Run, scope: Scope) -> bool:
    """Whether a budget asks for a run: at `small` few methods are run without control."""
    is_controlled = run.split == BOTH_SETS or run.variant.is_controlled
    return scope.budget != "small" or is_controlled or str(run.variant) in _PLAIN


def _own(scope: Scope) -> Scope:
    return scope if scope.budget == "smoke" else scope.with_draws(CONTROL_DRAWS)


_NOTES: Final = (
    "Test accuracy in percent, mean ± standard deviation (draws). Taught by training and "
    "validation labels: all of them but a fifth, which chooses; class-prior adjustment: scores "
    f"shifted to the class frequencies of validation labels, as {' and '.join(PAPER)} and quiet do "
    "themselves.",
    "Methods as they are: those that were run on these draws; all of them, on other draws, are in "
    "the table of node classification.",
)
CONTROL_TABLE: Final = ControlTable(
    "controls",
    "The same labels for all: controls on Cora and CiteSeer (not in the paper)",
    Extent(("cora",), ("cora", "citeseer"), ("cora", "citeseer", "pubmed")),
)
