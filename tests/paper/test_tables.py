"""Tables of the paper from a made-up store: cells, footnotes, and each format as a whole."""

import csv
import io
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from paths import ROOT
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record, records_frame
from quietgraph.errors import UnknownNameError
from quietgraph.paper.accuracy import AccuracyTable
from quietgraph.paper.comparison import NOT_HERE, NOT_RUN, PERCENT, POINTS, Comparison, Number
from quietgraph.paper.facts import CROSS_VALIDATION, DATASET_STATISTICS, ChoiceTable
from quietgraph.paper.rank import RANK
from quietgraph.paper.results import Needs, Results
from quietgraph.paper.scope import Extent, Scope, make_scope
from quietgraph.paper.significance import P_VALUES, SignificanceTable
from quietgraph.paper.theory_tables import BOUND, KERNEL_COMPLEXITY, PROJECTION
from quietgraph.paper.timing import TRAINING_TIME, TimeTable
from quietgraph.report.paper_tables import render_comparisons
from records import record_of

GOLDEN = ROOT / "tests" / "golden" / "paper"
# Rows with every mark: an own row, a copied one, a row without a printed figure, files that lack.
TABLE = AccuracyTable(
    "classification-more",
    "A small table & its marks",
    *(
        Extent(names, names, names)
        for names in (
            ("amazon-photo", "wiki-cs"),
            ("gcn", "quiet"),
            ("none", "symmetric:0.4", "symmetric:0.8"),
        )
    ),
)


@pytest.fixture
def scope(monkeypatch: pytest.MonkeyPatch) -> Scope:
    """Three draws, and every dataset's files but those of Wiki-CS and arXiv."""
    missing = {"wiki-cs", "ogbn-arxiv"}
    monkeypatch.setattr(Scope, "is_here", lambda _, dataset: dataset not in missing)
    return make_scope("small", seeds="3")


def results_of(needs: Needs, make: Callable[[Run], Record]) -> Results:
    kinds = ("accuracy", "times", "theory", "folds")
    return Results({kind: records_frame([make(run) for run in needs.of(kind)]) for kind in kinds})


def accuracy_of(run: Run) -> Record:
    value = 0.8 - 0.3 * (str(run.noise) != "none") + 0.05 * (run.variant.method == "quiet")
    status = (
        "failed" if (str(run.variant), str(run.noise), run.seed) == ("quiet", "none", 2) else "done"
    )
    return record_of(run, status, test_accuracy=value + 0.01 * run.seed)


@pytest.fixture
def table(scope: Scope) -> Comparison:
    """The table with all runs of 80 % noise missing, and one failure."""
    found = results_of(TABLE.needs(scope), accuracy_of)
    frame = found.frames["accuracy"]
    found.frames["accuracy"] = frame[frame["noise"] != "symmetric:0.8"]
    return TABLE.compare(scope, found)


@pytest.mark.parametrize(
    ("form", "suffix"), [("markdown", "md"), ("latex", "tex"), ("csv", "csv"), ("html", "html")]
)
def test_each_format_looks_as_agreed(table: Comparison, form: str, suffix: str) -> None:
    expected = (GOLDEN / f"table.{suffix}").read_text(encoding="utf-8")
    assert render_comparisons([table], format=form) == expected


def test_an_unknown_format_is_told(table: Comparison) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'markdown'"):
        render_comparisons([table], format="markdwn")


def test_all_formats_show_the_same_number_of_cells(table: Comparison) -> None:
    lines = list(csv.DictReader(io.StringIO(render_comparisons([table], format="csv"))))
    assert len(lines) == len(table.rows) * len(table.columns)


def test_csv_puts_all_tables_under_one_head(table: Comparison) -> None:
    text = render_comparisons([table, table], format="csv")
    assert text.count("target,dataset,row") == 1
    assert len(text.splitlines()) == 1 + 2 * len(table.rows) * len(table.columns)


def test_a_figure_is_named_in_the_text(table: Comparison) -> None:
    figures = {table.target: "out-figure"}
    assert "(out-figure.svg)" in render_comparisons([table], figures=figures)
    assert "{out-figure.png}" in render_comparisons([table], format="latex", figures=figures)


def test_missing_files_and_missing_runs_are_said(table: Comparison) -> None:
    cells = {(row.dataset, row.name): row.cells for row in table.rows}
    assert cells["wiki-cs", "gcn"]["none"].words == NOT_HERE
    assert cells["amazon-photo", "gcn"]["symmetric:0.8"].words == NOT_RUN
    assert cells["amazon-photo", "quiet"]["none"].words == "failed: 1"


