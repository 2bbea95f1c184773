"""Plots of fitted models with matplotlib: each draws on axes and returns them.

qg.plots.training(model)
qg.plots.spectrum(model, ax=axes[0])
"""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from quietgraph.diagnose import Diagnosis
from quietgraph.errors import InvalidParameterError
from quietgraph.methods import NodeClassifier
from quietgraph.report.embedding_map import place_nodes
from quietgraph.report.fit_axes import draw_calibration, draw_coverage, draw_training, line_style
from quietgraph.report.theory_axes import (
    draw_bound,
    draw_concentration,
    draw_projections,
    draw_spectrum,
)
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN

__all__ = [
    "bound",
    "calibration",
    "concentration",
    "coverage",
    "embedding",
    "projections",
    "spectrum",
    "suspects",
    "training",
]


def training(model: NodeClassifier, ax: Axes | None = None) -> Axes:
    """Draw the losses of the fit against the epoch; return the axes."""
    model._check_fitted()
    if not model.history_:
        raise InvalidParameterError(f"{type(model).__name__} has no epochs to show.")
    axes = _axes(ax)
    draw_training(axes, model.history_)
    return _with_legend(axes)


def spectrum(source: NodeClassifier | Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of the kernel before and after attention; return the axes."""
    axes, diagnosis = _axes(ax), _diagnosis(source)
    draw_spectrum(axes, diagnosis)
    return _with_legend(axes)


def projections(source: NodeClassifier | Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw how much of the labels, and of known noise, each direction holds; return the axes."""
    axes, diagnosis = _axes(ax), _diagnosis(source)
    draw_projections(axes, diagnosis.signal, diagnosis.noise, _words(diagnosis))
    return _with_legend(axes)


def concentration(source: NodeClassifier | Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw the fraction of the labels within the first directions; return the axes."""
    axes, diagnosis = _axes(ax), _diagnosis(source)
    draw_concentration(axes, diagnosis.signal, diagnosis.noise)
    return _with_legend(axes)


def bound(source: NodeClassifier | Diagnosis, ax: Axes | None = None) -> Axes:
    """Draw the terms of the test-loss bound against the steps; return the axes."""
    axes = _axes(ax)
    draw_bound(axes, _diagnosis(source).bound)
    return _with_legend(axes)


def calibration(model: NodeClassifier, ax: Axes | None = None) -> Axes:
    """Draw agreement with observed labels against confidence, out of fold; return the axes.

    Fits once per fold where neither `quality()` nor `suspects()` was called before.
    """
    model.quality()
    labels, probabilities = model.task_.labels.numpy(), model.calibrated_out_of_fold()
    scored = (labels != UNKNOWN) & (probabilities.sum(axis=1) > 0)
    found, axes = probabilities[scored], _axes(ax)
    right, expected = found.argmax(axis=1) == labels[scored], model.expected_agreement()[scored]
    draw_calibration(axes, found.max(axis=1), right, expected=expected)
    return _with_legend(axes)


def coverage(model: NodeClassifier, ax: Axes | None = None) -> Axes:
    """Draw the agreement of the most confident predictions, out of fold; return the axes."""
    axes = _axes(ax)
    draw_coverage(axes, model.quality().coverage)
    return _with_legend(axes)


def suspects(model: NodeClassifier, ax: Axes | None = None) -> Axes:
    """Draw how many labels are how probably wrong; return the axes."""
    table = model.suspects()
    axes = _axes(ax)
    axes.hist(table["p_wrong"], bins=20, range=(0, 1), color=line_style(0)["color"])
    axes.set(xlabel="probability that the label is wrong", ylabel="labels", yscale="symlog")
    return axes


def embedding(model: NodeClassifier, ax: Axes | None = None) -> Axes:
    """Draw the nodes on a map of the embedding, coloured by prediction; return the axes."""
    model._check_fitted()
    places = place_nodes(
        model.embeddings_, generator=numpy_generator(model.seed, "places on the map")
    )
    predicted, axes = model.predict(), _axes(ax)
    for label in model.classes_:
        inside = predicted == label
        across, up = places[inside, 0], places[inside, 1]
        axes.scatter(across, up, s=8, label=str(label), alpha=0.8, linewidths=0)
    axes.set(xticks=[], yticks=[])
    axes.legend(frameon=False, markerscale=2)
    return axes


def _axes(ax: Axes | None) -> Axes:
    return plt.subplots(figsize=(5.4, 3.2), layout="constrained")[1] if ax is None else ax


def _with_legend(axes: Axes) -> Axes:
    axes.legend(frameon=False)
    return axes


def _diagnosis(source: Any) -> Diagnosis:
    return source if isinstance(source, Diagnosis) else source.diagnose()


def _words(diagnosis: Diagnosis) -> str:
    return "observed labels" if diagnosis.noise is None else "right labels"
