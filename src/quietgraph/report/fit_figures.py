"""Pictures of one fit, as SVG that follows the page's light or dark colours."""

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator
from numpy.typing import NDArray

from quietgraph.diagnose import BoundTerms, Diagnosis, Projection
from quietgraph.embed import History

_INK = "#123456"  # replaced by the page's own text colour
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # distinguishable with any colour vision
_DASHES = ("-", "--", "-.", ":")
_THEMED = {"#c1121f": "--line-red", "#2f6fd0": "--line-blue"} | {
    colour: f"--line-{place}" for place, colour in enumerate(_COLOURS)
}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # same figure, same bytes


def training_curves(history: History) -> str:
    """Return the losses against the epoch."""
    figure, axes = _canvas()
    names = [name for name in history[-1] if name not in {"seconds", "score"}] if history else []
    for index, name in enumerate(names):
        points = [(epoch, row[name]) for epoch, row in enumerate(history) if name in row]
        xs, ys = zip(*points, strict=True)
        axes.plot(xs, ys, label=name, **_style(index))
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss")
    return _finish(figure, axes)


def spectra(diagnosis: Diagnosis) -> str:
    """Return the eigenvalues of K before and after attention, as fractions of the largest."""
    figure, axes = _canvas()
    pairs = ((diagnosis.spectrum, "K"), (diagnosis.attended_spectrum, "after attention"))
    for index, (spectrum, label) in enumerate(pairs):
        fractions = (spectrum.eigenvalues / spectrum.eigenvalues[0]).clamp_min(1e-9).numpy()
        axes.plot(np.arange(1, len(fractions) + 1), fractions, label=label, **_style(index))
    axes.set_xlabel("rank")
    axes.set_ylabel("eigenvalue / largest")
    _powers_of_ten(axes, along="y")
    axes.set_ylim(1e-6, 1.5)
    return _finish(figure, axes)


def calibration_curve(confidence: NDArray[Any], right: NDArray[Any], *, bins: int = 10) -> str:
    """Return how often a prediction is right against its confidence.

    Args:
        confidence: Probability of each prediction [scored].
        right: Whether it agrees with the label it is scored against [scored].
        bins: Equal parts that confidence is cut into; a dot's area says how many nodes are in it.
    """
    figure, axes = _canvas()
    axes.plot([0, 1], [0, 1], color=_INK, linewidth=0.8, linestyle=":", label="perfect calibration")
    part = np.minimum((confidence * bins).astype(int), bins - 1)
    counts = np.bincount(part, minlength=bins)
    filled = counts > 0
    mean = np.bincount(part, weights=confidence, minlength=bins)[filled] / counts[filled]
    hits = np.bincount(part, weights=right, minlength=bins)[filled] / counts[filled]
    axes.plot(mean, hits, label="this model", **_style(0))
    sizes = 12 + 140 * counts[filled] / max(1, counts.max())
    axes.scatter(mean, hits, s=sizes, color=_COLOURS[0], alpha=0.75, linewidths=0)
    axes.set_xlabel("confidence")
    axes.set_ylabel("fraction that agrees")
    axes.set_xlim(0, 1.05)
    axes.set_ylim(0, 1.08)
    return _finish(figure, axes)


def projections(diagnosis: Diagnosis, *, labels: str = "right labels") -> str:
    """Return how much of the labels (red) and of the noise (blue) each direction holds.

    Args:
        diagnosis: Of one embedding.
        labels: What the labels are called; without clean ones they are the observed labels.
    """
    figure, axes = _canvas()
    for name, projection, style in _projections(diagnosis, labels):
        scores = projection.scores.clamp_min(1e-9).numpy()
        axes.plot(np.arange(1, len(scores) + 1), scores, label=name, **style)
    axes.set_xlabel("rank")
    axes.set_ylabel("eigen-projection")
    _powers_of_ten(axes, along="y")
    axes.set_ylim(bottom=1e-6)
    return _finish(figure, axes)


