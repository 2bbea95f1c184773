"""What was asked of a method: met, missed, or within the standard error of the draws."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import bars
from study.bars import Bar, met


def test_a_mean_within_its_standard_error_of_a_bar_is_said_to_be() -> None:
    assert met(pd.Series([81.0, 83.0]), 80) == "yes"
    assert met(pd.Series([78.0, 78.5]), 80) == "**no**"
    assert met(pd.Series([1.0, 6.0]), 3) == "yes, within the standard error"
    assert met(pd.Series([1.0, 4.0]), 3) == "**no**, within the standard error"
    assert met(pd.Series([12.0, 13.0]), float("-inf"), 10) == "**no**"


def test_a_row_names_what_was_asked_and_what_was_measured() -> None:
    bar = Bar("clean at least 80", lambda _: pd.Series([81.0, 83.0]), 80)
    assert bar.row("gcn") == ["clean at least 80", "82.0 ± 1.4", "2", "yes"]


def test_leads_are_paired_by_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("gcn", 1, 0.5), ("gcn", 2, 0.6), ("rtgnn", 2, 0.7), ("rtgnn", 3, 0.9)]
    frame = pd.DataFrame(rows, columns=["method", "seed", "test_accuracy"])
    monkeypatch.setattr(bars, "_cells", lambda *_: frame)
    found = bars._leads("rtgnn", over="gcn", noise="symmetric:0.4")
    assert found.round(6).to_dict() == {2: 10.0}
