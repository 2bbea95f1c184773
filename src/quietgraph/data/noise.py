"""Wrong labels and shuffled attributes, drawn afresh for every seed.

Noise touches what a method observes, never what it is scored on: labels of train and validation
nodes are corrupted in one draw, all other labels are withheld.
"""

from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
import scipy.special
import scipy.stats
import torch

from quietgraph.data.annotator_noise import annotator_labels, labels_of_file
from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.noise_setting import NoiseSetting, Transition, check_rate
from quietgraph.data.observation import Observation, Reference
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.graph import CSR, Features
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, Labels, Mask

_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_SIMILARITY_TEMPERATURE = 0.1  # of the class means' cosines, which lie close together
_INSTANCE_SPREAD = 0.1  # standard deviation of a node's own rate around the noise rate


def apply_noise(
    clean: Observation, setting: NoiseSetting, *, seed: int, reference: Reference | None = None
) -> Observation:
    """Return the observation as a method sees it under this noise and seed.

    The draw depends on the seed, the dataset's name and the kind and rate of the noise alone, so
    every method sees the same one, and clean validation labels leave the training labels as they
    were (exact counts excepted: they are then counted over the training nodes).

    Args:
        clean: The labels are the true ones.
        setting: Kind and rate of the noise.
        seed: Of the draw.
        reference: True labels of all nodes, which `annotator` and `annotators` noise need.
    """
    touched = clean.split.train if setting.clean_validation else clean.split.labelled
    generator = numpy_generator(seed, "noise", clean.name, setting.label_text)
    codes, graph, annotations = clean.codes, clean.graph, clean.annotations
    if setting.crowd is not None:
        true, classes = _true_codes(reference), clean.classes
        annotations = setting.crowd.annotate(
            graph.features, true, touched, classes, generator=generator
        )
        codes = torch.where(touched, annotations.majority(), codes)
    elif setting.kind in {"annotator", "labels"}:
        labels = _observed_labels(clean, setting, reference, generator)
        codes = torch.where(touched, labels, codes)
    elif setting.kind != "none":
        probabilities = _class_probabilities(clean, setting, generator)
        codes = draw_labels(codes, touched, probabilities, setting.exact_count, generator=generator)
    if setting.attribute_rate:
        where = clean.split.labelled
        if setting.scope == "all":
            where = torch.ones_like(where)
        purpose = ("attribute noise", clean.name, repr(setting.attribute_rate))
        features = shuffle_attributes(
            graph.features,
            setting.attribute_rate,
            where,
            generator=numpy_generator(seed, *purpose),
        )
        graph = graph.with_features(features)
    return replace(clean, graph=graph, codes=codes, annotations=annotations)


def _observed_labels(
    clean: Observation,
    setting: NoiseSetting,
    reference: Reference | None,
    generator: np.random.Generator,
) -> Labels:
    """Return the labels that an annotator gives, or that a file has [nodes]."""
    if setting.file_labels is not None:
        return labels_of_file(setting.file_labels, clean.classes, clean.split.labelled)
    return annotator_labels(
        clean.graph.features,
        _true_codes(reference),
        clean.split.labelled,
        setting.rate,
        generator=generator,
    )


def _true_codes(reference: Reference | None) -> Labels:
    if reference is None:
        raise InvalidParameterError(
            "annotator noise learns from true labels, and only benchmark datasets have them. "
            "Name one, such as cora, or choose another kind of noise."
        )
    return reference.codes


def transition_matrix(
    kind: str,
    rate: float,
    num_classes: int,
    *,
    similarity: Transition | None = None,
    generator: np.random.Generator | None = None,
) -> Transition:
    """Return the probability of each observed class (column) for each true class (row).

    The diagonal is 1 - rate. The rest of a row goes evenly to all other classes (`symmetric`), to
    the previous class index, from the first to the last (`asymmetric`), in proportion to the
    similarity of the classes (`similarity`), or in random proportions (`random`).

    Args:
        kind: `symmetric`, `asymmetric`, `similarity` or `random`.
        rate: Probability of a wrong label, 0 to 1.
        num_classes: Number of classes, at least 2.
        similarity: Positive weights of class pairs [classes, classes], for `similarity`.
        generator: Source of the proportions, for `random`.
    """
    check_rate(rate, "noise rate")
    if num_classes < 2:
        raise InvalidParameterError(
            f"label noise needs at least 2 classes to confuse, got {num_classes}."
        )
    weights = _wrong_weights(kind, num_classes, similarity, generator)
    np.fill_diagonal(weights, 0)
    matrix: Transition = rate * weights / weights.sum(axis=1, keepdims=True)
    np.fill_diagonal(matrix, 1 - rate)
    return matrix


