"""GCE: a graph convolution network under a loss that weighs improbable labels less."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.train import Schedule
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.gcn import GCNNetwork
from quietgraph.methods.supervised import fit_network
from quietgraph.params import param
from quietgraph.types import Labels, Scores

_LOG_FLOOR = -18.42  # log 1e-8


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GCE(NodeClassifier):
    """GCN under generalised cross-entropy (Zhang and Sabuncu, NeurIPS 2018).

    Ours: epochs of plain cross-entropy come first, and the loss is not truncated at improbable labels.
    """

    hidden: int = param(64, "width of the hidden layer", low=1)
    dropout: float = param(0.5, "fraction of entries dropped before each layer", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    power: float = param(0.7, "0: cross-entropy, 1: mean absolute error (q)", low=1e-6, high=1)
    warm_up: int = param(40, "epochs of plain cross-entropy", low=0)
    epochs: int = param(200, "training epochs", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _network(self, features: int, classes: int) -> GCNNetwork:
        return GCNNetwork(features, self.hidden, classes, dropout=self.dropout, norm=self.feature_norm)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        targets = observed.codes[observed.train]

        def losses(epoch: int) -> dict[str, Tensor]:
            scores = network(graph)[0][observed.train]
            if epoch < self.warm_up:
                return {"loss": F.cross_entropy(scores, targets)}
            return {"loss": generalised_cross_entropy(scores, targets, power=self.power).mean()}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        return fit_network(network, losses, schedule, graph, observed)


def generalised_cross_entropy(scores: Scores, labels: Labels, *, power: float) -> Tensor:
    """Return (1 - p^power) / power for the probability p of each label [nodes]."""
    chosen = scores.log_softmax(dim=1).gather(1, labels[:, None]).squeeze(1)
    return -torch.expm1(power * chosen.clamp_min(_LOG_FLOOR)) / power
