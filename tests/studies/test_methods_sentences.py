"""Figures in sentences on methods: whether a bar is reached, and the steps of the ablation."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import methods_sentences
from study.methods_sentences import bar_words, chain_gain, complexity_factors, step_up


def test_a_mean_within_its_standard_error_of_a_bar_is_said_to_be() -> None:
    assert bar_words(pd.Series([81.0, 83.0]), "80") == "reaches the bar of 80"
    assert bar_words(pd.Series([78.0, 78.5]), "80") == "misses the bar of 80"
    near = bar_words(pd.Series([1.0, 6.0]), "3")
    assert near == "reaches (by less than the standard error) the bar of 3"


def test_steps_of_the_ablation_are_told_apart_by_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    def printed(name: str) -> tuple[list[str], list[list[str]]]:
        end = "71.5 ± 0.3" if "cora" in name else "60.0"
        rows = [["contrast only", "70.0 ± 0.2", "70.00", ""], ["+ last", end, "71.00", "+1.00"]]
        return ["step", "none", "mean", "step up"], rows

    monkeypatch.setattr(methods_sentences, "printed", printed)
    assert chain_gain("x", "none") == "+1.5 on Cora and -10.0 on CiteSeer"
    assert step_up("last", "x") == "+1.00 and +1.00"


def test_a_complexity_is_compared_with_the_next_lowest_of_its_graph(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("gcl-lr-attention", "gcn", "sfa")
    rows = [["cora", name, f"{kc} ± 0.1"] for name, kc in zip(names, (0.5, 1.0, 4.0), strict=True)]
    rows += [["pubmed", name, str(kc)] for name, kc in zip(names, (1.0, 9.0, 3.0), strict=True)]
    monkeypatch.setattr(methods_sentences, "printed", lambda _: (["dataset", "method", "KC"], rows))
    assert complexity_factors() == "2.0 to 3.0"
