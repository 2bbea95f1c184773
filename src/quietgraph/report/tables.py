"""Runs as a table to print: methods down, datasets and noise across, with significance."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.bench.metrics import Metric, describe_metric
from quietgraph.bench.statistics import CELL, against, summarise
from quietgraph.errors import UnknownNameError
from quietgraph.report.table_formats import FORMATS, NAMES, Format

ALPHA = 0.05
_TESTS = ["baseline", "difference", "t_p", "t_holm", "wilcoxon_p", "wilcoxon_holm"]
_ENDS = {"failed": "failed", "timeout": "timeout", "out_of_memory": "out of memory"}
_MARKS = {"better": " ↑", "worse": " ↓", "": ""}


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
        format: `markdown`, `latex` (needs the package booktabs), `csv`, `json` or `html`.
        metric: Column that is shown.
        baseline: A method, or several of which the best of each column is compared with.
    """
    if format not in NAMES:
        raise UnknownNameError("table format", format, NAMES)
    baselines = [baseline] if isinstance(baseline, str) else list(baseline or [])
    cells = _judged(frame, metric, baselines)
    if format in {"csv", "json"}:
        names = ["method", *CELL, "metric", "mean", "std", "n", *_ENDS, "best", "mark", *_TESTS]
        cells = cells.round(dict.fromkeys(_TESTS[2:], 6))
        if format == "json":
            return cells[names].to_json(orient="records", indent=1)
        return cells[names].to_csv(index=False, lineterminator="\n")
    form, reading = FORMATS[format], describe_metric(metric)
    footnote = form.escape(_footnote(cells, reading, baselines))
    return form.table(_texts(cells, reading, form), 1) + form.notes([footnote])


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


def _texts(cells: pd.DataFrame, reading: Metric, form: Format) -> pd.DataFrame:
    """Return the text of every cell: methods down, (dataset, noise) across."""
    texts = {
        (cell["method"], cell["dataset"], cell["noise"]): _cell_text(cell, reading, form)
        for cell in cells.to_dict("records")
    }
    methods = dict.fromkeys(method for method, *_ in texts)
    places = sorted({key[1:] for key in texts}, key=lambda place: _place_order(*place))
    frame = pd.DataFrame({("", "method"): map(form.escape, methods)})
    for place in places:
        head = tuple(map(form.escape, place))
        frame[head] = [texts.get((method, *place), "-") for method in methods]
    return frame


def _place_order(dataset: str, noise: str) -> tuple[str, tuple[bool, str, float, str]]:
    return dataset, noise_order(noise)


def _cell_text(cell: dict[Any, Any], metric: Metric, form: Format) -> str:
    parts = []
    if cell["n"]:
        value = f"{cell['mean']:.{metric.decimals}f}"
        value += f" ± {cell['std']:.{metric.decimals}f}" if cell["n"] > 1 else ""
        shown = form.bold.format(form.escape(value)) if cell["best"] else form.escape(value)
        parts.append(shown + form.escape(f" ({cell['n']}){_MARKS[cell['mark']]}"))
    parts += [form.escape(f"{words}: {cell[end]}") for end, words in _ENDS.items() if cell[end]]
    return ", ".join(parts) or "-"


def _judged(frame: pd.DataFrame, metric: str, baselines: list[str]) -> pd.DataFrame:
    """Return one row per cell, in the order of the table: summary, tests, best or not, mark."""
    reading = describe_metric(metric)
    cells = summarise(frame, metric)
    if baselines:
        tests = against(frame, baselines, metric)
        cells = cells.merge(tests[[*CELL, "method", *_TESTS]], on=[*CELL, "method"], how="left")
    else:
        cells = cells.assign(**dict.fromkeys(_TESTS, np.nan))
    if reading.is_fraction:
        cells[["mean", "std", "difference"]] *= 100
    gain = cells["difference"] * (1 if reading.higher_is_better else -1)
    direction = np.where(gain > 0, "better", "worse")
    mark = np.where(cells["t_holm"] < ALPHA, direction, "")
    # Rounded once, here, so that all formats show the same digits.
    cells = cells.round(dict.fromkeys(["mean", "std", "difference"], reading.decimals))
    cells = cells.assign(best=_is_best(cells, reading), mark=mark, metric=metric)
    rank = {method: place for place, method in enumerate(baselines)}
    order = sorted(
        cells.index,
        key=lambda row: (
            rank.get(cells["method"][row], len(rank)),
            cells["method"][row],
            _place_order(cells["dataset"][row], cells["noise"][row]),
        ),
    )
    return cells.loc[order]


def _is_best(cells: pd.DataFrame, reading: Metric) -> "pd.Series[bool]":
    score = cells["mean"] * (1 if reading.higher_is_better else -1)
    most = cells.groupby(CELL)["n"].transform("max")
    eligible = cells[CELL].assign(score=score.where(cells["n"] == most))
    return eligible["score"] == eligible.groupby(CELL)["score"].transform("max")


def _footnote(cells: pd.DataFrame, reading: Metric, baselines: list[str]) -> str:
    counts = sorted(set(cells["n"]))
    numbers = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    unit = " in percent" if reading.is_fraction else ""
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
