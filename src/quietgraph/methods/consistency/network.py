"""What CRGNN and CGNN share: a graph convolution network that also contrasts two views."""

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.encoder import GraphConvolution
from quietgraph.embed.operator import Structure, normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.embed.views import View, ViewRates, draw_view
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.gcn import ConvolutionClassifier
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores


class ContrastedGCN(nn.Module):
    """Two graph convolutions H = A drop(relu(A X W0 + b0)) W1 + b1, a projection of H, and a head that classifies."""

    def __init__(self, features: int, hidden: int, classes: int, *, dropout: float, norm: str, convolves: bool) -> None:
        super().__init__()
        self.first, self.second = GraphConvolution(features, hidden), GraphConvolution(hidden, hidden)
        self.projection = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.head = GraphConvolution(hidden, classes) if convolves else nn.Linear(hidden, classes)
        self.dropout, self.norm = dropout, norm

    def hidden(self, view: View, features: Features) -> Embeddings:
        """Return H of a view [nodes, hidden]."""
        projected = project(features, view.masked(self.first.weight))
        between = (propagate(view.operator, projected) + self.first.bias).relu()
        return self.second(view.operator, F.dropout(between, self.dropout, self.training))

    def classify(self, operator: CSR, hidden: Embeddings) -> Scores:
        """Return class scores [nodes, classes]: H W + b, or A drop(relu(H)) W + b where the head convolves."""
        if isinstance(self.head, nn.Linear):
            return self.head(hidden)
        return self.head(operator, F.dropout(hidden.relu(), self.dropout, self.training))

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and H of every node of the graph as given [nodes, classes], [nodes, hidden]."""
        operator = normalised_adjacency(graph)
        hidden = self.hidden(View(operator), scaled(graph, self.norm))
        return self.classify(operator, hidden), hidden


@dataclass(kw_only=True, eq=False, repr=False)
class ContrastedClassifier(ConvolutionClassifier):
    """A graph convolution network trained on labels and on the contrast of views."""

    convolves: ClassVar[bool] = False  # whether the head is a third convolution
    temperature: float = param(0.5, "temperature of the contrast of views", low=0.01)
    anchors: int = param(500, "nodes contrasted in an epoch", low=2)

    def _network(self, features: int, classes: int) -> ContrastedGCN:
        settings: dict[str, Any] = {"dropout": self.dropout, "norm": self.feature_norm, "convolves": self.convolves}
        return ContrastedGCN(features, self.hidden, classes, **settings)


def draw_views(graph: Graph, rates: ViewRates, draws: torch.Generator) -> list[View]:
    """Return two random views of a graph."""
    return [draw_view(Structure.of(graph), graph.num_features, rates, generator=draws) for _ in range(2)]


def draw_nodes(graph: Graph, most: int, draws: torch.Generator) -> Tensor:
    """Return the nodes that an epoch contrasts: all, or a sample of so many [chosen nodes]."""
    return torch.randperm(graph.num_nodes, generator=draws)[:most].to(graph.device)
