"""The study of what happens while the letter of the paper is trained."""

import sys

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from letter_training import measure


def test_a_row_counts_empty_columns_and_follows_the_norm() -> None:
    row = measure("sbm", 0, "gcl-lrr:preset=paper:hidden=8:dim=8:epochs=3")
    assert row["epochs"] == 3
    assert row["columns"] == 8
    assert 0 <= row["empty"] <= 8
    assert row["norm_first"] > 0
    assert row["norm_last"] >= 0
