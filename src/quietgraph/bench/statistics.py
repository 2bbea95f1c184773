"""Summaries and paired comparisons of runs, as functions of the table that `read_runs` gives.

A cell is one dataset, noise, split and protocol; in it seed s fixes split, noise and start for every method, so methods
are compared seed by seed. "Better" follows the metric.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from quietgraph.bench.metrics import describe_metric
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.types import FloatArray

CELL: Final = ["dataset", "noise", "split", "protocol"]
ALPHA: Final = 0.05
_DECIMALS: Final = 12  # differences below this are rounding: ties must be ties


def summary(runs: pd.DataFrame, metric: str = "test_accuracy") -> pd.DataFrame:
    """Return mean, std (ddof 1), n (finished runs that have the metric) and failed, one row per cell and method."""
    groups = _checked(runs, metric).groupby([*CELL, "method"])
    table = groups["value"].agg(["mean", "std", "count"]).rename(columns={"count": "n"})
    return table.assign(failed=groups["failed"].sum()).reset_index()


def compare(runs: pd.DataFrame, baseline: str | Sequence[str], metric: str = "test_accuracy") -> pd.DataFrame:
    """Return every other method against a baseline, cell by cell, on the seeds that both finished.

    Of several baselines, the best of each cell is compared with, chosen on the shared seeds. Columns: `difference` of
    means, `p` of the two-sided paired t-test, `p_holm` after Holm's correction over the whole table, `n` shared seeds,
    and on how many the method `wins` and `losses`. p is NaN with fewer than two seeds and where the differences do not
    vary, and 1 where there are none.
    """
    names = [baseline] if isinstance(baseline, str) else list(baseline)
    wide = _checked(runs, metric).pivot(index=[*CELL, "seed"], columns="method", values="value")  # noqa: PD010
    for name in names:
        if name not in wide.columns:
            raise UnknownNameError("method among these runs", name, map(str, wide.columns))
    sign, rows = (1 if describe_metric(metric).higher_is_better else -1), []
    for place, cell in wide.groupby(CELL):
        rivals = [name for name in names if cell[name].notna().any()]
        for method in cell.columns.difference(names) if rivals else []:
            shared = cell[[method, *rivals]].dropna()
            best = (sign * (shared if len(shared) else cell)[rivals].mean()).idxmax()
            gains = (shared[method] - shared[best]).to_numpy().round(_DECIMALS)
            row = dict(zip([*CELL, "method", "baseline"], [*place, method, best], strict=True))
            row |= {"difference": gains.mean() if len(gains) else np.nan, "p": _paired_p(gains), "n": len(gains)}
            rows.append(row | {"wins": int((sign * gains > 0).sum()), "losses": int((sign * gains < 0).sum())})
    table = pd.DataFrame(rows, columns=[*CELL, "method", "baseline", "difference", "p", "n", "wins", "losses"])
    return table.assign(p_holm=holm(table["p"]))


def holm(p_values: ArrayLike) -> FloatArray:
    """Return p-values corrected for being a family; NaN stays NaN and does not count."""
    values = np.asarray(p_values, dtype=np.float64)
    corrected = np.full_like(values, np.nan)
    order = np.argsort(values)[: np.count_nonzero(~np.isnan(values))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return corrected


class Ranks(NamedTuple):
    """Mean rank of each method over cells, 1 is best."""

    ranks: "pd.Series[float]"  # of the methods that finished a run in every cell, best first
    cells: int
    critical_difference: float  # Nemenyi's at 5 %: mean ranks that differ by less do not differ significantly
    incomplete: tuple[str, ...]  # methods without a finished run in some cell, which are not ranked


def ranks(runs: pd.DataFrame, metric: str = "test_accuracy") -> Ranks:
    """Return mean ranks over cells, not over seeds: ten draws of one graph are no ten datasets."""
    wide = summary(runs, metric).pivot(index=CELL, columns="method", values="mean").round(_DECIMALS)  # noqa: PD010
    complete = wide.dropna(axis="columns")
    cells, methods = complete.shape
    if methods == 0:
        raise InvalidParameterError(
            f"no method has a finished run in all {cells} cells. Narrow the runs to a full grid."
        )
    placed = complete.rank(axis=1, ascending=not describe_metric(metric).higher_is_better)
    spread = stats.studentized_range.ppf(1 - ALPHA, methods, np.inf) / np.sqrt(2) if methods > 1 else np.nan
    critical = float(spread * np.sqrt(methods * (methods + 1) / (6 * cells)))
    left_out = tuple(map(str, wide.columns.difference(complete.columns)))
    return Ranks(placed.mean().rename("rank").sort_values(kind="stable"), cells, critical, left_out)


def _checked(runs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return runs with their `value`, NaN unless done; raise where two runs stand for one."""
    for column in (*CELL, "method", "seed", "status", metric):
        if column not in runs.columns:
            raise UnknownNameError("column of runs", column, map(str, runs.columns))
    if runs.empty:
        raise InvalidParameterError("there are no runs to summarise. Run `quietgraph bench run`.")
    doubled = runs[runs.duplicated([*CELL, "method", "seed"], keep=False)]
    if len(doubled):
        dataset, noise, method, seed = doubled[["dataset", "noise", "method", "seed"]].iloc[0]
        raise InvalidParameterError(
            f"{method} on {dataset} with noise {noise} and seed {seed} has several runs, of other settings or data. "
            "Keep one kind, for example runs[runs['settings'] == ...]."
        )
    failed = runs["status"] != "done"
    return runs[[*CELL, "method", "seed"]].assign(value=pd.to_numeric(runs[metric]).mask(failed), failed=failed)


def _paired_p(gains: FloatArray) -> float:
    if len(gains) > 1 and np.ptp(gains) > 0:
        return float(stats.ttest_1samp(gains, 0.0).pvalue)
    return 1.0 if len(gains) > 1 and not gains.any() else np.nan
