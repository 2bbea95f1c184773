"""The figures of the theory as files: projections, spectra and bound terms."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from quietgraph.diagnose import BoundTerms, Diagnosis, Projection
from quietgraph.errors import InvalidParameterError
from quietgraph.files import whole_file, write_file
from quietgraph.report.svg import to_svg
from quietgraph.report.theory_axes import (
    RED,
    SMALLEST_SHOWN,
    draw_bound,
    draw_concentration,
    draw_energy,
    draw_projections,
    draw_spectrum,
)


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
        draw_projections(axes[0, column], signal, noise)
        draw_concentration(axes[1, column], signal, noise)
        _mark_a_fifth(axes[1, column], signal)
        axes[0, column].set(title=title, xlabel="")
    for each in axes[:, 1:].flat:
        each.set_ylabel("")
    axes[0, 0].set_ylim(_score_limits(cases))
    most = max(axes[1], key=lambda each: len(each.get_lines()))  # a case may have no noise
    return _finish(figure, most, columns=2)


def spectrum_figure(diagnosis: Diagnosis) -> Figure:
    """Return the eigenvalues and the energy they hold, before and after low-rank attention."""
    figure = Figure(figsize=(8.2, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    before, after = (
        f"{name} attention: effective rank {spectrum.effective_rank:.1f}, "
        f"KC {bound.complexity.value:.2f} at rank {bound.complexity.rank}"
        for name, spectrum, bound in (
            ("before", diagnosis.spectrum, diagnosis.bound),
            ("after", diagnosis.attended_spectrum, diagnosis.attended_bound),
        )
    )
    draw_spectrum(left, diagnosis, (before, after))
    draw_energy(right, diagnosis)
    right.yaxis.set_major_formatter(PercentFormatter(1))
    return _finish(figure, left, columns=1)


def bound_figure(bound: BoundTerms, *, title: str = "") -> Figure:
    """Return the terms of the bound, their sum and the measured test loss against the steps."""
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    draw_bound(axes, bound)
    axes.set_title(title)
    return _finish(figure, axes, columns=2)


def save_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write the figure as SVG and as PNG, and return the two paths.

    Args:
        figure: The figure.
        path: Where to, without or with a suffix, which is replaced.
    """
    svg, png = path.with_suffix(".svg"), path.with_suffix(".png")
    write_file(svg, to_svg(figure))
    with whole_file(png) as scratch:
        figure.savefig(scratch, dpi=200, metadata={"Software": None})
    return svg, png


def _score_limits(
    cases: Mapping[str, tuple[Projection, Projection | None]],
) -> tuple[float, float]:
    """Return limits that suit all panels of the row, since they share their axis."""
    drawn = [each for pair in cases.values() for each in pair if each is not None]
    largest = max(float(each.scores.max()) for each in drawn)
    smallest_even = min(1 / each.num_nodes for each in drawn)
    return max(SMALLEST_SHOWN, smallest_even / 30), 2 * largest


def _mark_a_fifth(axes: Axes, signal: Projection) -> None:
    fifth = max(1, round(0.2 * len(signal.scores)))
    axes.axvline(fifth, color="#bbbbbb", linewidth=0.8, label="a fifth of the ranks")
    words = f"{signal.concentration_at(fifth):.0%} of the signal by rank {fifth}"
    axes.set_title(words, fontsize="medium", color=RED)
    axes.yaxis.set_major_formatter(PercentFormatter(1))


def _finish(figure: Figure, named: Axes, *, columns: int) -> Figure:
    """Put the names of one panel's lines below the figure, where they cover nothing."""
    handles, names = named.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False)
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    return figure
