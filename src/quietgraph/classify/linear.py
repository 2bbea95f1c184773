"""Linear transductive classifiers: the paper's gradient descent, and ridge regression.

Both fit on training labels, and choose their one setting (steps, penalty) and the temperature of
their probabilities by validation labels, which may be as noisy.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.eigen import eigen, eigenvalues
from quietgraph.types import Embeddings, Labels, Mask, Scores

PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
STEPS = (1, 3, 10, 30, 100, 300, 1000, 3000)
_SHARPNESS = tuple(2.0**power for power in range(-2, 8))
_STEP_FRACTION = 0.99  # of 1 / lambda_1, the largest step for which descent converges


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A linear classifier and what validation chose for it."""

    weight: Tensor  # [dim, classes]; includes the sharpness of the softmax
    bias: Tensor  # [classes]; zero for gradient descent, which has no intercept
    chosen: float  # penalty or number of steps
    validation_accuracy: float

    def scores(self, features: Embeddings) -> Scores:
        """Return log-odds up to a constant per node; softmax gives probabilities."""
        return features @ self.weight + self.bias


def fit_ridge(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    penalties: Iterable[float] = PENALTIES,
) -> LinearFit:
    """Return ridge regression onto centred one-hot labels, the penalty chosen on validation.

    Minimises |Z W - T|^2 + penalty s |W|^2 over the labelled rows Z less their mean, which gives an
    intercept without a penalty: the mean labelled row scores 0 for every class. How often a class
    occurs among few and partly wrong labels does not count. s is the mean squared length of these
    rows, so that a penalty means the same whatever the scale of the features. With weights, one
    per training node, all means and sums are weighted.
    """
    # In double precision: with a small penalty, single precision keeps three digits of the scores.
    targets = F.one_hot(labels[train], num_classes).double() - 1 / num_classes
    exact = None if weights is None else weights.double()
    solutions = ridge_path(features[train].double(), targets, tuple(penalties), weights=exact)
    return _choose(features, labels, validation, solutions)


def fit_linear(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    steps: Iterable[int] = STEPS,
    step_size: str = "labelled",
) -> LinearFit:
    """Return softmax regression by gradient descent from W = 0, the steps chosen on validation.

    Full batch, mean cross-entropy over the m training nodes. The step size is 0.99 / lambda_1
    with lambda_1 the largest eigenvalue of Z_L Z_L^T / m of the training rows ("labelled"), the
    limit under which descent on this loss converges; or of the Gram matrix K = Z Z^T of all rows,
    as the paper prints it ("printed"). The latter is smaller by about the number of nodes, so
    that it needs so many times the steps.

    Args:
        features: One row per node [nodes, dim].
        labels: Class codes [nodes].
        train: Nodes to learn from.
        validation: Nodes to choose the steps by.
        num_classes: Number of classes.
        weights: How much each training label counts, 1 on average; all alike without them.
        steps: The numbers of steps to choose from.
        step_size: `labelled` or `printed`.
    """
    labelled, targets = features[train], F.one_hot(labels[train], num_classes).to(features.dtype)
    relative = None if weights is None else weights[:, None] / weights.mean()
    count = len(labelled) if step_size == "labelled" else 1
    rows = labelled if step_size == "labelled" else features
    if relative is not None and step_size == "labelled":
        rows = rows * relative.sqrt()
    rate = _STEP_FRACTION * count / _largest_eigenvalue(rows)
    weight = features.new_zeros(features.shape[1], num_classes)
    bias = features.new_zeros(num_classes)
    wanted, solutions = set(steps), {}
    for step in range(1, max(wanted) + 1):
        residual = (labelled @ weight).softmax(dim=1) - targets
        residual = residual if relative is None else residual * relative
        weight = weight - rate / len(labelled) * (labelled.T @ residual)
        if step in wanted:
            solutions[float(step)] = weight, bias
    return _choose(features, labels, validation, solutions)


def accuracy(scores: Scores, labels: Labels, where: Mask) -> float:
    """Return the fraction of nodes in `where` whose largest score is at their label."""
    return float((scores[where].argmax(dim=1) == labels[where]).float().mean())


def ridge_path(
    labelled: Tensor,
    targets: Tensor,
    penalties: tuple[float, ...],
    *,
    weights: Tensor | None = None,
) -> dict[float, tuple[Tensor, Tensor]]:
    """Return weight [dim, targets] and intercept [targets] for every penalty.

    One eigendecomposition of the smaller Gram matrix serves all. The rows are centred on their
    mean, whose scores are 0; the mean of the targets is left out.
    """
    if weights is None:
        middle = labelled.mean(dim=0)
        rows = labelled - middle
    else:
        middle = weights / weights.sum() @ labelled
        root = (weights / weights.mean()).sqrt()[:, None]
        rows, targets = (labelled - middle) * root, targets * root
    scale = rows.square().sum(dim=1).mean().clamp_min(torch.finfo(rows.dtype).tiny)
    if len(rows) <= rows.shape[1]:
        values, vectors = eigen(rows @ rows.T / scale)
        left, right = rows.T @ vectors / scale, vectors.T @ targets
    else:
        values, vectors = eigen(rows.T @ rows / scale)
        left, right = vectors, vectors.T @ (rows.T @ targets) / scale
    path = {}
    for penalty in penalties:
        weight = left @ (right / (values.clamp_min(0) + penalty)[:, None])
        path[penalty] = weight, -(middle @ weight)
    return path


def _choose(
    features: Embeddings,
    labels: Labels,
    validation: Mask,
    solutions: dict[float, tuple[Tensor, Tensor]],
) -> LinearFit:
    held_out, wanted = features[validation], labels[validation]
    fits, merits = [], []
    for setting, (weight, bias) in solutions.items():
        scores = held_out.to(weight.dtype) @ weight + bias
        hits = float((scores.argmax(dim=1) == wanted).float().mean())
        sharpness, cost = _sharpen(scores, wanted)
        sharp = [(one * sharpness).to(features.dtype) for one in (weight, bias)]
        fits.append(LinearFit(sharp[0], sharp[1], setting, hits))
        merits.append((hits, -cost))  # ties go to the likelier labels
    return fits[max(range(len(fits)), key=merits.__getitem__)]


def _sharpen(scores: Scores, wanted: Labels) -> tuple[float, float]:
    """Return the factor under which held-out labels are likeliest, and their cost there."""
    unit = scores.std().clamp_min(1e-12)
    costs = [
        (float(F.cross_entropy(scores * (factor / unit), wanted)), factor / float(unit))
        for factor in _SHARPNESS
    ]
    cost, sharpness = min(costs)
    return sharpness, cost


def _largest_eigenvalue(rows: Tensor) -> Tensor:
    """Return the largest eigenvalue of Z Z^T through the smaller of the two Gram matrices."""
    smaller = rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T
    return eigenvalues(smaller)[-1].clamp_min(torch.finfo(rows.dtype).tiny)
