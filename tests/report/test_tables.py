"""Tables of results: what stands in a cell, and each format as a whole."""

import re
from html.parser import HTMLParser
from io import StringIO
from typing import Any

import numpy as np
import pandas as pd
import pytest

from paths import ROOT
from quietgraph.bench.statistics import against
from quietgraph.errors import UnknownNameError
from quietgraph.report.tables import noise_order, render_table, split_noise

GOLDEN = ROOT / "tests" / "golden" / "tables"
GAINS = {"gcn": 0.0, "gcl_lrr": 0.03, "s2gc": -0.02, "sugrl": 0.002}


def run(dataset: str, noise: str, method: str, seed: int, value: float, *, status: str = "done"):
    return {
        "dataset": dataset,
        "noise": noise,
        "method": method,
        "seed": seed,
        "status": status,
        "test_accuracy": value if status == "done" else float("nan"),
    }


def squeezed(frame: pd.DataFrame, **options: Any) -> str:
    """Return the markdown table without the spaces that align it."""
    return re.sub(" +", " ", render_table(frame, **options))


@pytest.fixture
def frame() -> pd.DataFrame:
    """Three methods on two datasets; one times out on two seeds, one fails on a whole cell."""
    generator = np.random.default_rng(0)
    rows = []
    for dataset, base in (("cora", 0.8), ("wiki & co", 0.7)):
        for noise, loss in (("none", 0.0), ("symmetric:0.2", 0.05), ("symmetric:0.4", 0.15)):
            draws = generator.normal(scale=0.02, size=5)
            for method, gain in GAINS.items():
                own = generator.normal(scale=0.004, size=5)
                values = (base - loss + gain + draws + own).round(3)
                rows += [run(dataset, noise, method, seed, v) for seed, v in enumerate(values)]
    table = pd.DataFrame(rows)
    is_cora = table["dataset"] == "cora"
    hard = table["noise"] == "symmetric:0.4"
    late = is_cora & hard & (table["method"] == "gcl_lrr") & (table["seed"] > 2)
    broken = ~is_cora & hard & (table["method"] == "s2gc")
    table.loc[late, "status"], table.loc[broken, "status"] = "timeout", "failed"
    table.loc[late | broken, "test_accuracy"] = float("nan")
    return table


@pytest.mark.parametrize(
    ("form", "suffix"), [("markdown", "md"), ("latex", "tex"), ("csv", "csv"), ("html", "html")]
)
def test_each_format_looks_as_agreed(frame: pd.DataFrame, form: str, suffix: str) -> None:
    expected = (GOLDEN / f"results.{suffix}").read_text(encoding="utf-8")
    assert render_table(frame, format=form, baseline="gcn") == expected


def test_a_cell_says_mean_and_deviation_in_percent_and_n() -> None:
    frame = pd.DataFrame(
        [run("cora", "none", "gcn", s, v) for s, v in enumerate([0.8, 0.81, 0.82])]
    )
    assert "| gcn | **81.0 ± 1.0** (3) |" in squeezed(frame)


def test_one_run_has_no_deviation() -> None:
    assert "| **80.0** (1) |" in squeezed(pd.DataFrame([run("cora", "none", "gcn", 0, 0.8)]))


def test_a_cell_without_a_finished_run_says_how_its_runs_ended() -> None:
    ends = ["failed", "failed", "timeout", "out-of-memory"]
    frame = pd.DataFrame(
        [run("cora", "none", "gcn", s, 0, status=end) for s, end in enumerate(ends)]
    )
    assert "| gcn | failed: 2, timeout: 1, out of memory: 1 |" in squeezed(frame)


def test_a_combination_that_was_not_run_is_a_dash() -> None:
    frame = pd.DataFrame([run("cora", "none", "a", 0, 0.8), run("photo", "none", "b", 0, 0.8)])
    assert "| a | **80.0** (1) | - |" in squeezed(frame)


