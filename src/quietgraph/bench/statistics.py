"""Summaries and paired comparisons of runs, as functions of the table that a store gives.

A cell is one (dataset, noise); in it, seed s fixes split, noise draw and initialisation for every
method, so methods are compared seed by seed. "Better" follows the metric: higher accuracy, but
lower calibration error or time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special, stats

from quietgraph.bench.metrics import METRICS, describe_metric
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.types import AnyArray, FloatArray

CELL = ["dataset", "noise"]
_RUN = [*CELL, "method", "seed"]
_SAME_FOR_A_DRAW = ("split", "protocol_version")
_TESTED = ["difference", "t_p", "wilcoxon_p", "n", "wins", "losses"]
_ALPHA = 0.05  # level of the critical difference
_DECIMALS = 12  # differences below this are rounding, not results: ties must be ties


def summarise(frame: pd.DataFrame, metric: str = "test_accuracy") -> pd.DataFrame:
    """Return mean, std (ddof 1), n and failures, one row per (dataset, noise, method).

    `n` counts finished runs that have the metric; `failed`, `timeout` and `out_of_memory` count
    the others by their end, `failures` all of them. No value gives mean NaN, one gives std NaN.
    """
    runs = check_runs(frame, metric)
    ends = {"failed": "failed", "timeout": "timeout", "out_of_memory": "out-of-memory"}
    for name, status in ends.items():
        runs[name] = runs["status"] == status
    groups = runs.groupby([*CELL, "method"], sort=True)
    table = groups["value"].agg(["mean", "std", "count"]).rename(columns={"count": "n"})
    counts = groups[list(ends)].sum()
    return table.join(counts).assign(failures=counts.sum(axis=1)).reset_index()


def paired_tests(
    frame: pd.DataFrame, method_a: str, method_b: str, metric: str = "test_accuracy"
) -> pd.DataFrame:
    """Return how a differs from b on the seeds that both finished, one row per (dataset, noise).

    Columns: `difference` (mean of a - b), `t_p` (paired t-test), `wilcoxon_p` (signed ranks, seeds
    without a difference dropped), both two-sided; `n` shared seeds; on how many a `wins` and
    `losses`. Degenerate cases: fewer than two shared seeds give p = NaN; differences that are all
    zero give p = 1; differences that are all the same number leave the t-test without a variance,
    so `t_p` is NaN (it would be 0 for a method that ignores its seed, which proves nothing).
    """
    wide = _by_draw(frame, metric)
    for method in (method_a, method_b):
        _check_method(wide, method)
    cells = wide.groupby(CELL)
    return _table([_test_pair(cell, place, method_a, method_b, metric) for place, cell in cells])


def against(
    frame: pd.DataFrame, baseline: str | Sequence[str], metric: str = "test_accuracy"
) -> pd.DataFrame:
    """Return every other method against a baseline, cell by cell, corrected over all of them.

    The rows are those of `paired_tests`, with `t_holm` and `wilcoxon_holm`: p-values after Holm's
    correction over the whole table. A cell in which no baseline finished has no rows.

    Args:
        frame: One row a run.
        baseline: One method; or several, of which the best of each cell is compared with: the
            draws that the method and every baseline of the cell finished decide which is best,
            and the test uses the same draws.
        metric: Column that is compared.
    """
    names = [baseline] if isinstance(baseline, str) else list(baseline)
    wide = _by_draw(frame, metric)
    for name in names:
        _check_method(wide, name)
    rows = [
        _against_best(cell, place, method, names, metric)
        for place, cell in wide.groupby(CELL)
        for method in wide.columns.difference(names)
        if cell[names].notna().any(axis=None)
    ]
    table = _table(rows)
    return table.assign(t_holm=holm(table["t_p"]), wilcoxon_holm=holm(table["wilcoxon_p"]))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values corrected for being a family; NaN stays NaN and does not count.

    Sorted upwards, the i-th of m (from 0) is multiplied by m - i, and never falls below the
    corrected one before it nor rises above 1.
    """
    values = np.asarray(p_values, dtype=np.float64)
    corrected = np.full_like(values, np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return corrected


@dataclass(frozen=True)
class MeanRanks:
    """Mean rank of each method (1 is best) and what difference of ranks means something."""

    ranks: pd.Series  # indexed by method, best first
    num_blocks: int
    friedman_p: float
    critical_difference: float
    alpha: float


def mean_ranks(frame: pd.DataFrame, metric: str = "test_accuracy") -> MeanRanks:
    """Return mean ranks over the (dataset, noise, seed) blocks that every method finished.

    Equal values share their mean rank. The critical difference is Nemenyi's: two methods whose mean
    ranks differ by less do not differ significantly at the 5 % level. Without a complete block
    ranks and differences are NaN; Friedman's p is NaN with fewer than three methods or two
    blocks, and 1 where all methods tie in every block.
    """
    wide = _by_draw(frame, metric)
    blocks = wide.dropna().round(_DECIMALS)
    ranks = blocks.rank(axis=1, ascending=not describe_metric(metric).higher_is_better)
    num_methods, num_blocks = wide.shape[1], len(blocks)
    critical = float("nan")
    if num_methods > 1 and num_blocks:
        spread = stats.studentized_range.ppf(1 - _ALPHA, num_methods, np.inf) / np.sqrt(2)
        critical = float(spread * np.sqrt(num_methods * (num_methods + 1) / (6 * num_blocks)))
    return MeanRanks(
        ranks=ranks.mean().rename("rank").sort_values(kind="stable"),
        num_blocks=num_blocks,
        friedman_p=_friedman_p(ranks.to_numpy()),
        critical_difference=critical,
        alpha=_ALPHA,
    )


def check_runs(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return one row a run with its `value` (NaN unless done); raise where runs do not compare."""
    for column in (*_RUN, "status", metric):
        if column not in frame.columns:
            raise UnknownNameError("column of runs", column, {*map(str, frame.columns), *METRICS})
    if frame.empty:
        raise InvalidParameterError("there are no runs to summarise. Run `quietgraph bench run`.")
    doubled = frame[frame.duplicated(_RUN, keep=False)]
    if len(doubled):
        raise InvalidParameterError(
            f"{_name_run(doubled)} has several runs, of other parameters, split or protocol. "
            "Keep one kind before comparing, e.g. with a filter on parameters."
        )
    columns = [name for name in _SAME_FOR_A_DRAW if name in frame.columns]
    kinds = frame.groupby([*CELL, "seed"])[columns].transform("nunique") if columns else frame[[]]
    mixed = frame[(kinds > 1).any(axis=1)]
    if len(mixed):
        raise InvalidParameterError(
            f"{_name_run(mixed)} and another method ran on different splits or protocols, so they "
            "do not compare. Keep one kind, e.g. with a filter on split."
        )
    value = frame[metric].astype(float).where(frame["status"] == "done")
    return frame[[*_RUN, "status"]].assign(value=value)


def _name_run(frame: pd.DataFrame) -> str:
    dataset, noise, method, seed = (frame[name].iloc[0] for name in _RUN)
    return f"{method} on {dataset} with noise {noise} and seed {seed}"


def _by_draw(frame: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return values indexed by (dataset, noise, seed), one column per method."""
    runs = check_runs(frame, metric)
    return runs.set_index([*CELL, "seed", "method"])["value"].unstack()  # noqa: PD010


def _check_method(wide: pd.DataFrame, method: str) -> None:
    if method not in wide.columns:
        raise UnknownNameError("method among these runs", method, map(str, wide.columns))


def _against_best(
    cell: pd.DataFrame, place: object, method: str, baselines: list[str], metric: str
) -> dict[str, object]:
    """Return the comparison with the best baseline on the draws that all of them share."""
    ran = [name for name in baselines if cell[name].notna().any()]
    shared = cell[[method, *ran]].dropna()
    means = (cell if shared.empty else shared)[ran].mean()
    best = means.idxmax() if describe_metric(metric).higher_is_better else means.idxmin()
    return _test_pair(shared, place, method, str(best), metric)


def _test_pair(cell: pd.DataFrame, place: Any, a: str, b: str, metric: str) -> dict[str, object]:
    names = {**dict(zip(CELL, place, strict=True)), "method": a, "baseline": b}
    higher = describe_metric(metric).higher_is_better
    return names | _compare(cell[a].to_numpy(), cell[b].to_numpy(), higher=higher)


def _table(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*CELL, "method", "baseline", *_TESTED])


def _compare(a: AnyArray, b: AnyArray, *, higher: bool) -> dict[str, float | int]:
    differences = np.round(a - b, _DECIMALS)
    differences = differences[~np.isnan(differences)]
    gains = differences if higher else -differences
    t_p, wilcoxon_p = _p_values(differences)
    return {
        "difference": float(differences.mean()) if len(differences) else float("nan"),
        "t_p": t_p,
        "wilcoxon_p": wilcoxon_p,
        "n": len(differences),
        "wins": int((gains > 0).sum()),
        "losses": int((gains < 0).sum()),
    }


def _p_values(differences: AnyArray) -> tuple[float, float]:
    if len(differences) < 2:
        return float("nan"), float("nan")
    if not differences.any():
        return 1.0, 1.0
    return t_test_p(differences), signed_rank_p(differences[differences != 0])


def t_test_p(differences: AnyArray) -> float:
    """Return the two-sided p-value of the paired t-test; NaN where the differences do not vary."""
    if np.ptp(differences) == 0:
        return float("nan")
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    # special.stdtr, not stats.ttest_rel: the same number, some fifteen times faster on ten seeds.
    return float(2 * special.stdtr(len(differences) - 1, -abs(differences.mean()) / error))


def signed_rank_p(differences: AnyArray) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test; no difference may be zero.

    Exact up to 50 differences, ties included: each rank is a plus or a minus with probability 1/2.
    (SciPy enumerates all signs where there are ties: the same number in 0.4 s instead of 1 ms.)
    """
    if len(differences) > 50:
        return float(stats.wilcoxon(differences).pvalue)
    doubled = np.rint(2 * stats.rankdata(np.abs(differences))).astype(int)  # tied ranks are halves
    probabilities = np.ones(1)  # of each sum of the ranks with a plus
    for rank in doubled:
        probabilities = (np.pad(probabilities, (0, rank)) + np.pad(probabilities, (rank, 0))) / 2
    reached = doubled[differences > 0].sum()
    return float(
        min(1.0, 2 * min(probabilities[: reached + 1].sum(), probabilities[reached:].sum()))
    )


def _friedman_p(ranks: AnyArray) -> float:
    num_blocks, num_methods = ranks.shape
    if num_methods < 3 or num_blocks < 2:
        return float("nan")
    if np.ptp(ranks, axis=1).max() == 0:
        return 1.0
    return float(stats.friedmanchisquare(*ranks.T).pvalue)
