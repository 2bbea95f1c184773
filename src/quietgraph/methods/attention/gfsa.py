"""GFSA: graph attention whose every layer is a trainable graph filter."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, final

import torch
from torch import Tensor, nn

from quietgraph.graph import Graph
from quietgraph.methods.attention.backbone import AttentionBackbone
from quietgraph.methods.attention.sparse_attention import (
    AttentionLayer,
    AttentionNetwork,
    MakeLayer,
    Neighbourhoods,
    attend,
)
from quietgraph.params import Settings, param


class FilteredAttention(AttentionLayer):
    """Attention S replaced by w0 I + w1 S + wK S^K, with S^K ~ S + (K - 1)(S^2 - S).

    Starts as plain attention: w0 = 0, w1 = 1, wK = 0, one of each per head.
    """

    def __init__(
        self, *sizes: int, order: int, train_all: bool, heads: int, **options: Any
    ) -> None:
        super().__init__(*sizes, heads=heads, **options)
        self.order = order
        start = torch.tensor([[0.0], [1.0]]).repeat(1, heads)
        self.low = nn.Parameter(start, requires_grad=train_all)  # w0 and w1 [2, heads]
        self.high = nn.Parameter(torch.zeros(heads))  # wK

    def aggregate(self, neighbourhoods: Neighbourhoods, weights: Tensor, values: Tensor) -> Tensor:
        """Return what each head makes of its neighbours' values [nodes, heads, dim]."""
        once = attend(neighbourhoods, weights, values)
        twice = attend(neighbourhoods, weights, once)
        power = once + (self.order - 1) * (twice - once)
        own, near, high = self.low[0, :, None], self.low[1, :, None], self.high[:, None]
        return own * values + near * once + high * power


@final
@dataclass(kw_only=True, eq=False)
class GFSA(AttentionBackbone):
    """Attention with a filter of high order in each head (Choi et al., NeurIPS 2024).

    The paper filters the attention of transformers and does no node classification; that the
    filter here works on graph attention (GAT) is our choice.
    """

    citation: ClassVar[str] = (
        "Choi et al.: Graph convolutions enrich the self-attention in transformers! NeurIPS 2024."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "dim": 16}
    cora_seconds: ClassVar[float] = 23

    order: int = param(3, "power of the attention matrix in the filter (K)", low=2)
    train_all: bool = param(False, "also train the weights of order 0 and 1")

    def _neighbourhoods(self, graph: Graph) -> Neighbourhoods:
        return Neighbourhoods.of(graph)

    def _layer(self) -> MakeLayer:
        return partial(FilteredAttention, order=self.order, train_all=self.train_all)

    def _undecayed(self, module: AttentionNetwork) -> list[Tensor]:
        return [weight for layer in _filters(module) for weight in (layer.low, layer.high)]

    def _notes(self, module: AttentionNetwork, neighbourhoods: Neighbourhoods) -> dict[str, float]:
        notes = super()._notes(module, neighbourhoods)
        for index, layer in enumerate(_filters(module), start=1):
            own, near = layer.low.detach().mean(dim=1).tolist()
            high = float(layer.high.detach().mean())  # below 0: a high-pass filter
            notes |= {f"w0_{index}": own, f"w1_{index}": near, f"wk_{index}": high}
        return notes


def _filters(module: AttentionNetwork) -> list[FilteredAttention]:
    return [layer for layer in module.modules() if isinstance(layer, FilteredAttention)]