def concentrations(diagnosis: Diagnosis) -> str:
    """Return the fraction of the right labels and of the noise within the first directions."""
    figure, axes = _canvas()
    for name, projection, style in _projections(diagnosis, "right labels"):
        fractions = projection.concentration.numpy()
        axes.plot(np.arange(1, len(fractions) + 1), fractions, label=name, **style)
    axes.set_xlabel("rank")
    axes.set_ylabel("signal concentration ratio")
    axes.set_ylim(0, 1.03)
    return _finish(figure, axes)


def bound_terms_curves(bound: BoundTerms) -> str:
    """Return the terms of the test-loss bound and the measured loss against the steps."""
    figure, axes = _canvas()
    factor = 2 * bound.constant / bound.num_labelled
    lines = [
        ("right labels not fitted, L1", factor * bound.signal_loss, 1),
        ("noise fitted, L2", factor * bound.noise_loss, 0),
        (f"bound (c0 = {bound.constant:g})", bound.upper_bound, 3),
    ]
    if bound.test_loss is not None:
        lines.append(("measured test loss", bound.test_loss, 2))
    for name, values, index in lines:
        axes.plot(bound.steps.numpy(), values.numpy(), label=name, **_style(index))
    _powers_of_ten(axes, along="x")
    axes.set_xlabel("steps of gradient descent")
    axes.set_ylabel("loss per node")
    axes.set_ylim(bottom=0)
    return _finish(figure, axes)


def _projections(diagnosis: Diagnosis, labels: str) -> list[tuple[str, Projection, dict[str, Any]]]:
    shown = [(labels, diagnosis.signal, {"color": "#c1121f", "linewidth": 1.8})]
    if diagnosis.noise is not None:
        style = {"color": "#2f6fd0", "linestyle": "--", "linewidth": 1.2}
        shown.append(("label noise", diagnosis.noise, style))
    return shown


def accuracy_bars(rows: list[dict[str, Any]]) -> str:
    """Return the test accuracy of each method as a bar with its number."""
    figure, axes = _canvas(height=0.6 + 0.45 * len(rows))
    names = [row["method"] for row in rows][::-1]
    values = [100 * row["test_accuracy"] for row in rows][::-1]
    bars = axes.barh(names, values, color=[*["#8a97a8"] * (len(rows) - 1), _COLOURS[0]], height=0.6)
    axes.bar_label(bars, fmt="%.1f %%", padding=4, color=_INK)
    axes.set_xlim(0, 112)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    return to_svg(figure)


def to_svg(figure: Figure) -> str:
    """Return the figure as an SVG element, the same bytes for the same figure."""
    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "quietgraph", "svg.fonttype": "none"}):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_NO_METADATA)
    text = buffer.getvalue()
    return text[text.index("<svg") :].replace(_INK, "currentColor")


def follow_theme(svg: str) -> str:
    """Return the figure with colours that the page sets, lighter ones where it is dark."""
    for colour, variable in _THEMED.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg


def _finish(figure: Figure, axes: Axes) -> str:
    if axes.get_lines():
        axes.legend(frameon=False, labelcolor=_INK)
    return to_svg(figure)


def _powers_of_ten(axes: Axes, *, along: str) -> None:
    """Make the x or y axis logarithmic, its labels plain text that is not typeset as math."""
    axes.set(**{f"{along}scale": "log"})
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"10{str(round(np.log10(value))).translate(_RAISED)}")
    axis.set_minor_locator(NullLocator())


def _style(index: int) -> dict[str, Any]:
    return {"color": _COLOURS[index % 4], "linestyle": _DASHES[index % 4], "linewidth": 1.8}


def _canvas(height: float = 3.0) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(5.4, height), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(colors=_INK)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    for name, spine in axes.spines.items():
        spine.set_color(_INK)
        spine.set_visible(name in {"left", "bottom"})
    return figure, axes
