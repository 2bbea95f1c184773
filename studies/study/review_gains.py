"""What a review of labels is worth: the first suspects against labels drawn at random."""

from typing import Final

import matplotlib as mpl
import pandas as pd
from matplotlib.figure import Figure

from quietgraph.bench.statistics import t_test_p
from study.blocks import block
from study.records import table
from study.words import fixed, graph, markdown, mean_std, p_value, setting, span

_ORDERS: Final = {"suspects": ("#0072B2", "-", "o"), "random": ("#777777", "--", "s")}
_COUNTS: Final = (40, 80, 160)


@block
def review_gains() -> str:
    """Return accuracies before, and how far suspects are ahead of chance by labels reviewed."""
    frame, rows = table("review-gains"), []
    for (dataset, noise), part in frame.groupby(["dataset", "noise"], sort=False):
        wide = part.pivot_table("accuracy", "seed", ["order", "count"])
        cells = [mean_std(wide["suspects", 0]), mean_std(wide["suspects", _COUNTS[1]])]
        for count in _COUNTS:
            ahead = 100 * (wide["suspects", count] - wide["random", count])
            p = p_value(t_test_p(ahead.to_numpy()))
            cells.append(f"{fixed(ahead.mean(), signed=True)} ({p})")
        rows.append([f"{graph(str(dataset))}, {setting(str(noise))}", *cells])
    heads = ["", "before", f"{_COUNTS[1]} suspects reviewed"]
    over = [f"{count}: suspects over random (p)" for count in _COUNTS]
    seeds = frame["seed"]
    n = span(list(frame.groupby(["dataset", "noise"])["seed"].nunique()))
    words = (
        f"`{frame['method'].iloc[0]}`, draws {seeds.min()}-{seeds.max()} (n = {n}). Test accuracy "
        "in percent, mean ± std; points, p of the paired t-test, uncorrected."
    )
    return f"{markdown([*heads, *over], rows)}\n\n{words}"


def review_curves() -> Figure:
    """Draw test accuracy against the number of labels that somebody looked at."""
    frame = table("review-gains")
    cells = list(frame.groupby(["dataset", "noise"], sort=False))
    rows = frame["dataset"].nunique()  # every dataset has the same noise settings
    width = len(cells) // rows
    with mpl.rc_context({"svg.hashsalt": "quietgraph", "font.size": 9, "axes.titlesize": 10}):
        figure = Figure(figsize=(0.7 + 2.5 * width, 0.4 + 2.5 * rows), layout="constrained")
        panels = figure.subplots(rows, width, squeeze=False).ravel()
        for axes, ((dataset, noise), part) in zip(panels, cells, strict=True):
            _draw(axes, part)
            axes.set_title(f"{graph(str(dataset))}, {setting(str(noise))}", loc="left")
        figure.supylabel("test accuracy (%), mean ± standard error", fontsize=9)
        figure.supxlabel("labels reviewed", fontsize=9)
        panels[0].legend(frameon=False)
    return figure


def _draw(axes: mpl.axes.Axes, part: pd.DataFrame) -> None:
    for order, (colour, dashes, marker) in _ORDERS.items():
        own = part[part["order"] == order]
        found = 100 * own.groupby("count")["accuracy"].agg(["mean", "sem"])
        axes.errorbar(
            range(len(found)),
            found["mean"],
            yerr=found["sem"].fillna(0),
            capsize=2,
            color=colour,
            linestyle=dashes,
            marker=marker,
            markersize=4,
            label="first suspects" if order == "suspects" else "drawn at random",
        )
        axes.set_xticks(range(len(found)), [str(count) for count in found.index])
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
