"""P-values of the paper's two methods against the best baseline of each cell."""

from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from quietgraph.bench.statistics import against
from quietgraph.paper.accuracy import (
    BASELINES,
    CLASSIFICATION,
    CLASSIFICATION_MORE,
    HETEROPHILIC,
    PAPER,
    AccuracyTable,
)
from quietgraph.paper.comparison import Cell, Comparison, Number, Row, Unit
from quietgraph.paper.marks import copy_marks
from quietgraph.paper.printed import printed
from quietgraph.paper.results import Needs, Results
from quietgraph.paper.scope import Scope

_P: Final = Unit("p-value", 1, 3)


@dataclass(frozen=True)
class SignificanceTable:
    """Paired t-tests over the draws of other tables."""

    target: str
    title: str
    tables: tuple[AccuracyTable, ...]

    def needs(self, scope: Scope) -> Needs:
        """Return what has to be run: the tables it rests on."""
        needs = Needs()
        for table in self._tables(scope):
            needs |= table.needs(scope)
        return needs

    def compare(self, scope: Scope, results: Results) -> Comparison:
        """Return our p-values, with sign and Holm's correction, beside the printed ones."""
        parts = [(table, _tests(table, scope, results)) for table in self._tables(scope)]
        noises = [n for n in self.tables[0].noises.of(scope.budget) if n != "none"]
        rows = [
            self._row(scope, dataset, row, noises, tests)
            for table, tests in parts
            for dataset in scope.datasets(table.datasets)
            for row in table.rows_on(dataset, scope)
            if is_tested(row)
        ]
        notes = [*scope.notes(), *_NOTES]
        return Comparison(self.target, self.title, "method", noises, rows, notes)

    def _tables(self, scope: Scope) -> tuple[AccuracyTable, ...]:
        return self.tables[:1] if scope.budget == "smoke" else self.tables

    def _row(
        self, scope: Scope, dataset: str, row: str, noises: list[str], tests: dict[Any, Any]
    ) -> Row:
        cells = {}
        for noise in noises:
            test = tests.get((dataset, noise, scope.variant(row)))
            theirs = printed(self.target, dataset, row, noise)
            marks = copy_marks(theirs.copied_from) if theirs else ()
            known = test and not pd.isna(test["t_p"])
            ours = Number(test["t_p"], n=test["n"]) if test and known else None
            said = _words(test) if test else scope.absent(dataset)
            cells[noise] = Cell(ours, theirs.number if theirs else None, _P, marks, said)
        return Row(dataset, row, cells)


def is_tested(row: str) -> bool:
    """Whether a row is one of the paper's own methods."""
    return row.partition(":")[0] in PAPER


def _tests(table: AccuracyTable, scope: Scope, results: Results) -> dict[object, object]:
    """Return the tests of a table by (dataset, noise, variant)."""
    frame = results.of("accuracy", table.runs(scope))
    frame = frame[frame["noise"] != "none"]
    compared = (*BASELINES, "tedgcn") if table is HETEROPHILIC else BASELINES  # as in the paper
    rivals = [scope.variant(row) for row in table.rows.of(scope.budget) if row in compared]
    tested_rows = [scope.variant(row) for row in table.rows.of(scope.budget) if is_tested(row)]
    frame = frame[frame["method"].isin([*rivals, *tested_rows])]
    run = set(frame["method"])
    if not run.intersection(rivals):
        return {}
    tested = against(frame, [name for name in rivals if name in run])
    return {
        (line["dataset"], line["noise"], line["method"]): line for line in tested.to_dict("records")
    }


def _words(test: dict[str, Any]) -> str:
    if test["n"] < 2:
        draws = "one draw is" if test["n"] else "no draw is"
        return f"no test: {draws} shared with {test['baseline']}"
    lead = f"{100 * test['difference']:+.1f} points against {test['baseline']}"
    if pd.isna(test["t_p"]):
        return f"no test: {lead} in each of {test['n']} draws"
    return lead if pd.isna(test["t_holm"]) else f"{lead}, Holm {test['t_holm']:.3f}"


_NOTES: Final = (
    "Two-sided paired t-test over shared draws (their number) against the baseline with the best "
    "mean of the cell; the difference of means; Holm's correction over the tests of one "
    "classification table. In italics the printed p-value.",
    "The best baseline is picked by the test accuracy that is compared, in the paper and here, "
    "which makes it look a little better than it is.",
)
P_VALUES: Final = SignificanceTable(
    "p-values",
    "P-values of GCL-LRR and GCL-LR-Attention against the best baseline",
    (CLASSIFICATION, CLASSIFICATION_MORE, HETEROPHILIC),
)
