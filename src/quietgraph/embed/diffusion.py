"""Personalised PageRank of features by power iteration: no inverse, nothing N x N."""

import math

import torch
from torch import Tensor

from quietgraph.embed.propagation import project, propagate
from quietgraph.graph import CSR, Features

_REST = 0.02  # fraction of the walk's weight left to its last step
_MOST_KEPT = 2**28  # entries of a dense matrix kept for a whole training, 1 GiB
_BLOCK = 256  # feature columns that are diffused together


def diffuse(operator: CSR, dense: Tensor, teleport: float) -> Tensor:
    """Return S @ dense for S = a sum_k (1 - a)^k A^k with a = teleport [nodes, dim].

    The recursion Y <- (1 - a) A Y + a Y_0 stops when 2 % of the weight is left, which then lies
    on the last power: the weights sum to 1. The gradient reaches `dense`.
    """
    result, start = dense, dense * teleport
    for _ in range(num_steps(teleport)):
        result = torch.add(start, propagate(operator, result), alpha=1 - teleport)
    return result


def num_steps(teleport: float) -> int:
    """Return the number of propagations after which little is left to come."""
    return 0 if teleport >= 1 else math.ceil(math.log(_REST) / math.log(1 - teleport))


class DiffusedFeatures:
    """Rows of S @ features, diffused once where that fits in memory, else at every call."""

    def __init__(
        self, operator: CSR, features: Features, teleport: float, *, most_kept: int = _MOST_KEPT
    ) -> None:
        self.operator, self.features, self.teleport = operator, features, teleport
        self.kept: Tensor | None = None
        if features.shape[0] * features.shape[1] <= most_kept:
            self.kept = self._diffuse_all()

    def project(self, weight: Tensor, nodes: Tensor | slice) -> Tensor:
        """Return the diffused features of some nodes times a weight matrix [nodes, dim]."""
        if self.kept is not None:
            return self.kept[nodes] @ weight
        plain = project(self.features, weight)
        return diffuse(self.operator, plain, self.teleport)[nodes]

    def _diffuse_all(self) -> Tensor:
        dense = self.features.to_dense() if isinstance(self.features, CSR) else self.features
        blocks = [
            diffuse(self.operator, block, self.teleport)
            for block in torch.split(dense, _BLOCK, dim=1)
        ]
        return torch.cat(blocks, dim=1)
