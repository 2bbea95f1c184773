"""How many observed labels are wrong, and which class is mistaken for which.

Out-of-fold predictions do not know the node's own label. On the most confident nodes (the anchors)
the predicted class is nearly always right, so the observed labels there show the noise itself. More
confident anchors are purer but fewer: the fraction that is kept is the one whose agreement is
largest after one standard error is subtracted.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.errors import InvalidLabelsError
from quietgraph.types import UNKNOWN, Labels, Probabilities

_FRACTIONS = tuple(k / 10 for k in range(1, 11))
_BOUND = 2.0  # standard errors
_LEAST_RATE = 1e-3  # keeps the prior of clean labels proper
_SMALL_RATE = 0.05  # below it differences between classes are chance
_WEIGHTS = tuple(2.0**k for k in range(11))


@dataclass(frozen=True, eq=False)
class NoiseEstimate:
    """What the out-of-fold predictions say of the label noise.

    Attributes:
        rate: The estimated fraction of wrong labels.
        standard_error: Of the rate, from the number of anchors alone.
        transition: T [classes, classes], row = right class, column = observed class.
        num_anchors: On how many nodes it rests.
        num_nodes: How many nodes had an observed label.
    """

    rate: float
    standard_error: float
    transition: Tensor
    num_anchors: int
    num_nodes: int


def estimate_noise(probabilities: Probabilities, labels: Labels) -> NoiseEstimate:
    """Return the estimated noise rate and transition matrix.

    It cannot see noise that most labels of a class share, nor noise that follows the features.

    Args:
        probabilities: Out-of-fold: each row from a model that did not see this node's own label
            [nodes, classes].
        labels: Observed [nodes], -1 where unknown; nodes without a label are left out.
    """
    _check_inputs(probabilities, labels)
    known = labels != UNKNOWN
    observed, confidence = labels[known], probabilities[known].to(torch.float64)
    predicted = confidence.argmax(dim=1)
    place = _place_in_class(predicted, confidence.max(dim=1).values)
    fractions = torch.tensor(_FRACTIONS, dtype=torch.float64)
    kept = place < fractions[_best_fraction(place, predicted == observed, fractions)]
    num_classes = probabilities.shape[1]
    counts = _count_pairs(predicted[kept], observed[kept], num_classes)
    transition = smooth_noise_matrix(counts)
    frequency = predicted.bincount(minlength=num_classes) / len(predicted)
    rate = float((frequency * (1 - transition.diagonal())).sum())
    num_anchors = int(kept.sum())
    error = (max(rate * (1 - rate), 0.25 / num_anchors) / num_anchors) ** 0.5
    return NoiseEstimate(rate, error, transition, num_anchors, len(observed))


def _place_in_class(predicted: Tensor, confidence: Tensor) -> Tensor:
    """Return each node's place among those of its predicted class, 0 = most confident, below 1."""
    order = confidence.argsort(descending=True, stable=True)
    order = order[predicted[order].argsort(stable=True)]
    sizes = predicted.bincount()
    starts = sizes.cumsum(0) - sizes
    ordered = predicted[order]
    place = torch.empty(len(predicted), dtype=torch.float64)
    place[order] = (torch.arange(len(order)) - starts[ordered]).double() / sizes[ordered]
    return place


def _best_fraction(place: Tensor, agrees: Tensor, fractions: Tensor) -> int:
    """Return the position of the fraction whose anchors agree most with the labels, for certain.

    By Wilson's lower bound of the agreement: a few anchors that all agree prove little.
    """
    anchors = place[None] < fractions[:, None]
    count, z = anchors.sum(dim=1).double(), _BOUND
    mean = (anchors & agrees).sum(dim=1) / count
    centre = mean + z**2 / (2 * count)
    spread = z * (mean * (1 - mean) / count + z**2 / (4 * count**2)).sqrt()
    return int(((centre - spread) / (1 + z**2 / count)).argmax())


def _count_pairs(rows: Tensor, columns: Tensor, num_classes: int) -> Tensor:
    pairs = rows * num_classes + columns
    return pairs.bincount(minlength=num_classes**2).view(num_classes, num_classes).double()


def smooth_noise_matrix(counts: Tensor) -> Tensor:
    """Return T from the counts, drawn towards symmetric noise as far as the counts suggest it.

    The posterior mean under a Dirichlet prior around the symmetric matrix of the pooled rate,
    whose weight has the largest marginal likelihood.
    """
    symmetric = symmetric_noise(float(1 - counts.trace() / counts.sum()), len(counts))
    priors = torch.tensor(_WEIGHTS, dtype=torch.float64)[:, None, None] * symmetric
    posterior = counts + priors[int(_evidence(counts, priors).argmax())]
    return posterior / posterior.sum(dim=1, keepdim=True)


def symmetric_noise(rate: float, num_classes: int) -> Tensor:
    """Return T with one rate of wrong labels, spread evenly over the other classes."""
    rate = min(max(rate, _LEAST_RATE), 1 - _LEAST_RATE)
    matrix = torch.full((num_classes, num_classes), rate / (num_classes - 1), dtype=torch.float64)
    return matrix.fill_diagonal_(1 - rate)


def asymmetry(noise_matrix: Tensor) -> float:
    """Return how far a noise matrix is from symmetric noise of its mean rate: 0 is symmetric.

    The root mean square difference of a row, in units of the rate: 0.6 or more where every class
    is mistaken for one other.
    """
    matrix, classes = noise_matrix.double(), len(noise_matrix)
    rate = float(1 - matrix.diagonal().mean())
    apart = (matrix - symmetric_noise(rate, classes)).square().sum() / classes
    return float(apart.sqrt()) / max(rate, _SMALL_RATE)


def _evidence(counts: Tensor, priors: Tensor) -> Tensor:
    """Return the log marginal likelihood of the rows under Dirichlet-multinomial draws [priors]."""
    sums = priors.sum(dim=2)
    whole = torch.lgamma(sums) - torch.lgamma(sums + counts.sum(dim=1))
    parts = torch.lgamma(counts + priors) - torch.lgamma(priors)
    return whole.sum(dim=1) + parts.sum(dim=(1, 2))


def _check_inputs(probabilities: Probabilities, labels: Labels) -> None:
    if probabilities.dim() != 2 or probabilities.shape[1] < 2:
        raise InvalidLabelsError(
            "probabilities must have the shape [nodes, classes] with two classes or more, got "
            f"{list(probabilities.shape)}."
        )
    num_nodes, num_classes = probabilities.shape
    if labels.dim() != 1 or len(labels) != num_nodes:
        raise InvalidLabelsError(
            f"labels must have one entry per row of probabilities ({num_nodes}), got shape "
            f"{list(labels.shape)}. Mark unlabelled nodes with -1."
        )
    if not bool(((labels >= UNKNOWN) & (labels < num_classes)).all()):
        raise InvalidLabelsError(
            f"labels must lie between -1 and {num_classes - 1}, the last column of "
            f"probabilities, got {int(labels.min())} to {int(labels.max())}."
        )
    known = labels != UNKNOWN
    if not bool(known.any()):
        raise InvalidLabelsError("labels must be known (not -1) for at least one node.")
    if not bool(torch.isfinite(probabilities[known]).all()):
        raise InvalidLabelsError("probabilities must be finite on every labelled node.")
