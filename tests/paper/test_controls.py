"""Tables of our own: real labels, an annotator's errors, controls, the letter."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from quietgraph.bench.record import records_frame
from quietgraph.methods import METHODS
from quietgraph.paper import scope as scopes
from quietgraph.paper.accuracy import (
    ANNOTATOR,
    CLASSIFICATION,
    HETEROPHILIC,
    LETTER,
    PAPER,
    REAL_LABELS,
    THE_LETTER,
)
from quietgraph.paper.comparison import NOT_HERE, NOT_RUN, Comparison, Number
from quietgraph.paper.controls import CONTROL_TABLE, CONTROLS
from quietgraph.paper.results import KINDS, Needs, Results
from quietgraph.paper.scope import Scope, make_scope
from records import record_of


@pytest.fixture(autouse=True)
def _files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Every dataset is here, and a file of labels in the data folder."""
    monkeypatch.setattr(Scope, "is_here", lambda *_: True)
    monkeypatch.setenv("QUIETGRAPH_DATA", str(tmp_path))
    scopes._canonical.cache_clear()  # other tests find the file elsewhere
    yield
    scopes._canonical.cache_clear()


def results_of(needs: Needs) -> Results:
    frames = {kind: records_frame([]) for kind in KINDS}
    done = [record_of(run, test_accuracy=_accuracy(run.split)) for run in needs.accuracy]
    return Results(frames | {"accuracy": records_frame(done)})


def _accuracy(split: str | None) -> float:
    return 0.6 if split else 0.5


def cells(table: Comparison) -> dict[tuple[str, str], list[Number | None]]:
    return {
        (row.dataset, row.name): [row.cells[name].ours for name in table.columns]
        for row in table.rows
    }


def test_controls_have_a_row_for_every_method_that_they_change() -> None:
    scope = make_scope("full", seeds="8000-8001")
    found = cells(CONTROL_TABLE.compare(scope, results_of(CONTROL_TABLE.needs(scope))))
    names = {name for dataset, name in found if dataset == "cora"}
    for method in METHODS:
        assert f"{method}, {CONTROLS['plain']}" in names
        assert f"{method}, {CONTROLS['both-sets']}" in names
    adjusted = {name for name in names if name.endswith(CONTROLS["class-prior"])}
    assert len(adjusted) == len(METHODS) - 3  # gcl-lrr, gcl-lr-attention and quiet adjust anyway
    assert found["cora", f"gcn, {CONTROLS['both-sets']}"] == [Number(0.6, 0.0, 2)] * 3
    assert found["cora", f"gcn, {CONTROLS['plain']}"] == [Number(0.5, 0.0, 2)] * 3


def test_controls_and_real_like_noise_use_draws_that_no_choice_has_seen() -> None:
    for table, draws in ((ANNOTATOR, range(8000, 8005)), (CONTROL_TABLE, range(9100, 9105))):
        runs = table.needs(make_scope("small")).accuracy
        assert {run.seed for run in runs if run.dataset in ("cora", "citeseer")} == set(draws)
        asked = {run.seed for run in table.needs(make_scope("small", seeds="3,5")).accuracy}
        assert asked == {3, 5}


def test_an_annotator_of_larger_graphs_shares_the_draws_of_the_grid() -> None:
    scope = make_scope("small")
    own = {(run.dataset, run.seed) for run in ANNOTATOR.needs(scope).accuracy}
    grid = {(run.dataset, run.seed) for run in CLASSIFICATION.needs(scope).accuracy}
    assert {place for place in own if place[0] == "pubmed"} <= grid
    assert "cora and citeseer: seeds 8000 to 8004." in (
        ANNOTATOR.compare(scope, results_of(Needs())).notes
    )


@pytest.mark.parametrize("table", [REAL_LABELS, ANNOTATOR])
def test_every_method_has_a_row(table: type) -> None:
    assert set(METHODS) <= set(table.rows_on("cora", make_scope("small")))


def test_labels_of_a_file_in_the_data_folder_are_found(tmp_path: Path) -> None:
    scope = make_scope("small", seeds="0-0")
    words = {cell.words for row in _rows(scope) for cell in row.cells.values()}
    assert words == {NOT_HERE}
    assert REAL_LABELS.needs(scope).accuracy == ()
    folder = tmp_path / "real-noise"
    folder.mkdir()
    (folder / "cora-gpt35.csv").write_text("node,label\n0,3\n1,4\n", encoding="utf-8")
    scopes._canonical.cache_clear()
    needs = REAL_LABELS.needs(scope)
    assert {str(run.noise).partition("#")[0] for run in needs.accuracy} == {"labels:cora-gpt35.csv"}
    shown = {cell.ours for row in _rows(scope, needs) for cell in row.cells.values()}
    assert shown == {Number(0.5, None, 1)}


def _rows(scope: Scope, needs: Needs | None = None) -> list:
    return list(REAL_LABELS.compare(scope, results_of(needs or Needs())).rows)


