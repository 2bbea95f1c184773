"""Drawings of one fit on given axes, for the report and for `quietgraph.plots`."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from quietgraph.classify.quality import Coverage
from quietgraph.embed import History
from quietgraph.report.theory_axes import COLOURS, LineStyle
from quietgraph.types import AnyArray

_DASHES: Final = ("-", "--", "-.", ":")
_BINS: Final = 10  # equal ranges of confidence; the area of a dot says how many nodes are in one


def draw_training(axes: Axes, history: History) -> None:
    """Draw the losses against the epoch."""
    names = [name for name in history[-1] if name not in {"seconds", "score"}] if history else []
    for index, name in enumerate(names):
        points = [(epoch, row[name]) for epoch, row in enumerate(history) if name in row]
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, label=name, **line_style(index))
    axes.set(xlabel="epoch", ylabel="loss")


def draw_calibration(
    axes: Axes,
    confidence: AnyArray,
    right: AnyArray,
    *,
    expected: AnyArray | None = None,
    ink: str = "0.3",
) -> None:
    """Draw how often a prediction is right against its confidence.

    Args:
        axes: To draw on.
        confidence: Probability of each prediction [scored].
        right: Whether it agrees with the label it is scored against [scored].
        expected: Probability that it agrees with a label that may be wrong [scored]; None where
            the labels are right.
        ink: Colour of the diagonal.
    """
    axes.plot([0, 1], [0, 1], color=ink, linewidth=0.8, linestyle=":", label="perfect calibration")
    part = np.minimum((confidence * _BINS).astype(int), _BINS - 1)
    counts = np.bincount(part, minlength=_BINS)
    filled = counts > 0

    def mean_of(values: AnyArray) -> AnyArray:
        return np.bincount(part, weights=values, minlength=_BINS)[filled] / counts[filled]

    mean, hits = mean_of(confidence), mean_of(right)
    axes.plot(mean, hits, label="this model", **line_style(0))
    if expected is not None:
        axes.plot(mean, mean_of(expected), label="expected at this noise", **line_style(1))
    sizes = 12 + 140 * counts[filled] / max(1, counts.max())
    axes.scatter(mean, hits, s=sizes, color=COLOURS[0], alpha=0.75, linewidths=0)
    axes.set(xlabel="confidence", ylabel="fraction that agrees", xlim=(0, 1.05), ylim=(0, 1.08))


def draw_coverage(axes: Axes, points: Sequence[Coverage]) -> None:
    """Draw agreement and estimated accuracy of the most confident predictions, out of fold."""
    across = [point.coverage for point in points]
    estimated = [point.estimated_accuracy for point in points]
    axes.plot(across, estimated, label="estimated accuracy", **line_style(1))
    axes.plot(across, [point.agreement for point in points], label="agreement", **line_style(0))
    axes.set(xlabel="fraction of labelled nodes answered", ylabel="fraction", xlim=(0, 1.05))


def line_style(index: int) -> LineStyle:
    """Return colour and dashes of a line, distinguishable also in print."""
    return {"color": COLOURS[index % 4], "linestyle": _DASHES[index % 4], "linewidth": 1.8}
