"""Figures of a benchmark: accuracy against noise, and which mean ranks differ."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from quietgraph.bench.metrics import describe_metric
from quietgraph.bench.statistics import MeanRanks, summarise
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.files import write_file
from quietgraph.report.svg import to_svg
from quietgraph.report.tables import split_noise
from quietgraph.types import AnyArray

# Okabe and Ito's colours, which people with any kind of colour vision distinguish; an olive stands
# for their yellow, too pale on white. Marker and dashes differ too: colour never speaks alone.
_COLOURS = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D00",
)  # fmt: skip
_MARKERS = "os^DvPX"
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))  # a new one each time the colours are used up
_LINE, _STEP, _TOP = 4.2, 0.22, 3.8  # of the rank diagram: inches, inches a level, levels above
_INK, _PALE = "#222222", "#DDDDDD"
_STYLE: Any = {  # the stubs want each key as a literal
    "font.family": "DejaVu Sans",  # ships with matplotlib: the same everywhere
    "font.size": 9,
    "axes.edgecolor": "#888888",
    "axes.labelcolor": _INK,
    "axes.titlesize": 10,
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
    shown = _chosen(methods, sorted(set(points["method"])))
    kinds = sorted(set(points["kind"]) - {"none"}) or ["none"]
    datasets = sorted(set(points["dataset"]))
    with mpl.rc_context(_STYLE):
        height = max(0.8 + 2.4 * len(datasets), 0.3 + 0.2 * len(shown))  # panels, legend
        figure = Figure(figsize=(2.6 + 3.0 * len(kinds), height), layout="constrained")
        panels = figure.subplots(
            len(datasets), len(kinds), squeeze=False, sharex="col", sharey="row"
        )
        for column, kind in enumerate(kinds):
            curves = points[points["kind"].isin([kind, "none"])]
            words = "no noise" if kind == "none" else f"{kind} noise"
            ticks = sorted(set(curves["rate"] * 100))
            for row, dataset in enumerate(datasets):
                axes = panels[row, column]
                _draw_panel(axes, curves[curves["dataset"] == dataset], shown, metric)
                axes.set_title(f"{dataset}, {words}", loc="left")
                axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        _label_outside(figure, panels, metric)
    return figure


def critical_difference_diagram(result: MeanRanks) -> Figure:
    """Return mean ranks on a line; a bar joins methods that do not differ by the Nemenyi test.

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
    per_inch = (len(ranks) - 1) / _LINE
    levels = _levels(groups, ranks.to_numpy(), gap=0.15 * per_inch)
    names_top = -0.75 * (max(levels, default=-1) + 2) - 0.6
    bottom = names_top - (len(ranks) + 1) // 2
    side = 0.35 + 0.075 * (max(len(str(name)) for name in ranks.index) + 6)  # inches for names
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(_LINE + 2 * side, _STEP * (_TOP - bottom)))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(1 - side * per_inch, len(ranks) + side * per_inch)
        axes.set_ylim(bottom, _TOP)
        _draw_scale(axes, result)
        for level, group in zip(levels, groups, strict=True):
            heights = [-0.75 * (level + 1)] * 2
            axes.plot(ranks.iloc[list(group)], heights, color=_INK, lw=4, solid_capstyle="round")
        _draw_names(axes, ranks, top=names_top, reach=0.25 * per_inch)
    return figure


def save(figure: Figure, path: str | Path) -> None:
    """Write the figure as an SVG file, which appears whole or not at all."""
    if Path(path).suffix.lower() != ".svg":
        raise InvalidParameterError(f"figures are saved as SVG, got {path}. Name it NAME.svg.")
    write_file(path, to_svg(figure))


def _chosen(methods: Sequence[str] | None, known: list[str]) -> list[str]:
    for method in methods or []:
        if method not in known:
            raise UnknownNameError("method among these runs", method, known)
    return known if methods is None else list(methods)


