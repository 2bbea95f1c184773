"""The label noise: how much, which class is called which, and what to begin with."""

from dataclasses import dataclass

import numpy as np
from torch import nn

from quietgraph.annotators.consensus import symmetric
from quietgraph.classify.noise_matrix import noise_matrix
from quietgraph.methods.base import NodeClassifier
from quietgraph.types import Embeddings, FloatArray

_SURE = 0.025  # standard deviation of a rate, whatever the number of labels: errors of the classifier
_FIRST = 0.2  # rate to begin with where there is nothing to read it from


@dataclass(frozen=True, eq=False)
class Noise:
    """The label noise.

    Attributes:
        rate: Expected share of wrong labels among those of today, with its 95 % interval.
        low: Its lower end.
        high: Its upper end.
        at_least: Whether the rate is a lower bound: some errors may be such that the predictions repeat them.
        matrix: P(label | true class), of labels before anybody verified some [true class, label].
        counts: Expected number of labels [label, true class].
    """

    rate: float
    low: float
    high: float
    at_least: bool
    matrix: FloatArray
    counts: FloatArray


def rate_interval(p_wrong: FloatArray) -> tuple[float, float]:
    """Return the 95 % interval of the noise rate from the probabilities that labels are wrong [labels]."""
    rate, spread = float(p_wrong.mean()), 1.96 * float(p_wrong.var() / len(p_wrong) + _SURE**2) ** 0.5
    return max(0.0, rate - spread), min(1.0, rate + spread)


def first_matrix(model: NodeClassifier, spaces: list[Embeddings], *, seed: int) -> tuple[FloatArray, bool]:
    """Return a noise matrix read off clusters, and whether the model's scores are corrected for it already.

    A model with a `noise_matrix` has corrected for it. `spaces` are rows of all nodes that saw no label; without any
    the matrix is symmetric.
    """
    network = model.fitted_.network
    own = getattr(network, "noise_matrix", None) if isinstance(network, nn.Module) else None
    if own is not None:
        return np.asarray(own.detach().cpu(), dtype=np.float64), True
    if not spaces:
        return symmetric(len(model.classes_), _FIRST), False
    return noise_matrix(spaces, model.observed_.codes, seed=seed), False
