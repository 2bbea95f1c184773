"""The figures of the findings, drawn from the runs in results/."""

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from quietgraph.bench.statistics import mean_ranks
from quietgraph.report.benchmark_figures import critical_difference_diagram, noise_curves
from quietgraph.report.svg import to_svg
from study.grid import INFORMATIVE, PAPER, RANKED, grid
from study.records import ROOT, some
from study.review_gains import review_curves

_IMAGES = ROOT / "docs" / "images"
_CURVES = ("gcn", "grand-plus", "merit", "sel-cl", *PAPER)


def changed_figures() -> dict[Path, str]:
    """Return the new SVG of every figure that is not what is drawn of results/ here.

    Other versions of Matplotlib draw the same runs in other words.
    """
    drawn = {_IMAGES / name: to_svg(draw()) for name, draw in _FIGURES.items()}
    return {path: text for path, text in drawn.items() if text != path.read_text("utf-8")}


def _ranks() -> Figure:
    frame = some(grid(), method=RANKED, noise=INFORMATIVE)
    return critical_difference_diagram(mean_ranks(frame))


def _curves() -> Figure:
    frame = some(grid(), method=_CURVES, noise=INFORMATIVE)
    shared = frame.groupby(["dataset", "noise", "seed"])["method"].transform("nunique")
    frame = frame[shared == len(_CURVES)]  # the same draws for every curve
    return noise_curves(frame, metric="test_accuracy", methods=list(_CURVES))


_FIGURES: dict[str, Callable[[], Figure]] = {
    "study-ranks.svg": _ranks,
    "study-curves.svg": _curves,
    "correction-curve.svg": review_curves,
}
