"""TEDGCN: a graph convolution whose depth is one trainable real number."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import nn

from quietgraph.embed.filters import HIGHEST_DEPTH, LOWEST_DEPTH, Filter, graph_filter
from quietgraph.embed.train import History, Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores

_STARTS = (-1.0, 1.0, 7.0)  # the loss is not convex in the depth
_TRIAL_SHARE = 5  # a trial of a start has this part of the epochs


class DepthNetwork(nn.Module):
    """drop(relu(Q^d X W0 + b0)) W1 + b1 with a trainable d and the hidden layer as embeddings."""

    def __init__(self, features: int, classes: int, how: "TEDGCN", depth: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, how.hidden)))
        self.bias = nn.Parameter(torch.zeros(how.hidden))
        self.head = nn.Linear(how.hidden, classes)
        self.depth = nn.Parameter(torch.tensor(depth))
        self.dropout, self.norm = how.dropout, how.feature_norm

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and hidden rows of every node [nodes, classes], [nodes, hidden]."""
        return self.read(graph_filter(graph, self.norm))

    def read(self, rows: Filter) -> tuple[Scores, Embeddings]:
        """Return scores and hidden rows of the nodes of a filter."""
        hidden = (rows(self.weight, self.depth) + self.bias).relu()
        return self.head(F.dropout(hidden, self.dropout, self.training)), hidden

    @torch.no_grad()
    def bound_depth(self) -> None:
        """Keep the depth where its powers are numbers."""
        self.depth.clamp_(LOWEST_DEPTH, HIGHEST_DEPTH)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class TEDGCN(NodeClassifier):
    """Graph filter of trainable, also negative depth (Yan et al., NeurIPS 2023).

    Ours are the floor under the eigenvalues, the trials of three starts of the depth, chosen by validation labels, and
    the polynomial for graphs of more than 5,000 nodes.
    """

    revision = 2
    takes_weights = True
    hidden: int = param(128, "width of the hidden layer", low=1)
    dropout: float = param(0.2, "fraction of hidden entries dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    initial_depth: float | None = param(
        None, "depth to start from; none tries -1, 1 and 7", low=LOWEST_DEPTH, high=HIGHEST_DEPTH
    )
    depth_step: float = param(0.01, "step size of Adam for the depth; 0 holds it fixed", low=0)
    epochs: int = param(500, "most training epochs", low=1)
    patience: int | None = param(100, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _network(self, features: int, classes: int, depth: float = 0.0) -> DepthNetwork:
        return DepthNetwork(features, classes, self, depth)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        start = self.initial_depth
        if start is None:
            trials = max(1, self.epochs // _TRIAL_SHARE)
            best = {depth: self._train(graph, observed, depth, trials)[2] for depth in _STARTS}
            start = max(best, key=best.__getitem__)
        network, history, _ = self._train(graph, observed, start, self.epochs)
        notes = {"initial_depth": start, "depth": float(network.depth.detach())}
        with torch.no_grad():
            scores, embeddings = network(graph)
        return Fitted(scores, embeddings, network, history=history, notes=notes)

    def _train(
        self, graph: Graph, observed: Observed, depth: float, epochs: int
    ) -> tuple[DepthNetwork, History, float]:
        """Return a trained network, its history and its validation score."""
        network = self._network(graph.num_features, observed.num_classes, depth).to(graph.device)
        seen, held_out = observed.at(observed.train), observed.at(observed.validation)
        groups = (observed.train, observed.validation)
        rows, held_out_rows = (graph_filter(graph, self.feature_norm, nodes) for nodes in groups)
        others = [value for name, value in network.named_parameters() if name != "depth"]
        history = train(
            network,
            lambda _: {"loss": seen.cost(network.read(rows)[0])},
            Schedule(epochs, self.learning_rate, self.weight_decay, self.patience),
            score=lambda: held_out.score(network.read(held_out_rows)[0]),
            parameters=[{"params": others}, {"params": [network.depth], "lr": self.depth_step, "weight_decay": 0.0}],
            after_step=network.bound_depth,
            on_epoch=observed.on_epoch,
        )
        return network, history, max(record["score"] for record in history)
