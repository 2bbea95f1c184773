"""Cells that no spreadsheet takes for a formula, and that are read back unchanged."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietgraph.graph.io.spreadsheet import guard, guard_table, unguard

FORMULAS = ("=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "\uff1d1", "'=1", "-")


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_becomes_a_text(text: str) -> None:
    assert guard(text) == f"'{text}"
    assert unguard(guard(text)) == text


PLAIN = ("-5", "+3.25", "-1e-7", "cat", "it's", "'quoted'", "", "a=b", "1-2")


@pytest.mark.parametrize("text", PLAIN)
def test_numbers_and_other_texts_stay_as_they_are(text: str) -> None:
    assert guard(text) == text == unguard(text)


@given(st.text() | st.text("'=+-@1.e\t"))
def test_every_text_is_read_back(text: str) -> None:
    assert unguard(guard(text)) == text
    assert guard(text)[:1] not in set("=@\t\r")


def test_names_and_texts_of_a_table_are_guarded_and_numbers_are_not() -> None:
    table = pd.DataFrame({"=a": ["=1", "b", None], "score": [-0.5, 1.0, 2.0], "c": [1, "-x", True]})
    guarded = guard_table(table)
    assert guarded.columns.tolist() == ["'=a", "score", "c"]
    assert guarded["'=a"].tolist()[:2] == ["'=1", "b"]
    assert guarded["c"].tolist() == [1, "'-x", True]
    assert guarded["score"].tolist() == [-0.5, 1.0, 2.0]
    assert table["=a"][0] == "=1"
