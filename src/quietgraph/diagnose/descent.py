"""Gradient descent of a linear classifier on the squared error, in closed form.

The classifier starts at W = 0 and steps W <- W - rate H_L^T (H_L W - Y_L). In the singular
directions H_L = Q diag(sqrt(s)) V^T each coordinate runs by itself, so t steps cost as much as
one: V^T W(t) = diag((1 - (1 - rate s)^t) / sqrt(s)) Q^T Y_L.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnose.kernel import Scale, cross_product, eigenbasis, row_blocks
from quietgraph.types import Embeddings


@dataclass(frozen=True, eq=False)
class Descent:
    """The classifier after each number of steps, in the singular directions of H_L."""

    embeddings: Embeddings  # H_L [labelled, dim]
    targets: Tensor  # Y_L, what it learns [labelled, classes]
    scale: Scale
    values: Tensor  # s, the eigenvalues of K_LL above zero [rank]
    basis: Tensor  # V [dim, rank]
    left: Tensor  # (1 - rate s)^t, the fraction not yet fitted [steps, rank]


def descend(
    embeddings: Embeddings, targets: Tensor, *, rate: float, steps: Sequence[int], scale: Scale
) -> Descent:
    """Return the classifier that labelled nodes give after each number of steps.

    Args:
        embeddings: The labelled nodes [labelled, dim].
        targets: What it learns there [labelled, classes].
        rate: The learning rate, above 0 and below 1 / (largest eigenvalue of K).
        steps: The numbers of steps.
        scale: "unit" for rows of length 1, "raw" for the rows as they are.
    """
    values, basis = eigenbasis(embeddings, scale=scale)
    times = torch.tensor(list(steps), dtype=torch.float64).unsqueeze(1)
    left = torch.exp(times * torch.log1p(-rate * values))
    return Descent(embeddings, targets, scale, values, basis, left)


def unfitted_loss(descent: Descent, targets: Tensor) -> Tensor:
    """Return |(I - rate K_LL)^t Y|^2 [steps]: what is not yet fitted of targets Y."""
    energy = _along(descent, targets).square().sum(dim=1)
    # What lies outside the range of K_LL is never fitted.
    outside = (targets.square().sum() - energy.sum()).clamp(min=0)
    return descent.left.square() @ energy + outside


def fitted_loss(descent: Descent, targets: Tensor) -> Tensor:
    """Return |(I - (I - rate K_LL)^t) Y|^2 [steps]: what is already fitted of targets Y."""
    energy = _along(descent, targets).square().sum(dim=1)
    return (1 - descent.left).square() @ energy


def unseen_loss(descent: Descent, embeddings: Embeddings, right: Tensor) -> Tensor:
    """Return the mean over other nodes of |output - right|^2 [steps].

    Args:
        descent: The classifier.
        embeddings: The other nodes [others, dim].
        right: What their outputs should be [others, classes].
    """
    rank = len(descent.values)
    gram = torch.zeros(rank, rank, dtype=torch.float64)
    for rows in row_blocks(embeddings, scale=descent.scale):
        seen = rows @ descent.basis
        gram.addmm_(seen.T, seen)
    cross = descent.basis.T @ cross_product(embeddings, right, scale=descent.scale)
    full = _along(descent, descent.targets) / descent.values.sqrt().unsqueeze(1)
    losses = []
    for left in descent.left:
        weights = (1 - left).unsqueeze(1) * full  # V^T W(t) [rank, classes]
        losses.append((weights * (gram @ weights - 2 * cross)).sum() + right.square().sum())
    return (torch.stack(losses) / len(right)).clamp(min=0)


def _along(descent: Descent, targets: Tensor) -> Tensor:
    """Return Q^T Y [rank, classes] for targets Y on the labelled nodes."""
    product = cross_product(descent.embeddings, targets, scale=descent.scale)
    return descent.basis.T @ product / descent.values.sqrt().unsqueeze(1)
