"""Summaries and tests of runs against their definitions."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from quietgraph.bench.statistics import (
    against,
    holm,
    mean_ranks,
    paired_tests,
    signed_rank_p,
    summarise,
    t_test_p,
)
from quietgraph.errors import InvalidParameterError, UnknownNameError

NAN = float("nan")


def runs(values: dict[str, list[float]], dataset: str = "cora", noise: str = "none"):
    """One row a run, seed = position; NaN is a failed run."""
    rows = [
        {
            "dataset": dataset,
            "noise": noise,
            "method": method,
            "seed": seed,
            "status": "failed" if math.isnan(value) else "done",
            "test_accuracy": value,
        }
        for method, column in values.items()
        for seed, value in enumerate(column)
    ]
    return pd.DataFrame(rows)


def signed_rank_p_slow(differences: np.ndarray) -> float:
    """Share of all 2^n ways to give signs that are at least as one-sided."""
    ranks = stats.rankdata(np.abs(differences))
    reached = ranks[differences > 0].sum()
    sums = [
        sum(rank for rank, plus in zip(ranks, signs, strict=True) if plus)
        for signs in itertools.product([0, 1], repeat=len(ranks))
    ]
    below, above = np.mean([s <= reached for s in sums]), np.mean([s >= reached for s in sums])
    return min(1.0, 2 * min(below, above))


def holm_slow(p_values: list[float]) -> list[float]:
    """The smallest level at which the step-down procedure rejects each hypothesis."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    for position, index in enumerate(order):
        steps = [(len(order) - i) * p_values[order[i]] for i in range(position + 1)]
        corrected[index] = min(1.0, max(steps))
    return corrected


def test_summary_has_mean_deviation_n_and_failures() -> None:
    (row,) = summarise(runs({"gcn": [0.7, 0.8, 0.9, NAN]})).to_dict("records")
    assert (row["n"], row["failed"], row["failures"]) == (3, 1, 1)
    assert (row["mean"], row["std"]) == pytest.approx((0.8, 0.1))


def test_summary_counts_each_end_of_a_run() -> None:
    frame = runs({"gcn": [NAN, NAN, NAN, NAN]})
    frame["status"] = ["failed", "timeout", "timeout", "out-of-memory"]
    (row,) = summarise(frame).to_dict("records")
    assert (row["failed"], row["timeout"], row["out_of_memory"], row["failures"]) == (1, 2, 1, 4)
    assert row["n"] == 0
    assert math.isnan(row["mean"])


def test_summary_of_one_run_has_no_deviation() -> None:
    assert summarise(runs({"gcn": [0.7]}))["std"].isna().all()


def test_a_value_of_a_run_that_failed_does_not_count() -> None:
    frame = runs({"gcn": [0.7, 0.1]})
    frame["status"] = ["done", "timeout"]
    assert summarise(frame)["mean"].tolist() == [0.7]


def test_paired_tests_equal_those_of_scipy() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.normal(0.8, 0.02, size=(2, 10))
    (row,) = paired_tests(runs({"a": list(a), "b": list(b)}), "a", "b").to_dict("records")
    assert row["difference"] == pytest.approx((a - b).mean())
    assert row["t_p"] == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert row["wilcoxon_p"] == pytest.approx(stats.wilcoxon(a, b).pvalue)
    assert (row["n"], row["wins"], row["losses"]) == (10, (a > b).sum(), (a < b).sum())


@pytest.mark.parametrize("seed", range(6))
def test_signed_rank_test_is_exact_with_ties(seed: int) -> None:
    differences = np.random.default_rng(seed).integers(-3, 6, size=9) / 100
    differences = differences[differences != 0]
    assert signed_rank_p(differences) == pytest.approx(signed_rank_p_slow(differences))


def test_signed_rank_test_of_many_differences_is_the_usual_approximation() -> None:
    differences = np.random.default_rng(0).normal(0.1, 1, size=60)
    assert signed_rank_p(differences) == pytest.approx(stats.wilcoxon(differences).pvalue)
    nearly = signed_rank_p(differences[:50])
    asymptotic = stats.wilcoxon(differences[:50], method="asymptotic").pvalue
    assert nearly == pytest.approx(asymptotic, abs=0.01)