def test_a_cell_has_mean_deviation_and_draws() -> None:
    assert PERCENT.text(Number(0.8, 0.01, 3)) == "80.0 ± 1.0 (3)"
    assert PERCENT.text(Number(0.8)) == "80.0"
    assert POINTS.text(Number(-0.0)) == "+0.0"


def test_a_table_needs_no_run_of_a_dataset_that_is_not_here(scope: Scope) -> None:
    assert {run.dataset for run in TABLE.needs(scope).accuracy} == {"amazon-photo"}


def test_results_on_a_dataset_that_is_not_here_are_shown(scope: Scope) -> None:
    runs = [Run.parse("wiki-cs", "gcn", "none", seed) for seed in scope.seeds]
    frame = records_frame([record_of(run, test_accuracy=0.5) for run in runs])
    found = Results(dict.fromkeys(("accuracy", "times", "theory", "folds"), frame))
    rows = {(row.dataset, row.name): row.cells for row in TABLE.compare(scope, found).rows}
    assert rows["wiki-cs", "gcn"]["none"].ours == Number(0.5, 0.0, 3)


def test_runs_of_other_parameters_are_not_shown(scope: Scope) -> None:
    other = [Run.parse("amazon-photo", "gcn:hidden=8", "none", seed) for seed in range(3)]
    frame = records_frame([record_of(run, test_accuracy=0.5) for run in other])
    found = Results(dict.fromkeys(("accuracy", "times", "theory", "folds"), frame))
    cells = TABLE.compare(scope, found).rows[0].cells
    assert cells["none"].ours is None


def test_the_rank_table_pairs_draws_with_the_best_rank(scope: Scope) -> None:
    def make(run: Run) -> Record:
        ratio = float(str(run.variant).rpartition("=")[2])
        return record_of(run, test_accuracy=0.7 - abs(ratio - 0.3) / 10 + 0.05 * run.seed)

    shown = RANK.compare(scope, results_of(RANK.needs(scope), make))
    cells = {row.name: row.cells["symmetric:0.4"].ours for row in shown.rows}
    assert cells["gcl-lrr:rank_ratio=0.3"] == pytest.approx(Number(0.0, 0.0, 3), abs=1e-12)
    other = cells["gcl-lrr:rank_ratio=0.5"]
    assert other is not None
    assert other.mean == pytest.approx(-0.02)
    assert other.std == pytest.approx(0, abs=1e-12)
    best = cells["best"]
    assert best is not None
    assert best.mean == pytest.approx(0.75)


def test_times_are_divided_by_the_gcns_of_the_same_draw(scope: Scope) -> None:
    def make(run: Run) -> Record:
        seconds = {"gcn": 2.0, "sfa": 30.0}.get(run.variant.method, 4.0) * (1 + run.seed)
        return record_of(run, seconds_fit=seconds)

    shown = TRAINING_TIME.compare(scope, results_of(TRAINING_TIME.needs(scope), make))
    cells = {row.name: row.cells["cora"] for row in shown.rows}
    assert cells["sfa"].ours == Number(15.0, 0.0, 3)
    assert cells["sfa"].printed == Number(pytest.approx(237.5 / 11.5))
    assert all(run.cache is None for run in TRAINING_TIME.runs(scope))


def test_p_values_name_the_best_baseline_and_the_difference(scope: Scope) -> None:
    names = (("cora",), ("gcn", "s2gc", "gcl-lrr"), ("symmetric:0.4",))
    extents = (Extent(each, each, each) for each in names)
    small = SignificanceTable("p-values", "", (AccuracyTable("classification", "", *extents),))
    draws = np.random.default_rng(0).normal(scale=0.01, size=100)
    gains = {"gcl-lrr": 0.05, "s2gc": 0.02}

    def make(run: Run) -> Record:
        own = draws[(7 * run.seed + len(str(run.variant))) % 100]
        return record_of(run, test_accuracy=0.6 + gains.get(run.variant.method, 0.0) + own / 10)

    shown = small.compare(scope, results_of(small.needs(scope), make))
    cell = shown.rows[0].cells["symmetric:0.4"]
    assert shown.rows[0].name == "gcl-lrr"
    assert cell.ours is not None
    assert cell.ours.mean < 0.05
    assert cell.ours.n == 3
    assert "points against s2gc, Holm" in cell.words


