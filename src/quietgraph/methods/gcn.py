"""GCN: the plain graph convolution network, and the network that its relatives share."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, final

import torch.nn.functional as F
from torch import nn

from quietgraph.embed.encoder import GraphConvolution
from quietgraph.embed.operator import drop_entries, normalised_adjacency, scaled
from quietgraph.embed.train import Losses, Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.supervised import fit_network
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores


class GCNNetwork(nn.Module):
    """A drop(relu(A drop(X) W0 + b0)) W1 + b1, with the hidden layer as embeddings."""

    def __init__(self, features: int, hidden: int, classes: int, *, dropout: float, norm: str) -> None:
        super().__init__()
        self.first, self.second = GraphConvolution(features, hidden), GraphConvolution(hidden, classes)
        self.dropout, self.norm = dropout, norm

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and hidden rows of every node [nodes, classes], [nodes, hidden]."""
        operator = normalised_adjacency(graph)
        features = drop_entries(scaled(graph, self.norm), self.dropout, training=self.training)
        hidden = self.first(operator, features).relu()
        return self.second(operator, F.dropout(hidden, self.dropout, self.training)), hidden


@dataclass(kw_only=True, eq=False, repr=False)
class ConvolutionClassifier(NodeClassifier):
    """Graph convolutions trained on observed labels, as they answer at the epoch of the best validation."""

    hidden: int = param(64, "width of the hidden layer", low=1)
    dropout: float = param(0.5, "fraction of entries dropped before a layer", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(200, "training epochs", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _network(self, features: int, classes: int) -> nn.Module:
        return GCNNetwork(features, self.hidden, classes, dropout=self.dropout, norm=self.feature_norm)

    @abstractmethod
    def _losses(self, network: Any, graph: Graph, observed: Observed) -> Losses:
        """Return what gives the named losses of an epoch."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        return fit_network(network, self._losses(network, graph, observed), self._schedule(), graph, observed)

    def _schedule(self) -> Schedule:
        return Schedule(self.epochs, self.learning_rate, self.weight_decay)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GCN(ConvolutionClassifier):
    """Two graph convolutions trained on the observed labels (Kipf and Welling, ICLR 2017)."""

    takes_weights = True

    def _losses(self, network: GCNNetwork, graph: Graph, observed: Observed) -> Losses:
        return lambda _: {"loss": observed.cost(network(graph)[0])}
