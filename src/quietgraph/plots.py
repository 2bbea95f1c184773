"""Plots with matplotlib: each draws values on given axes, or on new ones, and returns the axes.

qg.plots.training(model.fitted_.history)
qg.plots.noise_matrix(result.noise.matrix, result.classes, ax=axes[0])

Every line differs in colour and in dashes or marker, for print and for any colour vision.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from quietgraph.errors import InvalidParameterError
from quietgraph.rng import numpy_generator
from quietgraph.types import AnyArray, Float32Array, FloatArray

# Okabe and Ito's colours; an olive stands for their yellow, which is too pale on white.
COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D00")
RED, BLUE, GREY = "#c1121f", "#2f6fd0", "#777777"
_DASHES: Final = ("-", "--", "-.", ":")
_MARKERS: Final = "os^DvPX"
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALLEST: Final = 1e-6  # of the largest eigenvalue; below lies rounding
_DIRECTIONS, _ANCHORS, _FEWEST = 32, 800, 60  # of the map: leading directions, nodes that t-SNE places, too few for it


def training(history: Sequence[Mapping[str, float]], ax: Axes | None = None) -> Axes:
    """Draw the losses against the epoch; `history` is `model.fitted_.history`."""
    if not history:
        raise InvalidParameterError("there are no epochs to show. Choose a method that trains.")
    axes = _axes(ax)
    losses = pd.DataFrame([*history])
    for index, name in enumerate(name for name in history[-1] if name not in {"seconds", "score"}):
        axes.plot(losses[name].dropna(), label=name, **_line(index))
    return _finished(axes, "epoch", "loss")


def calibration(
    confidence: AnyArray, right: AnyArray, expected: AnyArray | None = None, ax: Axes | None = None
) -> Axes:
    """Draw how often predictions are `right` [nodes] against their `confidence` [nodes]; a dot's area is their number.

    Where the labels may be wrong, `expected` is the probability that a prediction agrees with its label [nodes].
    """
    axes = _axes(ax)
    axes.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":", label="perfect calibration")
    nodes = pd.DataFrame({"across": confidence, "hits": right, "expected": expected}, dtype=float)
    bins = nodes.groupby((10 * nodes["across"]).astype(int).clip(upper=9))
    means, counts = bins.mean(), bins.size()
    axes.plot(means["across"], means["hits"], label="this model", **_line(0))
    if expected is not None:
        axes.plot(means["across"], means["expected"], label="expected at this noise", **_line(1))
    axes.scatter(means["across"], means["hits"], s=12 + 140 * counts / counts.max(), color=COLOURS[0], alpha=0.75)
    axes.set(xlim=(0, 1.05), ylim=(0, 1.08))
    return _finished(axes, "confidence", "fraction that agrees")


def coverage(confidence: AnyArray, right: AnyArray, ax: Axes | None = None) -> Axes:
    """Draw the accuracy of the most confident predictions against their share; arguments as of `calibration`."""
    axes, order = _axes(ax), np.argsort(-confidence, kind="stable")
    count = np.arange(1, len(order) + 1)
    axes.plot(count / len(order), np.cumsum(right[order]) / count, **_line(0))
    axes.set(xlim=(0, 1.05))
    return _finished(axes, "fraction of nodes answered", "accuracy")


def spectrum(before: Any, after: Any = None, ax: Axes | None = None) -> Axes:
    """Draw eigenvalues as fractions of the largest: `Spectrum` of a kernel, and of another such as after attention."""
    axes = _axes(ax)
    for one, name, style in ((before, "K", _line(0, "o")), (after, "after attention", _line(1, "^"))):
        if one is not None:
            fractions = np.asarray(one.eigenvalues / one.eigenvalues[0])
            _curve(axes, fractions[fractions >= _SMALLEST], name, style)
    _powers_of_ten(axes, "y")
    return _finished(axes, "rank", "eigenvalue / largest")


def projections(signal: Any, noise: Any = None, ax: Axes | None = None) -> Axes:
    """Draw how much of the labels, and of their noise, each direction holds; both are `Projection`s."""
    axes = _axes(ax)
    if noise is not None:  # points under a line: two jagged lines would hide each other
        points = {"color": BLUE, "ls": "none", "marker": "s", "ms": 2.4, "markevery": 1}
        _curve(axes, noise.scores, "label noise", points)
    _curve(axes, signal.scores, "labels", {"color": RED, "lw": 0.9})
    axes.axhline(1 / signal.num_nodes, color=GREY, ls=":")
    _powers_of_ten(axes, "y")
    return _finished(axes, "rank", "eigen-projection")


def concentration(signal: Any, noise: Any = None, ax: Axes | None = None) -> Axes:
    """Draw the fraction of the labels, and of their noise, within the first directions; both are `Projection`s."""
    axes = _axes(ax)
    _curve(axes, signal.concentration, "labels", {"color": RED, "marker": "o"})
    if noise is not None:
        _curve(axes, noise.concentration, "label noise", {"color": BLUE, "ls": "--", "marker": "s"})
    ranks = np.arange(1, len(signal.scores) + 1)
    axes.plot(ranks, ranks / signal.num_nodes, color=GREY, ls=":", label="spread evenly over all nodes")
    axes.set(ylim=(0, 1.03))
    return _finished(axes, "rank", "signal concentration ratio")


def bound(terms: Any, ax: Axes | None = None) -> Axes:
    """Draw the terms of the test-loss bound, `BoundTerms`, their sum and the test loss against the steps."""
    axes, weight, steps = _axes(ax), 2 / terms.num_labelled, np.asarray(terms.steps)
    _curve(axes, weight * terms.signal_loss, "right labels not fitted, L1", {"color": RED, "marker": "o"}, steps)
    _curve(axes, weight * terms.noise_loss, "noise fitted, L2", {"color": BLUE, "ls": "--", "marker": "s"}, steps)
    _curve(axes, terms.upper_bound, "bound", {"color": COLOURS[3], "lw": 2.6}, steps)
    if terms.test_loss is not None:
        _curve(axes, terms.test_loss, "measured test loss", {**_line(2, "D"), "ls": "-."}, steps)
    axes.axhline(terms.complexity.value, color=GREY, ls=":", label="kernel complexity KC")
    axes.set_ylim(bottom=0)
    _powers_of_ten(axes, "x")
    return _finished(axes, "steps of gradient descent", "loss per node")


def noise_matrix(matrix: AnyArray, classes: Sequence[object] | AnyArray, ax: Axes | None = None) -> Axes:
    """Draw P(label | true class) [true class, label] as a heat map with the names of the classes, in percent."""
    values, names = np.asarray(matrix, dtype=float), [str(one) for one in classes]
    size = 1.6 + 0.42 * len(names)
    axes = _axes(ax, size + 0.6, size)
    axes.imshow(values, cmap="Blues", vmin=0, vmax=1)
    for (row, column), share in np.ndenumerate(values):
        if round(100 * share) or row == column:
            ink = "white" if share > 0.55 else "black"
            axes.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=ink, fontsize=8)
    axes.set_xticks(range(len(names)), names, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(names)), names)
    axes.set(xlabel="label", ylabel="true class")
    axes.spines[:].set_visible(False)
    return axes


def noise_curves(runs: pd.DataFrame, metric: str = "test_accuracy", ax: Axes | None = None) -> Axes:
    """Draw mean ± std against the noise rate, a line per method; runs are of one dataset and one kind of noise.

    Runs without noise are the point at rate 0; settings without one rate are left out.
    """
    kinds = runs["noise"].str.extract(r"^([a-z]+):([0-9.]+)$").astype({1: float})
    points = runs.assign(kind=kinds[0], rate=kinds[1].mask(runs["noise"] == "none", 0.0))
    points = points.dropna(subset=["rate", metric])
    for name in ("dataset", "kind", "protocol"):
        found = sorted(points[name].dropna().unique())
        if len(found) > 1:
            raise InvalidParameterError(f"curves are of one {name}, got {', '.join(found)}. Draw each on its own axes.")
    if points.empty:
        raise InvalidParameterError("no run has a noise with one rate, such as symmetric:0.4, to draw a curve of.")
    axes = _axes(ax)
    for index, (method, part) in enumerate(points.groupby("method", sort=False)):
        curve = part.groupby("rate")[metric].agg(["mean", "std"]).fillna({"std": 0.0})
        style, across = _line(index, _MARKERS[index % len(_MARKERS)]), 100 * curve.index.to_numpy()
        low, high = curve["mean"] - curve["std"], curve["mean"] + curve["std"]
        axes.fill_between(across, low, high, color=style["color"], alpha=0.1, lw=0)
        axes.plot(across, curve["mean"], label=str(method), **style)
    axes.set(title=", ".join([str(points["dataset"].iloc[0]), *points["kind"].dropna().unique()[:1]]))
    return _finished(axes, "noise rate (%)", metric.replace("_", " "))


def mean_ranks(ranks: "pd.Series[float]", critical_difference: float, ax: Axes | None = None) -> Axes:
    """Draw mean ranks, best on top; methods whose whiskers, half a critical difference, do not overlap differ."""
    axes, places = _axes(ax, height=0.8 + 0.24 * len(ranks)), np.arange(len(ranks))
    axes.errorbar(ranks, places, xerr=critical_difference / 2, fmt="o", ms=4, color=COLOURS[0], ecolor=GREY, capsize=3)
    axes.set_yticks(places, [str(name) for name in ranks.index])
    axes.invert_yaxis()
    return _finished(axes, f"mean rank ± half the critical difference of {critical_difference:.2f}", "")


def embedding(places: AnyArray, predicted: AnyArray, ax: Axes | None = None) -> Axes:
    """Draw nodes at their places (`place_nodes`), coloured by prediction [nodes, 2], [nodes]."""
    axes = _axes(ax)
    for index, label in enumerate(sorted(set(np.asarray(predicted).tolist()))):
        colour, nodes = COLOURS[index % len(COLOURS)], places[np.asarray(predicted) == label]
        axes.scatter(nodes[:, 0], nodes[:, 1], s=8, label=str(label), alpha=0.8, linewidths=0, color=colour)
    axes.set(xticks=[], yticks=[])
    axes.legend(frameon=False, markerscale=2)
    return axes


def place_nodes(embeddings: Float32Array, *, seed: int = 0) -> FloatArray:
    """Return a place in the unit square for every node, so that similar embeddings are close [nodes, 2].

    t-SNE places at most 800 drawn nodes by their leading directions; every other node goes between the placed ones
    that it is most similar to.
    """
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from sklearn.neighbors import KNeighborsRegressor

    draws, rows = numpy_generator(seed, "places on the map"), np.asarray(embeddings, dtype=np.float64)
    rows = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    wide = np.pad(rows, ((0, 0), (0, max(0, 2 - rows.shape[1]))))
    with np.errstate(invalid="ignore"):  # rows that are all the same have no variance to explain
        rows = PCA(min(_DIRECTIONS, *wide.shape), random_state=int(draws.integers(2**31))).fit_transform(wide)
    places = rows[:, :2]
    if len(rows) >= _FEWEST and rows[:, 0].std() > _SMALLEST:
        anchors = rows[np.sort(draws.choice(len(rows), size=min(_ANCHORS, len(rows)), replace=False))]
        start = (1e-4 * anchors[:, :2] / anchors[:, 0].std()).astype(np.float32)
        perplexity, state = min(30.0, (len(anchors) - 1) / 3), int(draws.integers(2**31))
        tsne = TSNE(perplexity=perplexity, max_iter=350, angle=0.8, init=start, random_state=state)
        placed = tsne.fit_transform(anchors.astype(np.float32))
        near = KNeighborsRegressor(n_neighbors=4, weights="distance").fit(anchors, placed)
        places = np.asarray(near.predict(rows), dtype=np.float64)
    low, width = places.min(axis=0), np.ptp(places, axis=0)
    unit: FloatArray = np.where(width > 0, (places - low) / np.where(width > 0, width, 1), 0.5)
    return unit


def to_svg(figure: Figure, *, transparent: bool = False) -> str:
    """Return a figure as an SVG document with text as text; the same figure gives the same bytes."""
    buffer, without = io.StringIO(), dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with mpl.rc_context({"svg.hashsalt": "quietgraph", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=transparent, metadata=without)
    return buffer.getvalue()


def _axes(ax: Axes | None, width: float = 5.4, height: float = 3.2) -> Axes:
    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def _finished(axes: Axes, across: str, up: str) -> Axes:
    axes.set(xlabel=across, ylabel=up)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False)
    return axes


def _line(index: int, marker: str = "") -> dict[str, Any]:
    return {"color": COLOURS[index % 8], "ls": _DASHES[index % 4], "lw": 1.8, "marker": marker}


def _curve(axes: Axes, up: Any, label: str, style: dict[str, Any], across: AnyArray | None = None) -> None:
    values = np.asarray(up)
    every = {"lw": 1.4, "ms": 4, "markevery": max(1, len(values) // 12), **style}
    axes.plot(np.arange(1, len(values) + 1) if across is None else across, values, label=label, **every)


def _powers_of_ten(axes: Axes, along: str) -> None:
    """Make an axis logarithmic, its labels plain text that is not typeset as math."""
    axes.set(**{f"{along}scale": "log"})
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"10{str(round(np.log10(value))).translate(_RAISED)}")
    axis.set_minor_locator(NullLocator())
