"""Places of the paper's two among the methods whose bound was computed."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import theory_page

NAMES = ("gcn", "gcl-lrr", "gcl-lr-attention")


@pytest.fixture(autouse=True)
def frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernel complexity 1, 2, 3 on Cora and 3, 2, 1 on CiteSeer; accuracy 0.1, 0.2, 0.3."""
    rows = []
    for dataset, complexities in (("cora", (1.0, 2.0, 3.0)), ("citeseer", (3.0, 2.0, 1.0))):
        for place, (method, complexity) in enumerate(zip(NAMES, complexities, strict=True), 1):
            values = dict.fromkeys(theory_page._COLUMNS, complexity)
            rows.append({"dataset": dataset, "method": method, **values, "accuracy": place / 10})
    monkeypatch.setattr(theory_page, "_frame", lambda: pd.DataFrame(rows))


def test_places_are_counted_from_the_lowest() -> None:
    assert theory_page.bound_places("KC") == (
        "Cora `gcl-lrr` 2 and `gcl-lr-attention` 3 (`gcn` 1); "
        "CiteSeer `gcl-lrr` 2 and `gcl-lr-attention` 1, of 3"
    )


def test_the_correlation_with_accuracy_is_of_ranks() -> None:
    assert theory_page.bound_against_accuracy("KC") == "+1.00 on Cora and -1.00 on CiteSeer"
