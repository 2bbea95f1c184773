"""The figures of the theory: projections, spectra and bound terms.

Every line differs in colour and in dash or marker, so that the figures can be read in print and
by colour-blind people. Right labels are red, label noise is blue, as in the paper.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from torch import Tensor

from quietgraph.diagnose import BoundTerms, Diagnosis, Projection
from quietgraph.errors import InvalidParameterError, UnwritablePathError

_SIGNAL: dict[str, Any] = {"color": "#c1121f", "linestyle": "-", "marker": "o"}
_NOISE: dict[str, Any] = {"color": "#1d4e9e", "linestyle": "--", "marker": "s"}
_BEFORE: dict[str, Any] = {"color": "#333333", "linestyle": "-", "marker": "o"}
_AFTER: dict[str, Any] = {"color": "#d97706", "linestyle": "--", "marker": "^"}
_BOUND: dict[str, Any] = {"color": "#333333", "linestyle": "-", "linewidth": 2.6}
_TESTED: dict[str, Any] = {"color": "#0f766e", "linestyle": "-.", "marker": "D"}
_CONSTANT: dict[str, Any] = {"color": "#777777", "linestyle": ":"}
_SMALLEST_SHOWN = 1e-6  # of the largest; below lies rounding


def projection_figure(cases: Mapping[str, tuple[Projection, Projection | None]]) -> Figure:
    """Return eigen-projections (first row) and concentration ratios (second row).

    Args:
        cases: By title, e.g. the dataset: the projections of the right labels and of the label
            noise (None where there is none). One column each.
    """
    if not cases:
        raise InvalidParameterError("a projection figure needs at least one case, got none.")
    figure = Figure(figsize=(1.2 + 3.4 * len(cases), 5.4), layout="constrained")
    axes = figure.subplots(2, len(cases), squeeze=False, sharey="row", sharex="col")
    for column, (title, (signal, noise)) in enumerate(cases.items()):
        _draw_scores(axes[0, column], signal, noise)
        _draw_concentration(axes[1, column], signal, noise)
        axes[0, column].set_title(title)
    axes[0, 0].set_ylim(_score_limits(cases))
    axes[0, 0].set_ylabel("eigen-projection $p_r$")
    axes[1, 0].set_ylabel("signal concentration ratio")
    most = max(axes[1], key=lambda each: len(each.get_lines()))  # a case may have no noise
    return _finish(figure, most, columns=2)


def spectrum_figure(diagnosis: Diagnosis) -> Figure:
    """Return the eigenvalues and the energy they hold, before and after low-rank attention."""
    figure = Figure(figsize=(8.2, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    pairs = (
        ("before attention", diagnosis.spectrum, diagnosis.bound, _BEFORE),
        ("after attention", diagnosis.attended_spectrum, diagnosis.attended_bound, _AFTER),
    )
    for name, spectrum, bound, style in pairs:
        fractions = spectrum.eigenvalues / spectrum.eigenvalues[0]
        shown = fractions[fractions >= _SMALLEST_SHOWN]
        ranks = f"effective rank {spectrum.effective_rank:.1f}"
        cost = f"KC {bound.complexity.value:.2f} at rank {bound.complexity.rank}"
        _draw(left, _ranks(shown), shown, style, f"{name}: {ranks}, {cost}")
        _draw(right, _ranks(spectrum.energy), spectrum.energy, style, "")
    left.set(yscale="log", xlabel="rank", ylabel="eigenvalue / largest")
    right.set(xlabel="rank", ylabel="energy of the first ranks", ylim=(0, 1.03))
    right.yaxis.set_major_formatter(PercentFormatter(1))
    return _finish(figure, left, columns=1)


def bound_figure(bound: BoundTerms, *, title: str = "") -> Figure:
    """Return the terms of the bound, their sum and the measured test loss against the steps."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    weight = 2 * bound.constant / bound.num_labelled
    _draw(axes, bound.steps, weight * bound.signal_loss, _SIGNAL, "right labels not fitted, $L_1$")
    _draw(axes, bound.steps, weight * bound.noise_loss, _NOISE, "noise fitted, $L_2$")
    _draw(axes, bound.steps, bound.upper_bound, _BOUND, f"bound, $c_0$ = {bound.constant:g}")
    if bound.test_loss is not None:
        _draw(axes, bound.steps, bound.test_loss, _TESTED, "measured test loss")
    cost = bound.constant * bound.complexity.value
    axes.axhline(cost, **_CONSTANT, label="kernel complexity KC")
    axes.set(xscale="log", xlabel="steps of gradient descent $t$", ylabel="loss per node")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    return _finish(figure, axes, columns=2)


