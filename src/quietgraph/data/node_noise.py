"""Probabilities of wrong labels that differ from node to node: by attributes, region or degree."""

from typing import Any, Final

import numpy as np
import scipy.special
import scipy.stats
from sklearn.cluster import MiniBatchKMeans
from sklearn.preprocessing import normalize

from quietgraph.data.noise_setting import NoiseSetting, Transition
from quietgraph.graph import CSR, Features, Graph
from quietgraph.types import UNKNOWN, FloatArray, IntArray, Labels

_INSTANCE_SPREAD: Final = 0.1  # standard deviation of a node's own rate around the noise rate
_REGIONS: Final = 3  # regions of feature space per class
_HIGHEST_RATE: Final = 0.9  # of a node, where regions or degrees differ
NODE_KINDS: Final = ("instance", "cluster", "degree")


def node_probabilities(
    graph: Graph,
    labels: Labels,
    setting: NoiseSetting,
    num_classes: int,
    generator: np.random.Generator,
) -> Transition:
    """Return each node's own probabilities of the observed classes [nodes, classes]."""
    if setting.kind == "degree":
        degrees = graph.adjacency.row_pointer.diff().cpu().numpy()
        return degree_probabilities(degrees, labels, setting.rate, num_classes)
    draw = {"instance": instance_probabilities, "cluster": cluster_probabilities}[setting.kind]
    return draw(graph.features, labels, setting.rate, num_classes, generator=generator)


def instance_probabilities(
    features: Features,
    labels: Labels,
    rate: float,
    num_classes: int,
    *,
    generator: np.random.Generator,
) -> Transition:
    """Return each node's own probabilities of the observed classes [nodes, classes].

    A node's rate is drawn from a normal distribution around `rate`, cut to 0 ... 1. Where it is
    wrong, class j is observed with probability softmax_j(x W) over the other classes: x are the
    node's features, scaled to unit length, and W [features, classes] is one random matrix per
    true class, so that similar nodes are mistaken for the same class.

    Args:
        features: One row per node [nodes, features].
        labels: True classes [nodes]; rows of unknown ones are even and mean nothing.
        rate: Mean of the rates before they are cut; 0 means no noise.
        num_classes: Number of classes, at least 2.
        generator: Source of the draws.
    """
    codes = labels.cpu().numpy()
    matrix = feature_matrix(features)
    scores = np.zeros((len(codes), num_classes))
    for code in range(num_classes):
        members = np.flatnonzero(codes == code)
        weights = generator.standard_normal((features.shape[1], num_classes), dtype=np.float32)
        rows = matrix[members]
        squares = rows.multiply(rows) if isinstance(features, CSR) else rows * rows
        lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64)).reshape(-1, 1)
        scores[members] = (rows @ weights) / np.maximum(lengths, 1e-12)
        scores[members, code] = -np.inf
    probabilities = scipy.special.softmax(scores, axis=1)
    rates = np.zeros(len(codes))
    if rate > 0:
        low, high = -rate / _INSTANCE_SPREAD, (1 - rate) / _INSTANCE_SPREAD
        around = scipy.stats.truncnorm(low, high, loc=rate, scale=_INSTANCE_SPREAD)
        rates = around.rvs(len(codes), random_state=generator)
    probabilities *= rates[:, None]
    probabilities[np.arange(len(codes)), codes.clip(0)] = 1 - rates
    return np.asarray(probabilities)


def cluster_probabilities(
    features: Features,
    labels: Labels,
    rate: float,
    num_classes: int,
    *,
    generator: np.random.Generator,
) -> Transition:
    """Return the probabilities of the observed classes where every region has its own noise matrix.

    Regions are clusters of the unit feature rows (k-means, three per class). Each has a rate and,
    for every true class, random proportions of the wrong ones, mostly one or two of them: as
    annotators who know some subjects and not others.

    Args:
        features: One row per node [nodes, features].
        labels: True classes [nodes]; rows of unknown ones mean nothing.
        rate: Mean rate of the nodes whose class is known.
        num_classes: Number of classes, at least 2.
        generator: Source of the regions and of their matrices.
    """
    count = min(_REGIONS * num_classes, len(labels))
    seed = int(generator.integers(2**31))
    means = MiniBatchKMeans(count, random_state=seed, n_init=3, batch_size=2048)
    region = means.fit_predict(normalize(feature_matrix(features)))
    rates = scale_rates(generator.random(count)[region], labels, rate)
    wrong = generator.dirichlet(np.full(num_classes, 0.5), (count, num_classes))
    return _spread(rates, wrong[region, labels.clamp(min=0).numpy()], labels)


def degree_probabilities(
    degrees: IntArray,
    labels: Labels,
    rate: float,
    num_classes: int,
) -> Transition:
    """Return the probabilities of the observed classes where nodes of few edges err more.

    A node's rate is proportional to 1 / sqrt(degree + 1); wrong classes are equally likely.

    Args:
        degrees: Number of neighbours [nodes].
        labels: True classes [nodes]; rows of unknown ones mean nothing.
        rate: Mean rate of the nodes whose class is known.
        num_classes: Number of classes, at least 2.
    """
    rates = scale_rates(1 / np.sqrt(degrees + 1.0), labels, rate)
    return _spread(rates, np.ones((len(labels), num_classes)), labels)


def scale_rates(relative: FloatArray, labels: Labels, rate: float) -> FloatArray:
    """Return rates in proportion to some positive numbers, with a wanted mean [nodes].

    Rates are cut at 0.9, or at the wanted mean where that is higher; the mean is over the nodes
    whose class is known.
    """
    known, most = (labels != UNKNOWN).numpy(), max(rate, _HIGHEST_RATE)
    low, high = 0.0, most / max(float(relative.min()), 1e-9)
    for _ in range(100):  # bisection: the mean grows with the factor
        factor = (low + high) / 2
        mean = np.minimum(factor * relative, most)[known].mean() if known.any() else rate
        low, high = (factor, high) if mean < rate else (low, factor)
    return np.minimum(high * relative, most)


def _spread(rates: FloatArray, wrong: Transition, labels: Labels) -> Transition:
    """Return rows in which the wrong classes share each node's rate [nodes, classes]."""
    nodes, codes = np.arange(len(labels)), labels.clamp(min=0).numpy()
    wrong[nodes, codes] = 0
    total = wrong.sum(axis=1, keepdims=True)
    even = np.full_like(wrong, 1 / (wrong.shape[1] - 1))
    even[nodes, codes] = 0
    # A region whose wrong labels would all be the class itself spreads them evenly.
    probabilities = np.where(total > 1e-9, wrong / np.maximum(total, 1e-9), even) * rates[:, None]
    probabilities[nodes, codes] = 1 - rates
    return probabilities


def feature_matrix(features: Features) -> Any:
    """Return the features as a SciPy or NumPy matrix."""
    return features.to_scipy() if isinstance(features, CSR) else features.cpu().numpy()
