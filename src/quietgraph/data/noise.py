"""Wrong labels and shuffled attributes, drawn afresh for every seed.

Noise touches what a method observes, never what it is scored on: labels of train and validation nodes are corrupted
in one draw, all other labels are withheld.
"""

import hashlib
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch

from quietgraph.data.annotations import Annotations
from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.data import Data, Truth
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.simulated_annotators import crowd_answers, labels_of_file, reader_labels
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.graph import CSR, Features
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, BoolArray, FloatArray, IntArray

_INSTANCE_SPREAD: Final = 0.1  # standard deviation of a node's own rate around the noise rate


def apply_noise(data: Data, truth: Truth | None, setting: NoiseSetting | str, *, seed: int) -> Data:
    """Return the data as a method sees them under this noise and seed.

    The draw depends on the seed, the name of the data and the kind and rate of the noise alone, so every method sees
    the same one, and clean validation labels leave the training labels as they were.

    Args:
        data: The labels are the true ones.
        truth: True labels of all nodes, which `annotator` and `annotators` noise needs.
        setting: Kind and rate of the noise, also as a text such as `symmetric:0.4`.
        seed: Of the draw.
    """
    setting = parse_noise(setting) if isinstance(setting, str) else setting
    if setting.kind != "none":
        touched = data.split.train if setting.clean_validation else data.split.labelled
        answers, codes = None, _wrong_labels(data, truth, setting, touched.numpy(), seed)
        if not isinstance(codes, np.ndarray):
            answers, codes = codes, codes.majority().numpy()
        changed = torch.where(touched, torch.from_numpy(codes), data.codes)
        data = replace(data.with_codes(changed, f"labels with the noise {setting}, seed {seed}"), annotations=answers)
    if setting.attribute_rate:
        draws = numpy_generator(seed, "attribute noise", data.name, repr(setting.attribute_rate))
        features = shuffle_attributes(data.graph.features, setting.attribute_rate, generator=draws)
        data = replace(data, graph=data.graph.with_features(features))
    return data


def _wrong_labels(
    data: Data, truth: Truth | None, setting: NoiseSetting, touched: BoolArray, seed: int
) -> IntArray | Annotations:
    """Return the labels under label noise [nodes], or the answers of a crowd."""
    features, codes, num_classes, text = data.graph.features, data.codes.numpy(), len(data.classes), setting.label_text
    if setting.kind == "labels":
        return labels_of_file(str(setting.path), data.classes, len(codes))
    if setting.kind == "custom":
        matrix = _read_matrix(str(setting.path), data)
        content = repr(tuple(map(tuple, matrix.tolist())))
        text += f"#{hashlib.blake2b(content.encode(), digest_size=4).hexdigest()}"  # another content, another draw
    generator = numpy_generator(seed, "noise", data.name, text)
    if setting.kind in {"annotator", "annotators"}:
        if truth is None:
            raise InvalidParameterError(
                f"{setting.kind} noise learns from true labels, and only benchmark datasets have them. "
                "Name one, such as cora, or choose another kind of noise."
            )
        true = truth.codes.numpy()
        if setting.crowd is None:
            return reader_labels(features, true, data.split.labelled.numpy(), setting.rate, generator=generator)
        names, *answers = crowd_answers(setting.crowd, features, true, touched, num_classes, generator)
        return Annotations(names, data.classes, len(true), *answers)
    if setting.kind == "custom":
        rows = matrix[codes.clip(0)]
    else:
        rows = observed_probabilities(setting.kind, features, codes, setting.rate, num_classes, generator=generator)
    return draw_labels(codes, touched, rows, generator=generator)