def save_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write the figure as SVG and as PNG, and return the two paths.

    Args:
        figure: The figure.
        path: Where to, without or with a suffix, which is replaced.
    """
    svg, png = path.with_suffix(".svg"), path.with_suffix(".png")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # No date and a fixed salt: the same figure is the same file.
        with mpl.rc_context({"svg.hashsalt": "quietgraph"}):
            figure.savefig(svg, metadata={"Date": None})
        figure.savefig(png, dpi=200, metadata={"Software": None})
    except OSError as error:
        raise UnwritablePathError(
            f"the figure cannot be written to '{svg}' ({error.strerror}). Choose another folder."
        ) from error
    return svg, png


def _draw_scores(axes: Axes, signal: Projection, noise: Projection | None) -> None:
    if noise is not None:
        # Points under a line: two jagged lines over hundreds of ranks would hide each other.
        points = _NOISE | {"linestyle": "none", "markersize": 2.4, "markevery": 1}
        _draw(axes, _ranks(noise.scores), noise.scores, points, "")
    line = _SIGNAL | {"linewidth": 0.9, "markersize": 0}
    _draw(axes, _ranks(signal.scores), signal.scores, line, "")
    axes.axhline(1 / signal.num_nodes, **_CONSTANT)
    axes.set_yscale("log")


def _score_limits(
    cases: Mapping[str, tuple[Projection, Projection | None]],
) -> tuple[float, float]:
    """Return limits that suit all panels of the row, since they share their axis."""
    drawn = [each for pair in cases.values() for each in pair if each is not None]
    largest = max(float(each.scores.max()) for each in drawn)
    smallest_even = min(1 / each.num_nodes for each in drawn)
    return max(_SMALLEST_SHOWN, smallest_even / 30), 2 * largest


def _draw_concentration(axes: Axes, signal: Projection, noise: Projection | None) -> None:
    ranks = _ranks(signal.scores)
    _draw(axes, ranks, signal.concentration, _SIGNAL, "right labels")
    if noise is not None:
        _draw(axes, _ranks(noise.scores), noise.concentration, _NOISE, "label noise")
    even = ranks / signal.num_nodes
    axes.plot(ranks.tolist(), even.tolist(), **_CONSTANT, label="spread evenly over all nodes")
    fifth = max(1, round(0.2 * len(ranks)))
    axes.axvline(fifth, color="#bbbbbb", linewidth=0.8, label="a fifth of the ranks")
    words = f"{signal.concentration_at(fifth):.0%} of the signal by rank {fifth}"
    axes.set_title(words, fontsize="medium", color=_SIGNAL["color"])
    axes.set(xlabel="rank $r$", ylim=(0, 1.03))
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def _draw(axes: Axes, across: Tensor, up: Tensor, style: dict[str, Any], label: str) -> None:
    usual = {"linewidth": 1.4, "markersize": 4, "markevery": max(1, len(across) // 12)}
    axes.plot(across.tolist(), up.tolist(), **(usual | style), label=label)


def _ranks(values: Tensor) -> Tensor:
    return torch.arange(1, len(values) + 1)


def _finish(figure: Figure, named: Axes, *, columns: int) -> Figure:
    """Put the names of one panel's lines below the figure, where they cover nothing."""
    handles, names = named.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure
