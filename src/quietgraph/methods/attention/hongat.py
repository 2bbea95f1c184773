"""HONGAT: graph attention over high-order neighbours that share neighbours."""

from dataclasses import dataclass
from typing import ClassVar, final

from quietgraph.graph import Graph
from quietgraph.methods.attention.backbone import AttentionBackbone
from quietgraph.methods.attention.high_order import similar_neighbours
from quietgraph.methods.attention.sparse_attention import AttentionLayer, MakeLayer, Neighbourhoods
from quietgraph.params import Presets, Settings, param


@final
@dataclass(kw_only=True, eq=False)
class HONGAT(AttentionBackbone):
    """Attention over high-order neighbours, masked by similarity (after Zhang et al., AAAI 2024).

    Our reading of the published abstract, which is all we had: candidates are the nodes within a
    few steps, those with a less than mean fraction of common neighbours are masked, and attention
    weights are proportional to that fraction times the usual score.
    """

    citation: ClassVar[str] = (
        "Zhang et al.: HONGAT: Graph attention networks in the presence of high-order "
        "neighbors. AAAI 2024."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "dim": 16}
    cora_seconds: ClassVar[float] = 92
    presets: ClassVar[Presets] = {
        **AttentionBackbone.presets,
        "citeseer": {"order": 3},
    }

    order: int = param(2, "steps within which neighbours lie", low=1)
    neighbours: int = param(32, "most neighbours that a node attends to", low=1)
    weigh: bool = param(True, "mask and weigh by common neighbours")

    def _neighbourhoods(self, graph: Graph) -> Neighbourhoods:
        return Neighbourhoods(
            similar_neighbours(graph, order=self.order, most=self.neighbours, weigh=self.weigh)
        )

    def _layer(self) -> MakeLayer:
        return AttentionLayer
