"""Figures of sentences, worked out from tables that benchmarks printed."""

import sys

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import scale_sentences
from study.scale_sentences import (
    exponent,
    lines_of,
    printed_difference,
    printed_number,
    printed_ratio,
    printed_span,
)


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [["a", "`one`", "2,000"], ["a", "two", "**500**"], ["b", "two", "5e-7 (few), 25"]]
    monkeypatch.setattr(scale_sentences, "printed", lambda _: (["graph", "cut", "MB"], rows))


def test_lines_are_found_by_their_first_cells_without_marks() -> None:
    assert [line["MB"] for line in lines_of("t", ("a",))] == ["2,000", "500"]
    assert [line["graph"] for line in lines_of("t", ("*", "two"))] == ["a", "b"]
    with pytest.raises(KeyError, match="no line begins"):
        lines_of("t", ("c",))


def test_lines_are_compared_with_one_line() -> None:
    assert printed_span("t", "MB", "0", "a") == "500 to 2000"
    assert printed_ratio("t", "MB", "2", "a", "two", "against", "a", "one") == "0.25"
    assert printed_difference("t", "MB", "0", "a", "against", "a", "two") == "0 to 1500"


def test_a_number_is_taken_out_of_words() -> None:
    assert printed_number("t", "MB", "1", "b") == "5e-7"
    assert printed_number("t", "MB", "2", "b") == "25"


def test_an_exponent_is_the_slope_of_logarithms() -> None:
    assert exponent({10: 3.0, 100: 300.0, 1000: 30_000.0}) == pytest.approx(2)
