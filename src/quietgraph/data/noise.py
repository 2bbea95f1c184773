"""Wrong labels and shuffled attributes, drawn afresh for every seed.

Noise touches what a method observes, never what it is scored on: labels of train and validation nodes are corrupted
in one draw, all other labels are withheld.
"""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
import torch

from quietgraph.data.annotations import Annotations
from quietgraph.data.attribute_noise import shuffle_attributes
from quietgraph.data.data import Data, Truth
from quietgraph.data.noise_setting import NoiseSetting, parse_noise
from quietgraph.data.simulated_annotators import crowd_answers, labels_of_rows, read_label_file, reader_labels
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.graph import CSR, Graph
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, BoolArray, FloatArray, IntArray

_INSTANCE_SPREAD: Final = 0.1  # standard deviation of a node's own rate around the noise rate

# From graph, classes [nodes], rate, number of classes and generator: probability of each observed class of each node.
NoiseKind: TypeAlias = Callable[[Graph, IntArray, float, int, np.random.Generator], FloatArray]


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
        purpose = ("attribute noise", data.name, repr(setting.attribute_rate))
        draws = numpy_generator(seed, *purpose)
        features = shuffle_attributes(data.graph.features, setting.attribute_rate, generator=draws)
        data = replace(data, graph=data.graph.with_features(features))
    return data


def pin_file(setting: NoiseSetting) -> NoiseSetting:
    """Return the setting with a mark of what its file holds, so that another content is another setting."""
    return setting.model_copy(update={"mark": _mark(_read_file(setting))}) if setting.path else setting


def _wrong_labels(
    data: Data, truth: Truth | None, setting: NoiseSetting, touched: BoolArray, seed: int
) -> IntArray | Annotations:
    """Return the labels under label noise [nodes], or the answers of a crowd."""
    features, codes, num_classes, text = data.graph.features, data.codes.numpy(), len(data.classes), setting.label_text
    content: Any = _read_file(setting) if setting.path else None
    if setting.mark and setting.mark != _mark(content):
        raise InvalidParameterError(
            f"what '{setting.path}' holds has changed: it is not the one marked #{setting.mark}. "
            "Leave the mark out to use the new one."
        )
    if setting.kind == "labels":
        return labels_of_rows(content, data.classes, len(codes))
    if setting.kind == "custom":
        text = f"custom:{setting.path}#{_mark(content)}"
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
    if content is None:
        rows = NOISES[setting.kind](data.graph, codes, setting.rate, num_classes, generator)
        return draw_labels(codes, touched, rows, generator=generator)
    if len(content) != num_classes:
        raise InvalidParameterError(
            f"the transition matrix '{setting.path}' must be {num_classes} x {num_classes}, one row per class of "
            f"{data.name}, got {len(content)} x {len(content)}."
        )
    return draw_labels(codes, touched, np.array(content)[codes.clip(0)], generator=generator)


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


def instance(graph: Graph, codes: IntArray, rate: float, num_classes: int, draws: np.random.Generator) -> FloatArray:
    """Every node has its own rate and wrong classes, which depend on its features.

    A node's rate is drawn from a normal distribution around `rate`, cut at equal distances so that `rate` is its mean.
    Where it is wrong, class j is observed with probability softmax_j(x W) over the other classes: x are the node's
    features, scaled to unit length, and W [features, classes] is one random matrix per true class, so that similar
    nodes are mistaken for the same class.
    """
    import scipy.special
    import scipy.stats

    features = graph.features
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
    reach = min(rate, 1 - rate) / _INSTANCE_SPREAD
    around = scipy.stats.truncnorm(-reach, reach, loc=rate, scale=_INSTANCE_SPREAD)
    rates = around.rvs(len(codes), random_state=draws) if reach > 0 else np.full(len(codes), rate)
    return _spread(rates, scipy.special.softmax(scores, axis=1), codes)


def by_class(weights: Callable[[int, np.random.Generator], FloatArray]) -> NoiseKind:
    """Return noise that is the same for all nodes of a class, from the weights of wrong classes [classes, classes]."""

    def probabilities(
        _: Graph, codes: IntArray, rate: float, num_classes: int, draws: np.random.Generator
    ) -> FloatArray:
        return _spread(np.full(len(codes), rate), weights(num_classes, draws)[codes.clip(0)], codes)

    return probabilities


NOISES: Final[dict[str, NoiseKind]] = {
    "symmetric": by_class(lambda count, _: np.ones((count, count))),  # every other class is equally likely
    "asymmetric": by_class(lambda count, _: np.roll(np.eye(count), -1, axis=1)),  # the previous class, of the first
    "random": by_class(lambda count, draws: draws.random((count, count))),
    "instance": instance,
}


def _spread(rates: FloatArray, wrong: FloatArray, codes: IntArray) -> FloatArray:
    """Return rows in which the wrong classes share each node's rate [nodes, classes]."""
    nodes, codes = np.arange(len(codes)), codes.clip(0)
    wrong[nodes, codes] = 0
    probabilities = wrong / wrong.sum(axis=1, keepdims=True) * rates[:, None]
    probabilities[nodes, codes] = 1 - rates
    return probabilities


def _mark(content: object) -> str:
    return hashlib.blake2b(repr(content).encode(), digest_size=4).hexdigest()


def _read_file(setting: NoiseSetting) -> Any:
    """Return the rows of the file of a setting: of labels, or of a transition matrix (row = true class)."""
    if setting.kind == "labels":
        return read_label_file(str(setting.path))
    subject = f"the transition matrix '{setting.path}'"
    try:
        matrix = np.loadtxt(str(setting.path), delimiter=",", ndmin=2)
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{subject} must be rows of numbers and commas: {error}.") from error
    sums = matrix.sum(axis=1)
    if matrix.shape[0] != matrix.shape[1] or not (matrix >= 0).all() or not np.allclose(sums, 1, atol=1e-6):
        raise InvalidParameterError(
            f"{subject} must have as many columns as rows, and rows of probabilities that sum to 1, got shape "
            f"{matrix.shape}, a smallest entry of {matrix.min(initial=1):g} and sums {sums.round(6).tolist()}."
        )
    return tuple(tuple(row) for row in (matrix / sums[:, None]).tolist())
