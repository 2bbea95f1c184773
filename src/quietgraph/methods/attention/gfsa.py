"""GFSA: graph attention whose every layer is a trainable graph filter."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import torch
from torch import Tensor, nn

from quietgraph.embed.operator import Structure
from quietgraph.graph import CSR, Graph
from quietgraph.methods.attention.layer import AttentionClassifier, AttentionLayer
from quietgraph.params import param


class FilteredAttention(AttentionLayer):
    """Attention S replaced by S + w S^K in each head, with S^K ~ S + (K - 1)(S^2 - S); w starts at 0."""

    def __init__(self, *sizes: int, order: int, heads: int, **options: Any) -> None:
        super().__init__(*sizes, heads=heads, **options)
        self.order, self.power_weight = order, nn.Parameter(torch.zeros(heads))

    def aggregate(self, near: CSR, weights: Tensor, values: Tensor) -> Tensor:
        """Return what each head makes of its neighbours' values [nodes, heads, dim]."""
        once = super().aggregate(near, weights, values)
        twice = super().aggregate(near, weights, once)
        return once + self.power_weight[:, None] * (once + (self.order - 1) * (twice - once))


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GFSA(AttentionClassifier):
    """Attention with a filter of high order in each head (Choi et al., NeurIPS 2024).

    The filter is w_0 I + w_1 S + w_K S^K with w_0 = 0, w_1 = 1 and w_K trained without decay. The paper filters
    transformers and does no node classification; that the filter here works on graph attention (GAT) is our choice.
    """

    order: int = param(3, "power of the attention matrix in the filter (K)", low=2)

    def _parts(self) -> tuple[Callable[..., AttentionLayer], Callable[[Graph], CSR]]:
        return partial(FilteredAttention, order=self.order), direct_neighbours


def direct_neighbours(graph: Graph) -> CSR:
    """Return the neighbours of each node and the node itself, all alike."""
    near = Structure.of(graph).weights
    return near.with_values(torch.ones_like(near.values))