def test_the_letter_stands_beside_the_default_with_the_printed_figure() -> None:
    scope = make_scope("small")
    rows = {
        (row.dataset, row.name): row for row in THE_LETTER.compare(scope, results_of(Needs())).rows
    }
    for name in LETTER:
        letter, default = rows["cora", name], rows["cora", name.partition(":")[0]]
        assert letter.cells["none"].printed == default.cells["none"].printed is not None
    assert {dataset for dataset, _ in rows} == {"cora", "citeseer"}


def test_small_needs_few_methods_without_control_and_shows_all_that_were_run() -> None:
    scope = make_scope("small")
    needed = CONTROL_TABLE.needs(scope).accuracy
    plain = [run for run in needed if run.split is None and not run.variant.is_controlled]
    assert {run.variant.method for run in plain} == {"gcn", "s2gc", *PAPER, "quiet"}
    assert {run.variant.method for run in needed} == set(METHODS)
    assert set(needed) < set(CONTROL_TABLE.needs(make_scope("full", seeds="9100-9104")).accuracy)
    extra = scope.with_draws((9100,)).run("cora", "merit", "none", 9100)
    shown = CONTROL_TABLE.compare(scope, results_of(Needs(accuracy=(extra,))))
    assert [row.name for row in shown.rows if row.cells["none"].ours] == ["merit, as it is"]
    names = {row.name for row in shown.rows}
    assert "gcn, as it is" in names, "asked for and not run yet"
    assert "gce, as it is" not in names, "neither asked for nor run"


def test_small_has_ten_draws_of_two_graphs_and_four_settings_of_the_larger_ones() -> None:
    runs = CLASSIFICATION.needs(make_scope("small")).accuracy
    cora, pubmed = ([run for run in runs if run.dataset == name] for name in ("cora", "pubmed"))
    assert {run.seed for run in cora} == set(range(1000, 1010))
    assert {run.seed for run in pubmed} == set(range(1000, 1005))
    assert len({str(run.noise) for run in cora}) == 10
    four = {"none", "asymmetric:0.4", "symmetric:0.4", "attribute:0.6"}
    assert {str(run.noise) for run in pubmed} == four
    assert set(METHODS) <= {run.variant.method for run in cora}


def test_small_has_ten_files_of_heterophilous_graphs_in_four_settings() -> None:
    runs = HETEROPHILIC.needs(make_scope("small")).accuracy
    variants = {}
    for name in ("texas", "chameleon"):
        own = [run for run in runs if run.dataset == name]
        assert {run.seed for run in own} == set(range(1000, 1010))
        assert len({str(run.noise) for run in own}) == 4
        variants[name] = {str(run.variant) for run in own}
    assert len(variants["texas"]) == 12
    assert variants["texas"] - variants["chameleon"] == {"sel-cl", "jo-src"}
    notes = HETEROPHILIC.compare(make_scope("small"), results_of(Needs())).notes
    assert "chameleon: without sel-cl and jo-src, which take too long." in notes
    whole = HETEROPHILIC.runs(make_scope("full"))
    assert "sel-cl" in {str(run.variant) for run in whole if run.dataset == "chameleon"}


def test_the_letter_has_the_draws_of_its_rivals_in_three_settings() -> None:
    runs = THE_LETTER.needs(make_scope("small")).accuracy
    letter, others = (
        [run for run in runs if (str(run.variant) in LETTER) == is_letter]
        for is_letter in (True, False)
    )
    for own in (letter, others):
        assert {run.seed for run in own} == set(range(9100, 9105))
        assert {run.dataset for run in own} == {"cora", "citeseer"}
        assert len({str(run.noise) for run in own}) == 3
    assert len({str(run.noise) for run in THE_LETTER.runs(make_scope("full"))}) == 4
    notes = THE_LETTER.compare(make_scope("small"), results_of(Needs())).notes
    assert notes[0] == "Budget small: 5 draws (seeds 9100, 9101, 9102, 9103, 9104)."
    assert {run.seed for run in THE_LETTER.runs(make_scope("small", seeds="3,5"))} == {3, 5}
    assert not any(str(run.variant) in LETTER for run in CLASSIFICATION.runs(make_scope("full")))


def test_a_cell_that_is_not_needed_is_shown_where_it_was_run() -> None:
    scope = make_scope("small", seeds="1000-1001")
    extra = Needs(accuracy=(scope.run("pubmed", "gcn", "symmetric:0.6", 1000),))
    needs = CLASSIFICATION.needs(scope) | extra
    assert extra.accuracy[0] not in CLASSIFICATION.needs(scope).accuracy
    shown = CLASSIFICATION.compare(scope, results_of(needs))
    (row,) = (row for row in shown.rows if (row.dataset, row.name) == ("pubmed", "gcn"))
    assert row.cells["symmetric:0.6"].ours == Number(0.5, None, 1)
    assert row.cells["symmetric:0.2"].words == NOT_RUN
