"""Pictures of one fit, as SVG that follows the page's light or dark colours."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quietgraph.classify.quality import Coverage
from quietgraph.diagnose import BoundTerms, Diagnosis
from quietgraph.embed import History
from quietgraph.report.fit_axes import draw_calibration, draw_coverage, draw_training
from quietgraph.report.svg import to_svg
from quietgraph.report.theory_axes import (
    BLUE,
    COLOURS,
    RED,
    SMALLEST_SHOWN,
    draw_bound,
    draw_concentration,
    draw_projections,
    draw_spectrum,
)
from quietgraph.types import AnyArray

_INK = "#123456"  # replaced by the page's own text colour
_THEMED = {RED: "--line-red", BLUE: "--line-blue"} | {
    colour: f"--line-{place}" for place, colour in enumerate(COLOURS)
}


def training_curves(history: History) -> str:
    """Return the losses against the epoch."""
    figure, axes = _canvas()
    draw_training(axes, history)
    return _finish(figure, axes)


def spectra(diagnosis: Diagnosis) -> str:
    """Return the eigenvalues of K before and after attention."""
    figure, axes = _canvas()
    draw_spectrum(axes, diagnosis)
    return _finish(figure, axes)


def calibration_curve(
    confidence: AnyArray, right: AnyArray, expected: AnyArray | None = None
) -> str:
    """Return how often a prediction is right against its confidence."""
    figure, axes = _canvas()
    draw_calibration(axes, confidence, right, expected=expected, ink=_INK)
    return _finish(figure, axes)


def coverage_curve(points: Sequence[Coverage]) -> str:
    """Return accuracy against the fraction that is answered where `predict` abstains."""
    figure, axes = _canvas()
    draw_coverage(axes, points)
    return _finish(figure, axes)


def projections(diagnosis: Diagnosis, *, labels: str = "right labels") -> str:
    """Return how much of the labels (red) and of the noise (blue) each direction holds.

    Args:
        diagnosis: Of one embedding.
        labels: What the labels are called; without clean ones they are the observed labels.
    """
    figure, axes = _canvas()
    draw_projections(axes, diagnosis.signal, diagnosis.noise, labels)
    axes.set_ylim(bottom=SMALLEST_SHOWN)
    return _finish(figure, axes)


def concentrations(diagnosis: Diagnosis) -> str:
    """Return the fraction of the right labels and of the noise within the first directions."""
    figure, axes = _canvas()
    draw_concentration(axes, diagnosis.signal, diagnosis.noise)
    return _finish(figure, axes)


def bound_terms_curves(bound: BoundTerms) -> str:
    """Return the terms of the test-loss bound and the measured loss against the steps."""
    figure, axes = _canvas()
    draw_bound(axes, bound)
    return _finish(figure, axes)


def accuracy_bars(rows: list[dict[str, Any]]) -> str:
    """Return the test accuracy of each method as a bar with its number."""
    figure = Figure(figsize=(5.4, 0.6 + 0.45 * len(rows)), layout="constrained")
    axes = _themed(figure.subplots())
    names = [row["method"] for row in rows][::-1]
    values = [100 * row["test_accuracy"] for row in rows][::-1]
    bars = axes.barh(names, values, color=[*["#8a97a8"] * (len(rows) - 1), COLOURS[0]], height=0.6)
    axes.bar_label(bars, fmt="%.1f %%", padding=4, color=_INK)
    axes.set_xlim(0, 112)
    axes.set_xticks([])
    axes.spines["bottom"].set_visible(False)
    return _element(figure)


def follow_theme(svg: str) -> str:
    """Return the figure with colours that the page sets, lighter ones where it is dark."""
    for colour, variable in _THEMED.items():
        svg = svg.replace(colour, f"var({variable})")
    return svg


def _finish(figure: Figure, axes: Axes) -> str:
    if axes.get_lines():
        axes.legend(frameon=False, labelcolor=_INK)
    return _element(figure)


def _element(figure: Figure) -> str:
    """Return the figure as an SVG element in the page's own text colour."""
    text = to_svg(figure, transparent=True)
    return text[text.index("<svg") :].replace(_INK, "currentColor")


def _canvas() -> tuple[Figure, Axes]:
    # Fixed margins: a layout engine would draw every figure twice.
    figure = Figure(figsize=(5.4, 3.0))
    return figure, _themed(figure.add_axes((0.125, 0.165, 0.865, 0.815)))


def _themed(axes: Axes) -> Axes:
    axes.tick_params(colors=_INK)
    axes.xaxis.label.set_color(_INK)
    axes.yaxis.label.set_color(_INK)
    for name, spine in axes.spines.items():
        spine.set_color(_INK)
        spine.set_visible(name in {"left", "bottom"})
    return axes
