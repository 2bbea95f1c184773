"""The table on orders of classes: gains are paired by draw, the lowest draws are named."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import class_orders


def test_gains_are_paired_and_the_lowest_draws_stand_beside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("any order", 1, 0.2), ("any order", 2, 0.7)]
    rows += [("half of the classes", 1, 0.6), ("half of the classes", 2, 0.7)]
    frame = pd.DataFrame(rows, columns=["rule", "seed", "accuracy"])
    frame = frame.assign(dataset="cora", noise="asymmetric:0.4")
    monkeypatch.setattr(class_orders, "table", lambda name: frame)
    said = class_orders.class_orders()
    assert "| Cora, asymmetric 40 % | 45.0 ± 35.4 | 65.0 ± 7.1 | +20.0 (0.50) |" in said
    assert "| 20.0 / 60.0 | 2 |" in said
    assert said.endswith("Draws 1-2 (n = 2), percent right; paired t-test.")