def test_the_pair_swapped_gives_the_opposite_difference_and_the_same_p() -> None:
    frame = runs({"a": [0.1, 0.5, 0.4, 0.2], "b": [0.2, 0.1, 0.1, 0.3]})
    (there,) = paired_tests(frame, "a", "b").to_dict("records")
    (back,) = paired_tests(frame, "b", "a").to_dict("records")
    assert there["difference"] == -back["difference"]
    assert (there["t_p"], there["wilcoxon_p"]) == (back["t_p"], back["wilcoxon_p"])
    assert (there["wins"], there["losses"]) == (back["losses"], back["wins"])


def test_only_seeds_that_both_finished_are_paired() -> None:
    frame = runs({"a": [0.5, NAN, 0.7, 0.9], "b": [0.4, 0.1, NAN, 0.6]})
    (row,) = paired_tests(frame, "a", "b").to_dict("records")
    assert row["n"] == 2
    assert row["difference"] == pytest.approx(0.2)


@pytest.mark.parametrize(("a", "n"), [([0.5], 1), ([NAN], 0)])
def test_fewer_than_two_pairs_have_no_p_value(a: list[float], n: int) -> None:
    (row,) = paired_tests(runs({"a": a, "b": [0.4]}), "a", "b").to_dict("records")
    assert row["n"] == n
    assert math.isnan(row["t_p"])
    assert math.isnan(row["wilcoxon_p"])


def test_no_difference_at_all_has_the_p_value_one() -> None:
    same = [0.7, 0.8, 0.9]
    (row,) = paired_tests(runs({"a": same, "b": same}), "a", "b").to_dict("records")
    assert (row["t_p"], row["wilcoxon_p"], row["wins"], row["losses"]) == (1.0, 1.0, 0, 0)


def test_a_difference_that_never_varies_has_no_t_test() -> None:
    frame = runs({"a": [0.3, 0.8, 0.4], "b": [0.2, 0.7, 0.3]})  # equal but for rounding
    (row,) = paired_tests(frame, "a", "b").to_dict("records")
    assert math.isnan(row["t_p"])
    assert row["wilcoxon_p"] == pytest.approx(0.25)
    assert math.isnan(t_test_p(np.array([0.1, 0.1])))


def test_wins_follow_the_metric() -> None:
    frame = runs({"a": [0.1, 0.1], "b": [0.2, 0.3]}).rename(
        columns={"test_accuracy": "test_calibration_error"}
    )
    (row,) = paired_tests(frame, "a", "b", "test_calibration_error").to_dict("records")
    assert (row["wins"], row["losses"]) == (2, 0)
    assert row["difference"] < 0


@pytest.mark.parametrize("seed", range(4))
def test_holm_equals_its_step_down_procedure(seed: int) -> None:
    p_values = np.random.default_rng(seed).beta(0.3, 1, size=7).tolist()
    assert holm(p_values).tolist() == pytest.approx(holm_slow(p_values))


def test_holm_leaves_out_what_was_not_tested() -> None:
    np.testing.assert_allclose(holm([0.01, NAN, 0.04]), [0.02, NAN, 0.04])
    assert holm([]).tolist() == []


def test_all_others_are_compared_with_the_baseline_as_one_family() -> None:
    generator = np.random.default_rng(0)
    columns = dict(zip("abc", generator.normal(0.8, 0.02, size=(3, 6)).tolist(), strict=True))
    frame = pd.concat([runs(columns), runs(columns, noise="symmetric:0.4")])
    table = against(frame, "a")
    assert table["method"].tolist() == ["b", "c", "b", "c"]
    np.testing.assert_allclose(table["t_holm"], holm(table["t_p"]))
    np.testing.assert_allclose(table["wilcoxon_holm"], holm(table["wilcoxon_p"]))


def test_the_best_baseline_is_that_of_each_cell() -> None:
    clean = runs({"x": [0.9, 0.8], "gcn": [0.8, 0.8], "mlp": [0.5, 0.6]})
    noisy = runs({"x": [0.7, 0.6], "gcn": [0.3, 0.2], "mlp": [0.5, 0.6]}, noise="symmetric:0.4")
    table = against(pd.concat([clean, noisy]), ["gcn", "mlp"])
    assert table["baseline"].tolist() == ["gcn", "mlp"]
    assert table["method"].tolist() == ["x", "x"]


def test_the_best_baseline_is_chosen_and_tested_on_the_same_shared_draws() -> None:
    # Over its own draws mlp looks better (0.85 against 0.75); on draws 0 to 2 gcn does.
    frame = runs(
        {
            "x": [0.9, 0.8, 0.7, NAN, NAN],
            "gcn": [0.8, 0.7, 0.75, 0.7, 0.8],
            "mlp": [0.6, 0.7, 0.7, 0.99, 0.99],
            "never": [NAN] * 5,
        }
    )
    (row,) = against(frame, ["gcn", "mlp", "never"]).to_dict("records")
    assert (row["baseline"], row["n"]) == ("gcn", 3)
    assert row["difference"] == pytest.approx(0.05)


