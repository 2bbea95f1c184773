"""Wrong labels and shuffled attributes, drawn afresh for every seed.

Noise touches what a method observes, never what it is scored on: labels of train and validation
nodes are corrupted in one draw, all other labels are withheld.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
import torch

from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import COLUMNS, Annotations
from quietgraph.data.annotator_noise import annotator_labels, labels_of_file
from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.node_noise import NODE_KINDS, feature_matrix, node_probabilities
from quietgraph.data.noise_setting import NoiseSetting, Transition, check_rate, parse_noise
from quietgraph.data.observation import Observation, Reference
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, UnknownNameError
from quietgraph.graph import CSR, Features
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask

_SIMILARITY_TEMPERATURE = 0.1  # of the class means' cosines, which lie close together


def apply_noise(
    clean: Observation,
    setting: NoiseSetting | str,
    *,
    seed: int,
    reference: Reference | None = None,
) -> Observation:
    """Return the observation as a method sees it under this noise and seed.

    The draw depends on the seed, the dataset's name and the kind and rate of the noise alone, so
    every method sees the same one, and clean validation labels leave the training labels as they
    were (exact counts excepted: they are then counted over the training nodes).

    Args:
        clean: The labels are the true ones.
        setting: Kind and rate of the noise, also as a text such as `symmetric:0.4`.
        seed: Of the draw.
        reference: True labels of all nodes, which `annotator` and `annotators` noise need.
    """
    setting = parse_noise(setting) if isinstance(setting, str) else setting
    touched = clean.split.train if setting.clean_validation else clean.split.labelled
    generator = numpy_generator(seed, "noise", clean.name, setting.label_text)
    codes, graph, annotations = clean.codes, clean.graph, clean.annotations
    if setting.crowd is not None:
        true, classes = _true_codes(reference), clean.classes
        annotations = setting.crowd.annotate(
            graph.features, true, touched, classes, generator=generator
        )
        codes = torch.where(touched, annotations.majority(), codes)
    elif setting.file_answers is not None:
        annotations = _answers_of_file(clean, setting, touched)
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


def _answers_of_file(clean: Observation, setting: NoiseSetting, touched: Mask) -> Annotations:
    """Return the answers of a file of annotators on the nodes that noise may touch."""
    table = pd.DataFrame(setting.file_answers, columns=list(COLUMNS))
    answers = read_annotations(table, clean.node_ids, clean.classes).within(touched)
    if not len(answers):
        raise InvalidLabelsError(
            f"no answer of {setting.matrix_path} is about a training or validation node of "
            f"{clean.name}. Answer some of these."
        )
    return answers


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
    sums: Any = members @ feature_matrix(features)  # as means, but for their lengths
    means = np.asarray(sums.toarray() if isinstance(features, CSR) else sums, dtype=np.float64)
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    similarity: Transition = np.exp(means @ means.T / _SIMILARITY_TEMPERATURE)
    return similarity


def _class_probabilities(
    clean: Observation, setting: NoiseSetting, generator: np.random.Generator
) -> Transition:
    """Return the probability of each observed class for each node [nodes, classes]."""
    num_classes = len(clean.classes)
    features = clean.graph.features
    if setting.kind in NODE_KINDS:
        return node_probabilities(clean.graph, clean.codes, setting, num_classes, generator)
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


def _exact_choice(codes: AnyArray, rates: AnyArray, draws: AnyArray) -> AnyArray:
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
