"""Personalised PageRank of features by power iteration: no inverse, nothing of nodes x nodes."""

import math

import torch
from torch import Tensor

from quietgraph.embed.sparse import propagate
from quietgraph.graph import CSR

_REST = 0.02  # weight of the walk left to its last step


def diffuse(operator: CSR, dense: Tensor, teleport: float) -> Tensor:
    """Return S @ dense for S = a sum_k (1 - a)^k A^k with a = teleport [nodes, dim].

    The recursion Y <- (1 - a) A Y + a Y_0 stops when 2 % of the weight is left, which then lies on the last power:
    the weights sum to 1. The gradient reaches `dense`.
    """
    result, start = dense, dense * teleport
    steps = 0 if teleport >= 1 else math.ceil(math.log(_REST) / math.log(1 - teleport))
    for _ in range(steps):
        result = torch.add(start, propagate(operator, result), alpha=1 - teleport)
    return result