def class_similarity(features: Features, labels: Labels, num_classes: int) -> Transition:
    """Return exp(cosine / temperature) of the mean features of classes [classes, classes]."""
    codes = labels.cpu().numpy()
    nodes = np.flatnonzero(codes >= 0)
    ones = np.ones(len(nodes), dtype=np.float32)
    members = scipy.sparse.csr_matrix(
        (ones, (codes[nodes], nodes)), shape=(num_classes, len(codes))
    )
    sums: Any = members @ _matrix(features)  # as means, but for their lengths
    means = np.asarray(sums.toarray() if isinstance(features, CSR) else sums, dtype=np.float64)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    similarity: Transition = np.exp(means @ means.T / _SIMILARITY_TEMPERATURE)
    return similarity


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
    matrix = _matrix(features)
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


def _class_probabilities(
    clean: Observation, setting: NoiseSetting, generator: np.random.Generator
) -> Transition:
    """Return the probability of each observed class for each node [nodes, classes]."""
    num_classes = len(clean.classes)
    features = clean.graph.features
    if setting.kind == "instance":
        return instance_probabilities(
            features, clean.codes, setting.rate, num_classes, generator=generator
        )
    if setting.matrix is not None:
        matrix = np.array(setting.matrix)
        if len(matrix) != num_classes:
            raise InvalidParameterError(
                f"the transition matrix '{setting.matrix_path}' must be {num_classes} x "
                f"{num_classes}, one row per class of {clean.name}, got {len(matrix)} x "
                f"{len(matrix)}."
            )
    else:
        similarity = None
        if setting.kind == "similarity":
            similarity = class_similarity(features, clean.codes, num_classes)
        matrix = transition_matrix(
            setting.kind, setting.rate, num_classes, similarity=similarity, generator=generator
        )
    rows: Transition = matrix[clean.codes.clamp(min=0).numpy()]
    return rows


def _wrong_weights(
    kind: str,
    num_classes: int,
    similarity: Transition | None,
    generator: np.random.Generator | None,
) -> Transition:
    """Return how the wrong labels of each class are distributed, but for the diagonal."""
    if kind == "symmetric":
        return np.ones((num_classes, num_classes))
    if kind == "asymmetric":
        return np.roll(np.eye(num_classes), -1, axis=1)
    if kind == "similarity":
        if similarity is None:
            raise InvalidParameterError("the noise kind 'similarity' needs a similarity matrix.")
        return np.array(similarity, dtype=np.float64)
    if kind == "random":
        if generator is None:
            raise InvalidParameterError("the noise kind 'random' needs a generator.")
        return generator.random((num_classes, num_classes))
    known = ("symmetric", "asymmetric", "similarity", "random")
    raise UnknownNameError("transition matrix", kind, known)


def draw_labels(
    labels: Labels,
    where: Mask,
    probabilities: Transition,
    exact_count: bool = False,
    *,
    generator: np.random.Generator,
) -> Labels:
    """Return the labels with each known one in `where` replaced by a draw from its row.

    Args:
        labels: True class of each node [nodes]; unknown ones stay unknown.
        where: Nodes whose labels may change [nodes].
        probabilities: Of each observed class [nodes, classes].
        exact_count: Change exactly round(n * rate) labels of a class with n nodes in `where`.
        generator: Source of the draws; the draw of a node does not depend on `where`.
    """
    draws, picks = generator.random((2, len(labels)))
    codes = labels.cpu().numpy().copy()
    nodes = np.flatnonzero(where.cpu().numpy() & (codes != UNKNOWN))
    wrong = probabilities[nodes]
    wrong[np.arange(len(nodes)), codes[nodes]] = 0
    rates = wrong.sum(axis=1)
    flipped = np.flatnonzero(draws[nodes] < rates)
    if exact_count:
        flipped = _exact_choice(codes[nodes], rates, draws[nodes])
    upto = wrong[flipped].cumsum(axis=1)
    total = upto[:, -1:]
    # Rounding must not reach the total, which would be a class beyond the last.
    thresholds = np.minimum(picks[nodes[flipped], None] * total, np.nextafter(total, 0))
    codes[nodes[flipped]] = (upto <= thresholds).sum(axis=1)
    return torch.from_numpy(codes).to(labels.device)


def _exact_choice(codes: _Array, rates: _Array, draws: _Array) -> _Array:
    """Return the expected number of nodes of each class, a node the likelier the larger its rate.

    Ordering by log(1 - draw) / rate draws without replacement in proportion to the rates.
    """
    possible = np.flatnonzero(rates > 0)
    keys = np.full(len(rates), -np.inf)
    with np.errstate(over="ignore"):  # next to a rate of 1e-320 all others come first
        keys[possible] = np.log1p(-draws[possible]) / rates[possible]
    chosen = [np.empty(0, dtype=np.int64)]
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        count = round(round(float(rates[members].sum()), 9))  # 2.4999999999 is a rounded 2.5
        chosen.append(members[np.argsort(-keys[members], kind="stable")[:count]])
    return np.concatenate(chosen)


def _matrix(features: Features) -> Any:
    """Return the features as a SciPy or NumPy matrix."""
    return features.to_scipy() if isinstance(features, CSR) else features.cpu().numpy()