@pytest.mark.parametrize(
    ("draws", "words"),
    [
        (1, "no test: one draw is shared with s2gc"),
        (3, "no test: +5.0 points against s2gc in each of 3 draws"),
    ],
)
def test_p_values_that_cannot_be_say_why(scope: Scope, draws: int, words: str) -> None:
    names = (("cora",), ("s2gc", "gcl-lrr"), ("symmetric:0.4",))
    extents = (Extent(each, each, each) for each in names)
    small = SignificanceTable("p-values", "", (AccuracyTable("classification", "", *extents),))

    def make(run: Run) -> Record:
        if run.variant.method == "s2gc" and run.seed not in scope.seeds[:draws]:
            return record_of(run, "failed")
        return record_of(run, test_accuracy=0.75 if run.variant.method == "gcl-lrr" else 0.7)

    cell = small.compare(scope, results_of(small.needs(scope), make)).rows[0].cells["symmetric:0.4"]
    assert cell.ours is None
    assert cell.words == words


def test_p_values_without_a_baseline_are_not_run(scope: Scope) -> None:
    empty = results_of(Needs(), accuracy_of)
    shown = P_VALUES.compare(scope, empty)
    assert {cell.words for row in shown.rows for cell in row.cells.values()} == {NOT_RUN}


def test_bound_terms_and_complexities_carry_their_marks(scope: Scope) -> None:
    def make(run: Run) -> Record:
        names = ("L1", "L2", "KC", "bound", "rank")
        return record_of(run, **dict.fromkeys(names, 1.5), **{"KC of plain F": 0.5})

    found = results_of(BOUND.needs(scope) | KERNEL_COMPLEXITY.needs(scope), make)
    bound = BOUND.compare(scope, found).rows[2]
    assert bound.name == "KC"
    assert bound.cells["gcl-lrr"].ours == Number(1.5, 0.0, 3)
    assert bound.cells["gcl-lrr"].marks
    complexity = KERNEL_COMPLEXITY.compare(scope, found)
    assert len(complexity.marks()) == 2
    for table in (BOUND.compare(scope, found), complexity):
        plain = next(row for row in table.rows if row.name == "KC of plain F")
        assert plain.cells["gcl-lr-attention"].ours == Number(0.5, 0.0, 3)
        assert plain.cells["gcl-lr-attention"].printed is None  # the paper's stands beside KC
        assert any("drawn uniformly" in note for note in table.notes)


def test_a_study_that_failed_everywhere_says_so(scope: Scope) -> None:
    found = results_of(PROJECTION.needs(scope), lambda run: record_of(run, "failed"))
    cells = PROJECTION.compare(scope, found).rows[0].cells
    assert {cell.words for cell in cells.values()} == {"failed: 3"}


def test_the_choice_is_the_first_of_the_best_settings() -> None:
    scope = make_scope("smoke", data_root="nowhere")

    def make(run: Run) -> Record:
        return record_of(run, fold_accuracy=0.5 + 0.1 * ("rank_ratio=0.5" in str(run.variant)))

    shown = CROSS_VALIDATION.compare(scope, results_of(CROSS_VALIDATION.needs(scope), make))
    cells = shown.rows[0].cells
    assert (cells["gamma"].ours, cells["tau"].ours) == (Number(0.5), Number(0.1))
    assert cells["worst"].ours == Number(0.5)


@pytest.mark.parametrize(
    ("table", "usual"), [(CROSS_VALIDATION, {0, 1, 2}), (TRAINING_TIME, {1000, 1001, 1002})]
)
def test_draws_asked_for_replace_those_a_target_has_of_its_own(
    table: ChoiceTable | TimeTable, usual: set[int]
) -> None:
    for seeds, wanted in ((None, usual), ("7-11", {7, 8, 9, 10, 11})):
        scope = make_scope("small", seeds=seeds)
        assert {run.seed for run in table.runs(scope)} == wanted
        shown = table.compare(scope, results_of(Needs(), record_of))
        assert f"{len(wanted)} draws (seeds {min(wanted)}, " in shown.notes[0]


def test_dataset_statistics_say_whose_files_are_missing() -> None:
    scope = make_scope("full", data_root="nowhere")
    shown = DATASET_STATISTICS.compare(scope, Results({}))
    assert shown.rows[0].name == "cora (files not here)"
    assert shown.rows[0].cells["edges"].ours == Number(5278)
    assert shown.rows[0].cells["edges"].printed == Number(5429)


def test_an_empty_table_of_runs_has_no_summary(scope: Scope) -> None:
    found = Results(dict.fromkeys(("accuracy", "times", "theory", "folds"), records_frame([])))
    assert isinstance(found.of("accuracy", TABLE.runs(scope)), pd.DataFrame)
    assert found.summaries("accuracy", TABLE.runs(scope), "test_accuracy") == {}
