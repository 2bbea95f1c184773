"""The curves of the theory, drawn on given axes: spectrum, projections, concentration, bound.

Every line differs in colour and in dash or marker, so that the figures can be read in print and
by colour-blind people. Right labels are red, label noise is blue, as in the paper.
"""

from collections.abc import Iterator
from typing import Final, TypedDict

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator
from torch import Tensor

from quietgraph.diagnose import BoundTerms, Diagnosis, Projection, Spectrum


class LineStyle(TypedDict, total=False):
    """How a line is drawn, as matplotlib takes it."""

    color: str
    linestyle: str
    linewidth: float
    marker: str
    markersize: float
    markevery: int


COLOURS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # for any colour vision
RED, BLUE = "#c1121f", "#2f6fd0"
SMALLEST_SHOWN: Final = 1e-6  # of the largest; below lies rounding
_SIGNAL: LineStyle = {"color": RED, "linestyle": "-", "marker": "o"}
_NOISE: LineStyle = {"color": BLUE, "linestyle": "--", "marker": "s"}
_BEFORE: LineStyle = {"color": COLOURS[0], "linestyle": "-", "marker": "o"}
_AFTER: LineStyle = {"color": COLOURS[1], "linestyle": "--", "marker": "^"}
_BOUND: LineStyle = {"color": COLOURS[3], "linestyle": "-", "linewidth": 2.6}
_TESTED: LineStyle = {"color": COLOURS[2], "linestyle": "-.", "marker": "D"}
_CONSTANT: LineStyle = {"color": "#777777", "linestyle": ":"}
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw_spectrum(
    axes: Axes, diagnosis: Diagnosis, names: tuple[str, str] = ("K", "after attention")
) -> None:
    """Draw the eigenvalues of K before and after attention, as fractions of the largest."""
    for spectrum, name, style in _spectra(diagnosis, names):
        fractions = spectrum.eigenvalues / spectrum.eigenvalues[0]
        _draw(axes, fractions[fractions >= SMALLEST_SHOWN], style, name)
    axes.set(xlabel="rank", ylabel="eigenvalue / largest")
    powers_of_ten(axes, along="y")


def draw_energy(axes: Axes, diagnosis: Diagnosis) -> None:
    """Draw the energy that the first eigenvalues hold, before and after attention."""
    for spectrum, _, style in _spectra(diagnosis, ("", "")):
        _draw(axes, spectrum.energy, style, "")
    axes.set(xlabel="rank", ylabel="energy of the first ranks", ylim=(0, 1.03))


def draw_projections(
    axes: Axes, signal: Projection, noise: Projection | None, labels: str = "right labels"
) -> None:
    """Draw how much of the labels and of their noise each direction holds."""
    if noise is not None:
        # Points under a line: two jagged lines over hundreds of ranks would hide each other.
        points = _NOISE | {"linestyle": "none", "markersize": 2.4, "markevery": 1}
        _draw(axes, noise.scores, points, "label noise")
    _draw(axes, signal.scores, _SIGNAL | {"linewidth": 0.9, "markersize": 0}, labels)
    axes.axhline(1 / signal.num_nodes, **_CONSTANT)
    axes.set(xlabel="rank", ylabel="eigen-projection")
    powers_of_ten(axes, along="y")


def draw_concentration(axes: Axes, signal: Projection, noise: Projection | None) -> None:
    """Draw the fraction of the right labels and of the noise within the first directions."""
    _draw(axes, signal.concentration, _SIGNAL, "right labels")
    if noise is not None:
        _draw(axes, noise.concentration, _NOISE, "label noise")
    ranks = _ranks(signal.scores)
    even = (ranks / signal.num_nodes).tolist()
    axes.plot(ranks.tolist(), even, **_CONSTANT, label="spread evenly over all nodes")
    axes.set(xlabel="rank", ylabel="signal concentration ratio", ylim=(0, 1.03))


def draw_bound(axes: Axes, bound: BoundTerms) -> None:
    """Draw the terms of the bound, their sum and the measured test loss against the steps."""
    weight = 2 * bound.constant / bound.num_labelled
    lines = [
        (weight * bound.signal_loss, _SIGNAL, "right labels not fitted, L1"),
        (weight * bound.noise_loss, _NOISE, "noise fitted, L2"),
        (bound.upper_bound, _BOUND, f"bound, c0 = {bound.constant:g}"),
    ]
    if bound.test_loss is not None:
        lines.append((bound.test_loss, _TESTED, "measured test loss"))
    for values, style, name in lines:
        _draw(axes, values, style, name, across=bound.steps)
    cost = bound.constant * bound.complexity.value
    axes.axhline(cost, **_CONSTANT, label="kernel complexity KC")
    axes.set(xlabel="steps of gradient descent", ylabel="loss per node")
    axes.set_ylim(bottom=0)
    powers_of_ten(axes, along="x")


def powers_of_ten(axes: Axes, *, along: str) -> None:
    """Make the x or y axis logarithmic, its labels plain text that is not typeset as math."""
    axes.set(**{f"{along}scale": "log"})
    axis = axes.xaxis if along == "x" else axes.yaxis
    axis.set_major_formatter(lambda value, _: f"10{str(round(np.log10(value))).translate(_RAISED)}")
    axis.set_minor_locator(NullLocator())


def _spectra(
    diagnosis: Diagnosis, names: tuple[str, str]
) -> Iterator[tuple[Spectrum, str, LineStyle]]:
    both = (diagnosis.spectrum, diagnosis.attended_spectrum)
    return zip(both, names, (_BEFORE, _AFTER), strict=True)


def _draw(
    axes: Axes, up: Tensor, style: LineStyle, label: str, *, across: Tensor | None = None
) -> None:
    across = _ranks(up) if across is None else across
    every = max(1, len(across) // 12)
    whole: LineStyle = {"linewidth": 1.4, "markersize": 4, "markevery": every, **style}
    axes.plot(across.tolist(), up.tolist(), **whole, label=label)


def _ranks(values: Tensor) -> Tensor:
    return torch.arange(1, len(values) + 1)
