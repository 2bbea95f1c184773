"""How many labels are wrong, which class is called which, and how sure that is."""

from dataclasses import dataclass

import numpy as np
from torch import nn

from quietgraph.assess.posterior import LabelModel, Labels, label_posterior, refine, symmetric
from quietgraph.classify.noise_matrix import noise_matrix
from quietgraph.methods.base import NodeClassifier
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, Embeddings, FloatArray

_RESAMPLES = 40
_SURE = 0.02  # of a rate, beside what resampling shows: the classifier's own errors
_MOST_LABELS = 5_000  # that T is read from, in clusters and in resamples
_FIRST = 0.2  # rate to begin with where there is nothing to read it from


@dataclass(frozen=True, eq=False)
class Noise:
    """The label noise.

    Attributes:
        rate: Expected share of wrong labels among those of today.
        low: Of the 95 % interval.
        high: Of the 95 % interval.
        at_least: Whether the rate is a lower bound: some errors may be such that the predictions repeat them.
        matrix: P(label | true class) [true class, label].
        counts: Expected number of labels [label, true class].
    """

    rate: float
    low: float
    high: float
    at_least: bool
    matrix: FloatArray
    counts: FloatArray


def first_matrix(model: NodeClassifier, spaces: list[Embeddings], *, seed: int) -> tuple[FloatArray, bool]:
    """Return a noise matrix read off clusters, and whether the model's scores are corrected for it already.

    Args:
        model: Fitted; one with a `noise_matrix` has corrected for it.
        spaces: Rows of all nodes that saw no label; none: a symmetric matrix.
        seed: Of the clusterings.
    """
    codes, network = model.observed_.codes, model.fitted_.network
    own = getattr(network, "noise_matrix", None) if isinstance(network, nn.Module) else None
    if own is not None:
        return np.asarray(own.detach().cpu(), dtype=np.float64), True
    if not spaces:
        return symmetric(len(model.classes_), _FIRST), False
    known = np.flatnonzero(codes.numpy() != UNKNOWN)
    if len(known) > _MOST_LABELS:
        known = np.sort(numpy_generator(seed, "labels to cluster").choice(known, _MOST_LABELS, replace=False))
    if len(np.unique(codes.numpy()[known])) < len(model.classes_):
        return symmetric(len(model.classes_), _FIRST), False
    return noise_matrix([rows[known] for rows in spaces], codes[known], seed=seed), False


def rate_interval(
    model: LabelModel, scores: FloatArray, labels: Labels, rate: float, *, generator: np.random.Generator
) -> tuple[float, float]:
    """Return the 95 % interval of the noise rate over resampled nodes, from models refitted to them."""
    size, rates = min(len(scores), _MOST_LABELS), []
    for _ in range(_RESAMPLES):
        drawn = generator.integers(len(scores), size=size)
        some = labels.take(drawn)
        again = refine(model, scores[drawn], some, steps=2)
        rates.append(expected_rate(again, scores[drawn], some))
    spread = 1.96 * float(np.var(rates) * size / len(scores) + _SURE**2) ** 0.5
    return max(0.0, rate - spread), min(1.0, rate + spread)


def expected_rate(model: LabelModel, scores: FloatArray, labels: Labels) -> float:
    """Return the mean probability that a label of today is wrong."""
    posterior = label_posterior(model.probabilities(scores), labels.likelihood(model.matrix))
    return float(1 - np.take_along_axis(posterior, labels.today[:, None], axis=1).mean())
