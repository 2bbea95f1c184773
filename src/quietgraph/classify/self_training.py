"""Ridge regression on all nodes, taught by the predictions of another classifier."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
from torch import Tensor

from quietgraph.types import Embeddings, Probabilities

_Linear: TypeAlias = Callable[[Tensor], Tensor]

STEPS: Final = 6  # of conjugate gradients: scores to five digits on citation graphs
_CLOSE: Final = 1e-12  # of the first squared residual, where a system counts as solved


@dataclass(frozen=True, eq=False)
class SelfTraining:
    """Ridge regressions on the same rows, for any number of classifiers that teach them.

    Each weights the nodes otherwise, so each has its own Gram matrix. They are not computed: the
    one without weights, factorised once, preconditions a few steps of conjugate gradients, all of
    which are products with few columns.

    Attributes:
        rows: One row per node, less their mean [nodes, dim].
        mean: Of the rows [dim].
        lengths: Squared lengths of the centred rows [nodes].
        factor: Cholesky factor of the Gram matrix of the centred rows and the penalty [dim, dim].
    """

    rows: Embeddings
    mean: Tensor
    lengths: Tensor
    factor: Tensor

    @classmethod
    def of(cls, rows: Embeddings) -> "SelfTraining":
        """Return the regressions on these rows."""
        mean = rows.mean(dim=0)
        centred = rows - mean
        gram = centred.T @ centred / len(rows)
        size = gram.diagonal().mean().clamp_min(1e-12)  # rows without any attribute are all 0
        penalty = size * torch.eye(len(gram), dtype=rows.dtype, device=rows.device)
        lengths = torch.linalg.vector_norm(centred, dim=1).square()
        return cls(centred, mean, lengths, torch.linalg.cholesky(gram + penalty))

    def ridges(self, probabilities: Tensor, *, steps: int = STEPS) -> list[tuple[Tensor, Tensor]]:
        """Return weight [dim, classes] and intercept [classes] for every classifier.

        Soft labels are the targets, nodes count by their certainty, and the penalty is the mean
        eigenvalue of the Gram matrix. The intercept is not penalised, and how often a class occurs
        does not count: the mean row scores 0. Scores are rows @ weight + intercept.

        Args:
            probabilities: Of other classifiers [classifiers, classes, nodes].
            steps: Of conjugate gradients; 0 takes the Gram matrix without weights.
        """
        count, num_classes, num_nodes = probabilities.shape
        certainty = probabilities.amax(dim=1)  # [classifiers, nodes]
        total = certainty.sum(dim=1, keepdim=True)
        middle = certainty @ self.rows / total
        spread = (certainty @ self.lengths)[:, None] - total * middle.square().sum(1, keepdim=True)
        size = (spread / self.rows.shape[1] / num_nodes).clamp_min(1e-12)
        each_class = torch.arange(count, device=middle.device).repeat_interleave(num_classes)
        weighted, middles, sizes = certainty[each_class], middle[each_class], size[each_class]

        def multiply(table: Tensor) -> Tensor:
            """Return weights times the matrix of their normal equations [columns, dim]."""
            scores = table @ self.rows.T - (table * middles).sum(dim=1, keepdim=True)
            return (scores * weighted) @ self.rows / num_nodes + sizes * table

        targets = weighted * (probabilities - 1 / num_classes).flatten(0, 1)
        right = (targets @ self.rows - targets.sum(dim=1, keepdim=True) * middles) / num_nodes
        table = _conjugate_gradients(multiply, right, self._precondition, steps)
        intercept = -(table * (middles + self.mean)).sum(dim=1).view(count, num_classes)
        weights = table.view(count, num_classes, -1).transpose(1, 2)
        return list(zip(weights, intercept, strict=True))

    def _precondition(self, table: Tensor) -> Tensor:
        return torch.cholesky_solve(table.T, self.factor).T


def _conjugate_gradients(
    multiply: _Linear, right: Tensor, precondition: _Linear, steps: int
) -> Tensor:
    """Return approximate solutions of positive definite systems, one per row [systems, dim].

    Without steps, what the preconditioner makes of the right side.
    """
    direction = precondition(right)
    if steps == 0:
        return direction
    found, residual = torch.zeros_like(right), right
    closeness = (residual * direction).sum(dim=1, keepdim=True)
    least = (_CLOSE * closeness).clamp_min(torch.finfo(right.dtype).tiny)
    for _ in range(steps):
        image = multiply(direction)
        curvature = (direction * image).sum(dim=1, keepdim=True)
        goes_on = (closeness > least) & (curvature > 0)  # further steps would follow rounding
        length = torch.where(goes_on, closeness / curvature, 0)
        found, residual = found + length * direction, residual - length * image
        nearer = precondition(residual)
        before, closeness = closeness, (residual * nearer).sum(dim=1, keepdim=True)
        direction = nearer + torch.where(goes_on, closeness / before, 0) * direction
    return found


def self_trained_ridge(rows: Embeddings, probabilities: Probabilities) -> tuple[Tensor, Tensor]:
    """Return weight [dim, classes] and intercept [classes] of `SelfTraining.ridges`.

    Args:
        rows: One row per node [nodes, dim].
        probabilities: Class probabilities from another classifier [nodes, classes].
    """
    return SelfTraining.of(rows).ridges(probabilities.T[None])[0]
