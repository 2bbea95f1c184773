"""Figures of a benchmark: accuracy against noise, and which mean ranks differ."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from quietgraph.bench.metrics import describe_metric
from quietgraph.bench.statistics import MeanRanks, summarise
from quietgraph.bench.store_file import write_whole
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.report.tables import split_noise

# Okabe and Ito's colours, told apart by people with any kind of colour vision. Eight colours and
# seven markers give 56 different pairs, so that colour never carries the meaning alone.
_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D00",
)  # fmt: skip
_MARKERS = "os^DvPX"
_INK, _PALE = "#222222", "#DDDDDD"
_STYLE: dict[str, Any] = {
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same everywhere
    "font.size": 9,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
    "svg.hashsalt": "quietgraph",  # ids in the file do not change from run to run
    "text.color": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
}


def noise_curves(
    frame: pd.DataFrame, *, metric: str = "test_accuracy", methods: Sequence[str] | None = None
) -> Figure:
    """Return mean ± std against the noise rate, one panel per dataset (down) and kind (across).

    Runs without noise are the point at rate 0 of every kind. Settings without one single rate
    (custom matrices, label and attribute noise together) have no place on the axis and are left
    out.

    Args:
        frame: One row a run.
        metric: Column that is shown.
        methods: Methods shown, in this order; all by default.
    """
    points = _points(summarise(frame, metric))
    known = sorted(set(points["method"]))
    shown = list(known if methods is None else methods)
    for method in shown:
        if method not in known:
            raise UnknownNameError("method among these runs", method, known)
    kinds = sorted(set(points["kind"]) - {"none"}) or ["none"]
    datasets = sorted(set(points["dataset"]))
    with mpl.rc_context(_STYLE):
        size = (1.2 + 3.0 * len(kinds) + 1.4, 0.9 + 2.3 * len(datasets))
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(
            len(datasets), len(kinds), squeeze=False, sharex="col", sharey="row"
        )
        for row, dataset in enumerate(datasets):
            here = points[points["dataset"] == dataset]
            for column, kind in enumerate(kinds):
                curves = here[here["kind"].isin([kind, "none"])]
                _draw_panel(panels[row, column], curves, shown, metric)
                panels[row, column].set_title(f"{dataset}, {kind} noise", loc="left")
        _label_outside(figure, panels, metric)
    return figure


def critical_difference_diagram(result: MeanRanks) -> Figure:
    """Return mean ranks on a line; a bar joins methods that the Nemenyi test does not tell apart.

    Args:
        result: As from `quietgraph.bench.statistics.mean_ranks`.
    """
    ranks = result.ranks
    if len(ranks) < 2 or ranks.isna().any():
        raise InvalidParameterError(
            f"a critical difference needs two methods and a (dataset, noise, seed) that all "
            f"finished, got {len(ranks)} methods and {result.num_blocks} complete blocks."
        )
    groups = _alike(ranks.to_numpy(), result.critical_difference)
    depth = (len(ranks) + 1) // 2
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(7.2, 1.3 + 0.2 * len(groups) + 0.24 * depth), layout="constrained")
        axes = figure.subplots()
        _draw_scale(axes, result)
        for level, (first, last) in enumerate(groups):
            ends = ranks.iloc[first] - 0.04, ranks.iloc[last] + 0.04
            axes.plot(ends, [-0.75 - 0.8 * level] * 2, color=_INK, lw=3.5, solid_capstyle="round")
        _draw_names(axes, ranks, top=-0.75 - 0.8 * len(groups) - 0.5)
    return figure


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG text: the same figure gives the same text, letter for letter."""
    buffer = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()


def save(figure: Figure, path: str | Path) -> None:
    """Write the figure as an SVG file, which appears whole or not at all."""
    if Path(path).suffix.lower() != ".svg":
        raise InvalidParameterError(f"figures are saved as SVG, got {path}. Name it NAME.svg.")
    write_whole(path, to_svg(figure))


def _points(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary with the kind and rate of its noise, where it has one rate and values."""
    split = [split_noise(text) for text in summary["noise"]]
    points = summary.assign(kind=[kind for kind, _ in split], rate=[rate for _, rate in split])
    points = points.astype({"rate": float}).dropna(subset=["rate", "mean"])
    if points.empty:
        raise InvalidParameterError(
            "no finished run has a noise with one rate, such as symmetric:0.4, to draw a curve of."
        )
    return points.sort_values("rate")


def _draw_panel(axes: Axes, points: pd.DataFrame, methods: list[str], metric: str) -> None:
    scale = 100.0 if describe_metric(metric).is_share else 1.0
    for index, method in enumerate(methods):
        curve = points[points["method"] == method]
        rates = curve["rate"].to_numpy() * 100
        mean = curve["mean"].to_numpy() * scale
        std = curve["std"].fillna(0.0).to_numpy() * scale
        colour = _COLOURS[index % len(_COLOURS)]
        axes.fill_between(rates, mean - std, mean + std, color=colour, alpha=0.13, lw=0)
        axes.plot(
            rates, mean, color=colour, marker=_MARKERS[index % len(_MARKERS)], ms=5, lw=1.5,
            mec="white", mew=0.6, label=method,
        )  # fmt: skip
    axes.grid(axis="y", color=_PALE, lw=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.xaxis.set_major_formatter(PercentFormatter(decimals=0, symbol=" %"))
    axes.set_xticks(sorted(set(points["rate"] * 100)))
    axes.yaxis.set_major_locator(MaxNLocator(5))


def _label_outside(figure: Figure, panels: Any, metric: str) -> None:
    reading = describe_metric(metric)
    figure.supxlabel("noise rate", fontsize=9)
    figure.supylabel(f"{reading.words}{' (%)' if reading.is_share else ''}", fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False)


def _alike(ranks: np.ndarray[Any, Any], critical: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of sorted ranks whose ends are not told apart."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + critical, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _draw_scale(axes: Axes, result: MeanRanks) -> None:
    count = len(result.ranks)
    axes.set_axis_off()
    axes.plot([1, count], [0, 0], color=_INK, lw=1)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.25], color=_INK, lw=1)
        axes.text(tick, 0.4, str(tick), ha="center", va="bottom")
    critical = result.critical_difference
    axes.errorbar(1 + critical / 2, 2.0, xerr=critical / 2, color=_INK, lw=1, capsize=3)
    words = f"critical difference {critical:.2f} (Nemenyi, {result.num_blocks} blocks)"
    axes.text(1 + critical / 2, 2.3, words, ha="left", va="bottom")


def _draw_names(axes: Axes, ranks: "pd.Series[float]", *, top: float) -> None:
    left = (len(ranks) + 1) // 2
    margin = 0.06 * (len(ranks) - 1)
    for index, (method, rank) in enumerate(ranks.items()):
        on_left = index < left
        level = top - (index if on_left else len(ranks) - 1 - index)
        side = 1 - margin if on_left else len(ranks) + margin
        axes.plot([rank, rank, side], [0, level, level], color="#777777", lw=0.8)
        words = f"{method}  {rank:.2f}" if on_left else f"{rank:.2f}  {method}"
        axes.text(
            side + (-0.3 if on_left else 0.3) * margin, level, words,
            ha="right" if on_left else "left", va="center",
        )  # fmt: skip
