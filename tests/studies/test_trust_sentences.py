"""Figures in the sentences on trust and suspects, from tables made by hand."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import trust, trust_sentences
from study.trust_sentences import (
    accuracy_known_to,
    ahead_everywhere,
    ahead_of_logistic,
    behind_logistic,
    calibration_error_of,
    claimed_without_signal,
    condemned_graphs,
    draws_of,
    quality_of_draw,
    right_of,
    verdict_of_draws,
    warnings_given,
    without_the_worst_draw,
    wrong_under,
)

TEXAS = ("texas", "none", "s2gc")


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables `scores`, `graphs` and `warned` in place of those in results/."""
    stored = {"scores": _scores(), "graphs": _graphs(), "warned": _warned()}
    monkeypatch.setattr(trust_sentences, "table", stored.__getitem__)
    monkeypatch.setattr(trust, "table", stored.__getitem__)


def _scores() -> pd.DataFrame:
    facts = {"calibration_error": 0.1, "accuracy": 0.4, "wrong": 65.0, "verdict": "with care"}
    facts |= {"noise_rate": 0.57, "noise_low": 0.33, "noise_high": 0.65, "noise": "none"}
    rival = {"noise": "none", "score": "logistic + cleanlab a", "average_precision": 0.5}
    found = []
    for dataset, aurocs in (("texas", (0.7, 0.5, 0.1)), ("cora", (0.7, 0.8, 0.9))):
        for seed, auroc in enumerate(aurocs):
            ours = {"score": "s2gc", "auroc": auroc, "average_precision": 0.5}
            place = {"dataset": dataset, "seed": seed}
            found += [place | facts | ours, place | rival | {"auroc": 0.6}]
    return pd.DataFrame(found)


def _graphs() -> pd.DataFrame:
    heads = ["method", "signal", "classes", "noise", "homophily", "labels"]
    heads += ["estimated_accuracy", "verdict"]
    rows = [
        ["s2gc", False, 4, 0.2, None, 90, 0.3, "do not trust"],
        ["s2gc", False, 4, 0.0, None, 95, 0.4, "do not trust"],
        ["s2gc", False, 3, 0.0, None, 95, 0.9, "do not trust"],
        ["s2gc", True, 4, 0.4, 0.07, 102, 0.3, "do not trust"],
        ["s2gc", True, 4, 0.4, 0.27, 204, 0.3, "do not trust"],
        ["s2gc", True, 4, 0.0, 0.9, 150, 0.9, "trust"],
    ]
    return pd.DataFrame(rows, columns=heads)


def _warned() -> pd.DataFrame:
    rows = [("cora", "labels:a.csv", 0.33, 1), ("cora", "labels:a.csv", 0.33, 1)]
    rows += [("cora", "none", 0.0, 0), ("citeseer", "none", 0.0, 1)]
    return pd.DataFrame(rows, columns=["dataset", "noise", "wrong", "warned"])


def test_figures_of_one_cell(tables: None) -> None:
    assert calibration_error_of("scores", *TEXAS) == "0.100"
    assert draws_of("scores", *TEXAS) == "n = 3"
    assert right_of("scores", *TEXAS) == "40 %"
    assert verdict_of_draws("scores", *TEXAS, "trust") == "0 of 3"
    told = quality_of_draw("scores", *TEXAS, "1")
    assert told.startswith("65 of the labels are wrong, the estimated noise is 57 %")
    with pytest.raises(KeyError, match="no rows of gcn"):
        draws_of("scores", "texas", "none", "gcn")


def test_figures_beside_logistic_regression(tables: None) -> None:
    assert ahead_everywhere("scores") == "Cora"
    assert ahead_of_logistic("texas", "all", "s2gc", "scores") == "1 of 3"
    assert "2 of 3 draws it is behind, by 0.10 to 0.50; " in behind_logistic(*TEXAS, "scores")
    told = without_the_worst_draw(*TEXAS, "scores")
    assert told.startswith("draw 2 is furthest behind (0.10 against 0.60)")
    assert told.endswith("the mean of ours is 0.600, that of the rival 0.600")


def test_figures_of_generated_graphs_and_warnings(tables: None) -> None:
    assert claimed_without_signal("graphs", "4") == "0.35 (`s2gc`)"
    words = "40 % noise, a homophily of 0.07 to 0.27 and 102 to 204 labels"
    assert condemned_graphs("graphs") == words
    assert wrong_under("warned", "labels:a.csv") == "33 %"
    assert warnings_given("warned").splitlines()[2:] == [
        "| labels of GPT-3.5 | 2 of 2 |  |",
        "| no noise | 0 of 1 | 1 of 1 |",
    ]


def test_an_accuracy_is_known_less_well_with_few_classes() -> None:
    known = [accuracy_known_to("600", rate, n) for rate, n in (("0", "2"), ("0.4", "3"))]
    assert known == ["0.02", "0.05"]