def draw_labels(
    codes: IntArray, where: BoolArray, probabilities: FloatArray, *, generator: np.random.Generator
) -> IntArray:
    """Return the labels with each known one in `where` replaced by a draw from its row [nodes].

    Args:
        codes: True class of each node [nodes]; unknown ones stay unknown.
        where: Nodes whose labels may change [nodes].
        probabilities: Of each observed class [nodes, classes].
        generator: Source of the draws; the draw of a node does not depend on `where`.
    """
    draws, picks = generator.random((2, len(codes)))
    nodes, codes = np.flatnonzero(where & (codes != UNKNOWN)), codes.copy()
    wrong = probabilities[nodes]
    wrong[np.arange(len(nodes)), codes[nodes]] = 0
    flipped = np.flatnonzero(draws[nodes] < wrong.sum(axis=1))
    upto = wrong[flipped].cumsum(axis=1)
    total = upto[:, -1:]
    # Rounding must not reach the total, which would be a class beyond the last.
    thresholds = np.minimum(picks[nodes[flipped], None] * total, np.nextafter(total, 0))
    codes[nodes[flipped]] = (upto <= thresholds).sum(axis=1)
    return codes


def observed_probabilities(
    kind: str, features: Features, codes: IntArray, rate: float, num_classes: int, *, generator: np.random.Generator
) -> FloatArray:
    """Return the probability of each observed class of each node [nodes, classes].

    With `symmetric` noise every other class is equally likely, with `asymmetric` noise the class before is observed
    (the last for the first), with `random` noise the wrong classes of a class have random weights.

    With `instance` noise a node's rate is drawn from a normal distribution around `rate`, cut at equal distances so
    that `rate` is its mean. Where it is wrong, class j is observed with probability softmax_j(x W) over the other
    classes: x are the node's features, scaled to unit length, and W [features, classes] is one random matrix per true
    class, so that similar nodes are mistaken for the same class.
    """
    rates, reach = np.full(len(codes), rate), min(rate, 1 - rate) / _INSTANCE_SPREAD
    if kind == "instance":
        import scipy.special
        import scipy.stats

        wrong = scipy.special.softmax(_scores(features, codes, num_classes, generator), axis=1)
        around = scipy.stats.truncnorm(-reach, reach, loc=rate, scale=_INSTANCE_SPREAD)
        rates = around.rvs(len(codes), random_state=generator) if reach > 0 else rates
    elif kind == "symmetric":
        wrong = np.ones((len(codes), num_classes))
    elif kind == "asymmetric":
        wrong = np.roll(np.eye(num_classes), -1, axis=1)[codes.clip(0)]
    else:
        wrong = generator.random((num_classes, num_classes))[codes.clip(0)]
    nodes, codes = np.arange(len(codes)), codes.clip(0)
    wrong[nodes, codes] = 0
    probabilities: FloatArray = wrong / wrong.sum(axis=1, keepdims=True) * rates[:, None]
    probabilities[nodes, codes] = 1 - rates
    return probabilities


def _scores(features: Features, codes: IntArray, num_classes: int, draws: np.random.Generator) -> FloatArray:
    """Return x W of `instance` noise, minus infinity for the true class [nodes, classes]."""
    matrix: Any = features.to_scipy() if isinstance(features, CSR) else features.numpy()
    scores = np.zeros((len(codes), num_classes))
    for code in range(num_classes):
        members = np.flatnonzero(codes == code)
        weights = draws.standard_normal((features.shape[1], num_classes), dtype=np.float32)
        rows = matrix[members]
        squares = rows.multiply(rows) if isinstance(features, CSR) else rows * rows
        lengths = np.sqrt(np.asarray(squares.sum(axis=1), dtype=np.float64)).reshape(-1, 1)
        scores[members] = (rows @ weights) / np.maximum(lengths, 1e-12)
        scores[members, code] = -np.inf
    return scores


def _read_matrix(path: str, data: Data) -> FloatArray:
    """Return the transition matrix of a file [true class, observed class]."""
    subject, count = f"the transition matrix '{path}'", len(data.classes)
    try:
        matrix = np.loadtxt(path, delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{subject} must be rows of numbers and commas: {error}.") from error
    sums = matrix.sum(axis=1)
    if matrix.shape != (count, count) or not (matrix >= 0).all() or not np.allclose(sums, 1, atol=1e-6):
        raise InvalidParameterError(
            f"{subject} must be {count} x {count}, one row per class of {data.name}, of probabilities that sum to 1, "
            f"got shape {matrix.shape}, a smallest entry of {matrix.min(initial=1):g} and sums "
            f"{sums.round(6).tolist()}."
        )
    return np.asarray(matrix / sums[:, None])
