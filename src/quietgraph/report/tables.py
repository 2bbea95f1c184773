"""Runs as a table to print: methods down, datasets and noise across, with significance."""

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd

from quietgraph.bench.metrics import Metric, describe_metric
from quietgraph.bench.statistics import CELL, against, summarise
from quietgraph.errors import UnknownNameError
from quietgraph.report.table_formats import FORMATS, TESTS, Table

ALPHA = 0.05


def render_table(
    frame: pd.DataFrame,
    *,
    format: str = "markdown",  # noqa: A002
    metric: str = "test_accuracy",
    baseline: str | Sequence[str] | None = None,
) -> str:
    """Return runs as a table of `mean ± std (n)`, with failures, best means and significance.

    Shares are in percent with one decimal. The best mean of a column is bold, among the methods
    with the most finished runs there. With a baseline, an arrow marks what is significantly better
    or worse: paired t-test on shared seeds, Holm correction over the table, p < 0.05. A footnote
    says all that. CSV has one line per cell and the same facts as columns, for programs to read.

    Args:
        frame: One row a run, as `Store.to_frame` gives.
        format: `markdown`, `latex` (needs the package booktabs), `csv` or `html`.
        metric: Column that is shown.
        baseline: A method, or several of which the best of each column is compared with.
    """
    if format not in FORMATS:
        raise UnknownNameError("table format", format, FORMATS)
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or [])
    return FORMATS[format](_build(frame, metric, baselines))


def split_noise(text: str) -> tuple[str, float | None]:
    """Return kind and rate of a canonical noise text; no rate where it has none or several.

    `symmetric:0.4+exact-count` gives (`symmetric+exact-count`, 0.4); `none` has the rate 0.
    """
    if text == "none":
        return text, 0.0
    rates = re.findall(r":([0-9.]+)(?=\+|$)", text)
    kind = re.sub(r":[0-9.]+(?=\+|$)", "", text)
    return (kind, float(rates[0])) if len(rates) == 1 and ":" not in kind else (text, None)


def noise_order(text: str) -> tuple[bool, str, float, str]:
    """Return what sorts noise texts: none first, then by kind, then by rate."""
    kind, rate = split_noise(text)
    return kind != "none", kind, rate or 0.0, text


def _build(frame: pd.DataFrame, metric: str, baselines: list[str]) -> Table:
    reading = describe_metric(metric)
    cells = _judged(frame, metric, baselines)
    others = sorted(set(cells["method"]) - set(baselines))
    methods = [*baselines, *others]
    places = list(zip(cells["dataset"], cells["noise"], strict=True))
    columns = sorted(set(places), key=lambda column: (column[0], noise_order(column[1])))
    keys = [
        (methods.index(method), columns.index(place))
        for method, place in zip(cells["method"], places, strict=True)
    ]
    cells = cells.iloc[sorted(range(len(keys)), key=keys.__getitem__)]
    return Table(cells, methods, columns, _footnote(cells, reading, baselines), reading)


def _judged(frame: pd.DataFrame, metric: str, baselines: list[str]) -> pd.DataFrame:
    """Return one row per (dataset, noise, method): summary, tests, whether it is best, its mark."""
    reading = describe_metric(metric)
    cells = summarise(frame, metric)
    if baselines:
        tests = against(frame, baselines, metric)
        cells = cells.merge(tests[[*CELL, "method", *TESTS]], on=[*CELL, "method"], how="left")
    else:
        cells = cells.assign(**dict.fromkeys(TESTS, np.nan))
    if reading.is_share:
        cells[["mean", "std", "difference"]] *= 100
    gain = cells["difference"] * (1 if reading.higher_is_better else -1)
    direction = np.where(gain > 0, "better", "worse")
    mark = np.where(cells["t_holm"] < ALPHA, direction, "")
    # Rounded once, here, so that all formats show the same digits.
    cells = cells.round(dict.fromkeys(["mean", "std", "difference"], reading.decimals))
    return cells.assign(best=_is_best(cells, reading), mark=mark, metric=metric)


def _is_best(cells: pd.DataFrame, reading: Metric) -> "pd.Series[bool]":
    score = cells["mean"] * (1 if reading.higher_is_better else -1)
    most = cells.groupby(CELL)["n"].transform("max")
    eligible = cells[CELL].assign(score=score.where(cells["n"] == most))
    return eligible["score"] == eligible.groupby(CELL)["score"].transform("max")


def _footnote(cells: pd.DataFrame, reading: Metric, baselines: list[str]) -> str:
    counts = sorted(set(cells["n"]))
    numbers = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    unit = " in percent" if reading.is_share else ""
    sentences = [
        f"{reading.words[0].upper()}{reading.words[1:]}{unit}: mean ± standard deviation "
        f"(n finished runs, one a seed), n = {numbers}.",
        "Bold: the best mean among the methods with the most finished runs of a column.",
    ]
    if baselines:
        names = ", ".join(baselines)
        rival = names if len(baselines) == 1 else f"the best of {names} in the column"
        sentences.append(
            f"↑ ↓: significantly better, worse than {rival} (paired t-test on shared seeds, p < "
            f"{ALPHA} after Holm's correction; {cells['t_holm'].notna().sum()} tests in all)."
        )
    if cells["failures"].any():
        sentences.append("Failed, timeout, out of memory: runs that ended so; no mean has them.")
    return " ".join(sentences)