def test_means_that_look_equal_are_both_bold() -> None:
    frame = pd.DataFrame([run("cora", "none", "a", 0, 0.8001), run("cora", "none", "b", 0, 0.8002)])
    assert squeezed(frame).count("**80.0**") == 2


def test_a_method_with_missing_runs_is_not_the_best() -> None:
    rows = [run("cora", "none", "steady", seed, 0.7 + seed / 100) for seed in range(3)]
    frame = pd.DataFrame([*rows, run("cora", "none", "lucky", 0, 0.9)])
    text = squeezed(frame)
    assert "| lucky | 90.0 (1) |" in text
    assert "**71.0 ± 1.0** (3)" in text


def test_lower_is_better_for_the_calibration_error() -> None:
    values = {"a": [0.30, 0.31, 0.33, 0.30], "b": [0.10, 0.12, 0.11, 0.11]}
    rows = [
        run("cora", "none", method, seed, 0.8) | {"test_calibration_error": value}
        for method, column in values.items()
        for seed, value in enumerate(column)
    ]
    text = squeezed(pd.DataFrame(rows), metric="test_calibration_error", baseline="a")
    assert "| b | **11.0 ± 0.8** (4) ↑ |" in text


def test_marks_follow_the_corrected_test(frame: pd.DataFrame) -> None:
    shown = pd.read_csv(StringIO(render_table(frame, format="csv", baseline="gcn")))
    tests = against(frame, "gcn").set_index(["dataset", "noise", "method"])
    marks = shown.set_index(["dataset", "noise", "method"])["mark"].fillna("")
    for place, test in tests.iterrows():
        expected = (
            ("better" if test["difference"] > 0 else "worse") if test["t_holm"] < 0.05 else ""
        )
        assert marks[place] == expected
    assert {"better", "worse", ""} == set(marks)


def test_without_a_baseline_nothing_is_marked(frame: pd.DataFrame) -> None:
    text = render_table(frame)
    assert "↑" not in text
    assert "t-test" not in text


def test_several_baselines_are_compared_by_the_best_of_each_column(frame: pd.DataFrame) -> None:
    text = render_table(frame, baseline=["gcn", "s2gc"])
    assert "worse than the best of gcn, s2gc in the column" in text
    assert "12 tests in all" in text


def test_a_baseline_alone_gives_a_table_without_tests(frame: pd.DataFrame) -> None:
    alone = frame[frame["method"] == "gcn"]
    assert "0 tests in all" in render_table(alone, baseline="gcn")


def test_names_cannot_break_the_html() -> None:
    frame = pd.DataFrame([run("<script>", "a & b", "x<y", 0, 0.8)])
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(render_table(frame, format="html"))
    assert "script" not in tags


def test_an_unknown_format_metric_or_baseline_names_the_nearest(frame: pd.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match="'markdown'"):
        render_table(frame, format="markdwon")
    with pytest.raises(UnknownNameError, match="'test_accuracy'"):
        render_table(frame, metric="accuracy")
    with pytest.raises(UnknownNameError, match="'gcn'"):
        render_table(frame, baseline="gnc")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("none", ("none", 0.0)),
        ("symmetric:0.4", ("symmetric", 0.4)),
        ("symmetric:0.4+exact-count", ("symmetric+exact-count", 0.4)),
        ("symmetric:0.4+attribute:0.2", ("symmetric:0.4+attribute:0.2", None)),
        ("custom:t.csv#0123abcd", ("custom:t.csv#0123abcd", None)),
    ],
)
def test_noise_texts_fall_into_kind_and_rate(text: str, expected: tuple[str, float | None]) -> None:
    assert split_noise(text) == expected


def test_noise_is_sorted_by_kind_and_then_by_number() -> None:
    texts = ["symmetric:0.4", "attribute:0.6", "symmetric:0.05", "none"]
    expected = ["none", "attribute:0.6", "symmetric:0.05", "symmetric:0.4"]
    assert sorted(texts, key=noise_order) == expected