def test_a_draw_that_a_baseline_did_not_finish_decides_nothing() -> None:
    frame = runs({"x": [0.9, 0.8, 0.7], "gcn": [0.8, 0.7, 0.1], "mlp": [0.7, 0.7, NAN]})
    (row,) = against(frame, ["gcn", "mlp"]).to_dict("records")
    assert (row["baseline"], row["n"]) == ("gcn", 2)


def test_a_cell_without_a_finished_baseline_is_left_out() -> None:
    frame = pd.concat([runs({"x": [0.9], "gcn": [0.8]}), runs({"x": [0.9], "gcn": [NAN]}, "photo")])
    assert against(frame, "gcn")["dataset"].tolist() == ["cora"]


def test_a_baseline_alone_has_nobody_to_be_compared_with() -> None:
    assert against(runs({"gcn": [0.8, 0.9]}), "gcn").empty


def test_mean_ranks_share_ties_and_start_with_the_best() -> None:
    result = mean_ranks(runs({"a": [0.9, 0.9], "b": [0.9, 0.5], "c": [0.1, 0.7]}))
    assert result.ranks.to_dict() == {"a": 1.25, "b": 2.25, "c": 2.5}
    assert list(result.ranks.index) == ["a", "b", "c"]


def test_ranks_use_blocks_that_all_methods_finished() -> None:
    result = mean_ranks(runs({"a": [0.1, 0.9, NAN], "b": [0.9, 0.1, 0.5]}))
    assert result.num_blocks == 2


def test_the_friedman_test_equals_that_of_scipy() -> None:
    values = np.random.default_rng(1).normal(size=(4, 12)) + np.arange(4)[:, None]
    result = mean_ranks(runs(dict(zip("abcd", values.tolist(), strict=True))))
    assert result.friedman_p == pytest.approx(stats.friedmanchisquare(*values).pvalue)


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_the_critical_difference_uses_the_printed_nemenyi_values(methods: int, q: float) -> None:
    frame = runs({f"m{i:02}": np.linspace(0, 1, 14).tolist() for i in range(methods)})
    expected = q * math.sqrt(methods * (methods + 1) / (6 * 14))
    assert mean_ranks(frame).critical_difference == pytest.approx(expected, rel=5e-4)


def test_ranks_where_all_tie_tell_nothing() -> None:
    result = mean_ranks(runs({"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.5, 0.6]}))
    assert result.friedman_p == 1.0
    assert result.ranks.tolist() == [2.0, 2.0, 2.0]


def test_ranks_without_a_complete_block_are_not_numbers() -> None:
    result = mean_ranks(runs({"a": [0.5, NAN], "b": [NAN, 0.6], "c": [0.1, 0.2]}))
    assert result.num_blocks == 0
    assert result.ranks.isna().all()
    assert math.isnan(result.friedman_p)
    assert math.isnan(result.critical_difference)


def test_two_methods_have_no_friedman_test() -> None:
    assert math.isnan(mean_ranks(runs({"a": [0.5, 0.7], "b": [0.5, 0.6]})).friedman_p)


def test_two_runs_of_one_kind_are_not_summarised() -> None:
    frame = pd.concat([runs({"gcn": [0.5]}), runs({"gcn": [0.6]})])
    with pytest.raises(InvalidParameterError, match=r"gcn on cora .* has several runs"):
        summarise(frame)


@pytest.mark.parametrize("column", ["split", "protocol_version"])
def test_methods_on_different_splits_are_not_compared(column: str) -> None:
    frame = runs({"a": [0.5], "b": [0.6]}).assign(**{column: [1, 2]})
    with pytest.raises(InvalidParameterError, match="different splits"):
        summarise(frame)


def test_no_runs_are_not_summarised() -> None:
    with pytest.raises(InvalidParameterError, match="no runs"):
        summarise(runs({"gcn": [0.5]}).iloc[:0])


def test_an_unknown_metric_or_method_names_the_nearest() -> None:
    frame = runs({"gcn": [0.5], "s2gc": [0.6]})
    with pytest.raises(UnknownNameError, match="'test_accuracy'"):
        summarise(frame, "test_acuracy")
    with pytest.raises(UnknownNameError, match="'s2gc'"):
        paired_tests(frame, "gcn", "s2g")
