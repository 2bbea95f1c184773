"""Statistics, tables and files of runs, on tables made by hand."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from scipy import stats
from tiny_methods import tiny_data

from quietgraph.bench import compare, keep_runs, ranks, read_runs, summary, table, to_text
from quietgraph.bench.execute import split_own
from quietgraph.bench.metrics import calibration_error, evaluate_assessment
from quietgraph.bench.statistics import holm
from quietgraph.bench.store import append_run
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError


def runs_of(values: dict[tuple[str, str, str], list[float]], **columns: str) -> pd.DataFrame:
    """Runs by (dataset, noise, method): one accuracy a seed, NaN for a failure."""
    rows = [
        {"dataset": dataset, "noise": noise, "method": method, "seed": seed, "test_accuracy": value}
        for (dataset, noise, method), numbers in values.items()
        for seed, value in enumerate(numbers)
    ]
    frame = pd.DataFrame(rows)
    usual = {"data": "d", "settings": "s", "split": "default", "protocol": "same labels", "measures": "", "reason": ""}
    return frame.assign(status=np.where(frame["test_accuracy"].isna(), "failed", "done"), **{**usual, **columns})


def test_summary_counts_what_failed() -> None:
    found = summary(runs_of({("cora", "none", "gcn"): [0.8, 0.9, np.nan]})).iloc[0]
    assert (found["mean"], found["n"], found["failed"]) == (pytest.approx(0.85), 2, 1)
    assert found["std"] == pytest.approx(np.std([0.8, 0.9], ddof=1))


def test_compare_pairs_seeds_and_corrects_over_the_table() -> None:
    draws = default_rng(0)
    values = {("g", f"symmetric:0.{i}", m): list(draws.normal(0.7, 0.05, 8)) for i in (2, 4) for m in ("a", "b", "c")}
    values["g", "symmetric:0.2", "b"][3] = np.nan
    found = compare(runs_of(values), "a").set_index(["noise", "method"])
    for (noise, method), row in found.iterrows():
        ours, theirs = np.array(values["g", noise, method]), np.array(values["g", noise, "a"])
        both = ~np.isnan(ours)
        assert row["p"] == pytest.approx(stats.ttest_rel(ours[both], theirs[both]).pvalue)
        assert (row["n"], row["wins"]) == (both.sum(), (ours > theirs).sum())
    ordered = found.sort_values("p")
    slow = np.maximum.accumulate([min(1.0, p * (4 - place)) for place, p in enumerate(ordered["p"])])
    assert ordered["p_holm"].to_numpy() == pytest.approx(slow)


def test_differences_that_do_not_vary_prove_nothing() -> None:
    values = {("g", "none", "a"): [0.5, 0.6], ("g", "none", "same"): [0.5, 0.6], ("g", "none", "more"): [0.6, 0.7]}
    found = compare(runs_of(values), "a").set_index("method")["p"]
    assert found["same"] == 1
    assert np.isnan(found["more"])
    assert holm([np.nan, 0.01, 0.04]) == pytest.approx([np.nan, 0.02, 0.04], nan_ok=True)


def test_the_best_baseline_is_chosen_on_the_draws_that_are_compared() -> None:
    values = {
        ("g", "none", "a"): [0.9, 0.5, 0.5],
        ("g", "none", "b"): [0.1, 0.6, 0.6],
        ("g", "none", "ours"): [np.nan, 0.7, 0.7],
    }
    (row,) = compare(runs_of(values), ["a", "b"]).to_dict("records")
    assert (row["baseline"], row["n"]) == ("b", 2)


def test_ranks_are_over_cells_and_name_the_incomplete() -> None:
    values = {(data, noise, name): [0.9 - 0.1 * place] * 30 for place, name in enumerate("ab")
              for data, noise in (("g", "none"), ("h", "none"))}  # fmt: skip
    values["g", "none", "c"] = [0.99]  # one run of one method leaves the others as they are
    found = ranks(runs_of(values))
    assert found.ranks.to_dict() == {"a": 1.0, "b": 2.0}
    assert (found.cells, found.incomplete) == (2, ("c",))
    spread = stats.studentized_range.ppf(0.95, 2, np.inf) / np.sqrt(2)
    assert found.critical_difference == pytest.approx(spread * np.sqrt(2 * 3 / (6 * 2)))
    with pytest.raises(InvalidParameterError, match="in all 2 cells"):
        ranks(runs_of({("g", "none", "a"): [1.0], ("h", "none", "b"): [1.0]}))


def test_bold_is_the_best_of_those_with_the_most_runs() -> None:
    frame = runs_of({("g", "none", "a"): [0.8, 0.8], ("g", "none", "b"): [0.7, 0.9], ("g", "none", "lucky"): [0.99]})
    text = to_text(frame)
    assert " **80.0 ± 0.0 (2)** |" in text
    assert " **80.0 ± 14.1 (2)** |" in text
    assert " 99.0 (1) |" in text


def test_a_mean_on_a_half_is_rounded_the_same_in_any_order_of_rows() -> None:
    numbers = [0.61, 0.62, 0.63, 0.6298, 0.6226, 0.6201, 0.6199, 0.6224, 0.6251, 0.6251]
    frame = runs_of({("g", "none", "a"): numbers})
    texts = {to_text(frame.sample(frac=1, random_state=seed)) for seed in range(8)}
    assert len(texts) == 1


def test_arrows_mark_what_is_significant_and_failures_are_shown() -> None:
    draws = default_rng(0).normal(0, 0.01, 10)
    values = {("g", "none", "a"): list(0.7 + draws), ("g", "none", "up"): list(0.8 + draws[::-1])}
    values["g", "none", "down"] = [*(0.6 + draws[::-1])[:9], np.nan]
    text = to_text(runs_of(values), baseline="a")
    assert "(10) ↑" in text
    assert "(9) ↓, failed: 1" in text
    assert "2 tests" in text
    latex = to_text(runs_of(values), "latex", baseline="a")
    assert r"\bfseries" in latex
    assert r"$\uparrow$" in latex
    assert "font-weight: bold" in to_text(runs_of(values), "html")
    assert to_text(runs_of(values), "csv", baseline="a").count("\n") == 4
    assert table(runs_of(values)).data.shape == (3, 1)


def test_a_table_of_two_protocols_says_so_and_compares_within_each() -> None:
    values = {("g", "none", "a"): [0.5, 0.6, 0.5], ("g", "none", "b"): [0.7, 0.7, 0.8]}
    both = pd.concat([runs_of(values), runs_of(values, protocol="paper")])
    text = to_text(both, baseline="a")
    assert "This table mixes protocols (paper, same labels)" in text
    assert "| b, protocol paper" in text
    assert (compare(both, "a")["n"] == 3).all()
    assert "Every method was handed the same labels." in to_text(runs_of(values))


def test_runs_of_two_settings_are_not_averaged() -> None:
    frame = runs_of({("g", "none", "a"): [0.5]})
    with pytest.raises(InvalidParameterError, match="several runs, of other settings or data"):
        summary(pd.concat([frame, frame.assign(settings="other")]))
    with pytest.raises(UnknownNameError, match="method among these runs"):
        compare(frame, "b")
    with pytest.raises(UnknownNameError, match="table format"):
        to_text(frame, "pdf")


def test_a_torn_line_is_ignored_and_mended_and_the_last_row_of_a_run_counts(tmp_path: Path) -> None:
    path, rows = tmp_path / "runs.jsonl", runs_of({("g", "none", "a"): [0.5, 0.6]}).to_dict("records")
    append_run(path, rows[0])
    with path.open("a") as file:
        file.write('{"dataset": "g", "noi')
    assert len(read_runs(path)) == 1
    append_run(path, rows[1])
    append_run(path, {**rows[0], "test_accuracy": 0.9})
    assert read_runs(path)["test_accuracy"].tolist() == [0.6, 0.9]
    path.write_text(path.read_text().replace('"dataset"', "dataset", 1))
    with pytest.raises(UnreadableFileError, match="cannot read runs"):
        read_runs(path)


def test_kept_runs_are_read_as_they_were(tmp_path: Path) -> None:
    frame = runs_of({("g", "none", "a"): [0.51234, np.nan], ("g", "none", "b"): [1 / 3, 0.5]}, data="00123e45")
    keep_runs(frame, tmp_path / "kept.csv")
    found = read_runs(tmp_path / "kept.csv")
    pd.testing.assert_frame_equal(found[list(frame)], frame, check_dtype=False, atol=1e-8)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(UnreadableFileError, match="has no column dataset"):
        read_runs(tmp_path / "other.csv")


def test_calibration_error_equals_its_definition() -> None:
    draws = default_rng(0)
    rows, truth = draws.dirichlet(np.ones(3), 200), draws.integers(0, 3, 200)
    confidence, hit, total = rows.max(axis=1), rows.argmax(axis=1) == truth, 0.0
    for low in np.arange(15) / 15:
        inside = (confidence > low) & (confidence <= low + 1 / 15)
        total += abs(hit[inside].sum() - confidence[inside].sum())
    assert calibration_error(rows, truth) == pytest.approx(total / 200)


def test_an_assessment_is_scored_against_the_truth() -> None:
    data, truth = split_own(tiny_data(), seed=0)
    codes = data.codes.clone()
    wrong = np.flatnonzero(data.known.numpy())[:6]
    codes[wrong] = (codes[wrong] + 1) % 3
    data = data.with_codes(codes, "six wrong labels")
    p_wrong = np.where(data.codes.numpy() != truth.codes.numpy(), 0.9, 0.1)
    found = evaluate_assessment(
        SimpleNamespace(
            probabilities=np.eye(3)[truth.codes.numpy()],
            classes=data.classes,
            p_wrong=p_wrong,
            noise=SimpleNamespace(rate=0.1, low=0.05, high=0.2),
            accuracy=SimpleNamespace(value=0.9),
            verdict=SimpleNamespace(level="trust"),
        ),
        data,
        truth,
    )
    assert (found["suspects_auroc"], found["noise_rate_true"], found["verdict"]) == (1.0, 6 / 48, "trust")
    assert (found["assessed_accuracy"], found["assessed_calibration_error"]) == (1.0, 0.0)
