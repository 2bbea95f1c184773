"""Sentences of the findings: their words follow from the runs."""

import sys

import pandas as pd
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "studies"))

from study import findings, in_short, letter, methods_page, records


@pytest.mark.parametrize(
    ("points", "p_values", "words"),
    [
        ([2.0, 3.0], [0.01, 0.04], "**It holds**: +2.0 to +3.0 points (p < 0.05 in 2 of 2 cells"),
        ([2.0, 3.0], [0.01, 0.06], "**Ahead in every cell, not in all beyond chance**"),
        ([-2.0, -3.0], [0.01, 0.01], "**The opposite**: -3.0 to -2.0"),
        ([-2.0, -3.0], [0.01, float("nan")], "**Behind in every cell, not in all beyond chance**"),
        ([-2.0, 3.0], [0.01, 0.01], "**Mixed**"),
    ],
)
def test_a_claim_holds_only_where_every_cell_is_sure(points, p_values, words) -> None:
    found = pd.DataFrame({"points": points, "p": p_values, "n": [5, 10]})
    said = in_short.lead_words(found, "p")
    assert said.startswith(words)
    assert said.endswith("n = 5 to 10)")


def theory(plain: list[float], **others: object) -> pd.DataFrame:
    methods = ["gcl-lrr", "gcl-lr-attention", "gcn"] * 2
    return pd.DataFrame(
        {
            "dataset": ["cora"] * 3 + ["citeseer"] * 3,
            "method": methods,
            "noise": "symmetric:0.4",
            "KC": [1.1, 0.6, 0.3, 1.2, 0.7, 0.4],
            "KC of plain F": plain,
            "old": False,
            **others,
        }
    )


def test_the_complexity_of_classified_features_is_never_given_as_that_of_plain_f(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    frame = theory([0.5, 0.1, 0.2, 0.5, 0.2, 0.2])
    monkeypatch.setattr(in_short, "runs", lambda name: frame)
    said = in_short.complexity_short()
    assert "plain F of `gcl-lr-attention` 0.10 / 0.20; the features" in said
    assert "classifies with 0.60 / 0.70; `gcl-lrr` 1.10 / 1.20" in said
    assert "`gcn`, 0.30 / 0.40; plain F of the embeddings of `gcn` 0.20 / 0.20 (n = 1)" in said
    frame["KC of plain F"], frame["old"] = float("nan"), True  # kept before both were
    said = in_short.complexity_short()
    assert "plain F of `gcl-lr-attention` 0.60 / 0.70; the features" in said
    assert "classifies with not measured" in said
    assert said.endswith("(n = 1, in part old)")


def test_settings_stand_beside_the_default_on_the_graphs_of_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        ("merit", 1, 0.80, 20.0),
        ("merit", 2, 0.82, 22.0),
        ("merit:dim=512", 1, 0.83, 300.0),
        ("merit:dim=512", 2, 0.85, 310.0),
    ]
    frame = pd.DataFrame(rows, columns=["method", "seed", "test_accuracy", "seconds"])
    frame = frame.assign(dataset="cora", noise="none", split="default", old=False)
    elsewhere = frame[frame["method"] == "merit"].assign(dataset="pubmed")
    both = pd.concat([frame, elsewhere])
    monkeypatch.setattr(methods_page, "runs", lambda name: both)
    said = methods_page.variants("rivals-development-0")
    assert "PubMed" not in said, "the setting was not run there"
    assert "| `merit:dim=512` | Cora | 81.0 | 84.0 | 2 | 21 / 305 |" in said
    assert said.endswith("Draws 1-2 (n = 2); clean / symmetric 40 %.")


def test_the_letter_of_today_replaces_old_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = records.runs("letter-9100")
    frame = frame[frame["seed"] == 9100].assign(seed=8000, old=True)
    today = frame.assign(old=False, seed=9100, test_accuracy=0.5)
    monkeypatch.setattr(letter, "runs", lambda *names: frame)
    assert letter.letter_draws() == "draw 8000 (n = 1), old"
    both = pd.concat([frame, today])
    monkeypatch.setattr(letter, "runs", lambda *names: both)
    assert letter.letter_draws() == "draw 9100 (n = 1)"
    assert letter.letter_of("cora", "none").startswith("50.0 and 50.0 (printed: 85.8 and 86.1")


def test_times_are_ratios_on_the_same_draw_and_of_today_where_there_are_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [("gcn", 1, 2.0, False), ("gcl-lrr", 1, 8.0, True)]
    rows += [("gcn", 2, 1.0, False), ("gcl-lrr", 2, 6.0, True)]
    frame = pd.DataFrame(rows, columns=["method", "seed", "seconds_fit", "old"])
    frame = frame.assign(dataset="cora")
    monkeypatch.setattr(findings, "runs", lambda name: frame)
    assert findings.times_gcn("gcl-lrr") == "5.0 times (n = 2, old)"
    frame.loc[3, "old"] = False
    assert findings.times_gcn("gcl-lrr") == "6.0 times (n = 1)"