def _points(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the summary with the kind and rate of its noise, where it has one rate and values."""
    split = [split_noise(text) for text in summary["noise"]]
    rates = np.array([rate for _, rate in split], dtype=float)  # None becomes NaN
    points = summary.assign(kind=[kind for kind, _ in split], rate=rates)
    points = points.dropna(subset=["rate", "mean"])
    if points.empty:
        raise InvalidParameterError(
            "no finished run has a noise with one rate, such as symmetric:0.4, to draw a curve of."
        )
    return points.sort_values("rate")


def _draw_panel(axes: Axes, points: pd.DataFrame, methods: list[str], metric: str) -> None:
    scale = 100.0 if describe_metric(metric).is_fraction else 1.0
    veil = 0.8 / max(6, len(methods))  # many bands over each other must not hide the curves
    for index, method in enumerate(methods):
        curve = points[points["method"] == method]
        rates = curve["rate"].to_numpy() * 100
        mean = curve["mean"].to_numpy() * scale
        std = curve["std"].fillna(0.0).to_numpy() * scale
        colour = _COLOURS[index % len(_COLOURS)]
        axes.fill_between(rates, mean - std, mean + std, color=colour, alpha=veil, lw=0)
        axes.plot(
            rates, mean, color=colour, ls=_DASHES[index // len(_COLOURS) % len(_DASHES)], lw=1.5,
            marker=_MARKERS[index % len(_MARKERS)], ms=5.5, mec="white", mew=0.5, label=method,
        )  # fmt: skip
    axes.grid(axis="y", color=_PALE, lw=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    axes.yaxis.set_major_locator(MaxNLocator(5))


def _label_outside(figure: Figure, panels: Any, metric: str) -> None:
    reading = describe_metric(metric)
    figure.supxlabel("noise rate (%)", fontsize=9)
    figure.supylabel(f"{reading.words}{' (%)' if reading.is_fraction else ''}", fontsize=9)
    handles, names = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside right upper", frameon=False)


def _alike(ranks: AnyArray, critical: float) -> list[tuple[int, int]]:
    """Return the longest runs (first, last) of sorted ranks without a significant difference."""
    groups: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + critical, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return groups


def _levels(groups: list[tuple[int, int]], ranks: AnyArray, *, gap: float) -> list[int]:
    """Return a level for each bar, the first on which it keeps clear of the bars before it."""
    levels: list[int] = []
    ends: list[float] = []  # where the last bar of each level ends
    for first, last in groups:
        free = (level for level, end in enumerate(ends) if end + gap < ranks[first])
        level = next(free, len(ends))
        ends[level : level + 1] = [ranks[last]]
        levels.append(level)
    return levels


def _draw_scale(axes: Axes, result: MeanRanks) -> None:
    count = len(result.ranks)
    axes.plot([1, count], [0, 0], color=_INK, lw=1)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.3], color=_INK, lw=1)
        axes.text(tick, 0.45, str(tick), ha="center", va="bottom")
    critical = result.critical_difference
    axes.plot([1, 1 + critical], [2.0, 2.0], color=_INK, lw=1, marker="|", ms=7)
    basis = f"(Nemenyi, p = {result.alpha}, {result.num_blocks} blocks)"
    axes.text(1, 2.4, f"critical difference {critical:.2f} {basis}", ha="left", va="bottom")


def _draw_names(axes: Axes, ranks: "pd.Series[float]", *, top: float, reach: float) -> None:
    """Draw the better half of the names to the left, the worse to the right, each with its rank."""
    left = (len(ranks) + 1) // 2
    for index, (method, rank) in enumerate(ranks.items()):
        is_left = index < left
        level = top - (index if is_left else len(ranks) - 1 - index)
        side = 1 - reach if is_left else len(ranks) + reach
        axes.plot([rank, rank, side], [0, level, level], color="#777777", lw=0.8, zorder=1)
        words = f"{method}  {rank:.2f} " if is_left else f" {rank:.2f}  {method}"
        axes.text(side, level, words, ha="right" if is_left else "left", va="center")
