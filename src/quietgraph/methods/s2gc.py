"""S2GC: a linear classifier on features averaged over many steps of propagation."""

from dataclasses import dataclass
from typing import final

import torch
from torch import nn

from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.embed.train import History, Schedule, train
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores

_DECAYS = (1e-6, 1e-5, 1e-4, 1e-3)
_COLUMNS, _ENTRIES = 512, 2**25  # of a block of dense columns: sparse features are never dense as a whole


class S2GCNetwork(nn.Module):
    """Z W + b on filtered features Z, which are the embeddings; or a perceptron of one hidden layer on them."""

    def __init__(self, features: int, classes: int, method: "S2GC") -> None:
        super().__init__()
        hidden, options = method.hidden, (method.feature_norm, method.steps, method.self_weight)
        layers = [nn.Linear(features, hidden), nn.ReLU(), nn.Dropout(method.dropout)] if hidden else []
        self.head, self.options = nn.Sequential(*layers, nn.Linear(hidden or features, classes)), options

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and filtered features of every node [nodes, classes], [nodes, features]."""
        filtered = low_pass(graph, *self.options)
        return self.head(filtered), filtered


@final
@dataclass(kw_only=True, eq=False, repr=False)
class S2GC(NodeClassifier):
    """Linear classifier on low-pass filtered features (Zhu and Koniusz, ICLR 2021).

    Ours: the best epoch by validation instead of the last, and (1 - a) / K before the sum also where the published
    code has 1 / K (ogbn-arxiv).
    """

    takes_weights = True
    steps: int = param(16, "steps of propagation (K)", low=1)
    self_weight: float = param(0.05, "weight of a node's own features (a)", low=0, high=1)
    hidden: int = param(0, "width of a hidden layer before the classifier, 0 for none", low=0)
    dropout: float = param(0.0, "fraction of the hidden layer dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(100, "training epochs", low=1)
    learning_rate: float = param(0.2, "step size of Adam", low=0)
    weight_decay: float | None = param(1e-5, "weight decay of Adam; None: of 1e-6 ... 1e-3 by validation", low=0)

    def _network(self, features: int, classes: int) -> S2GCNetwork:
        return S2GCNetwork(features, classes, self)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        filtered = low_pass(graph, self.feature_norm, self.steps, self.self_weight)
        decays = _DECAYS if self.weight_decay is None else (self.weight_decay,)
        fits = [self._train(filtered, observed, decay) for decay in decays]
        best = max(range(len(fits)), key=lambda place: max(record["score"] for record in fits[place][1]))
        network, history = fits[best]
        with torch.no_grad():
            return Fitted(network.head(filtered), filtered, network, None, history, {"weight_decay": decays[best]})

    def _train(self, filtered: Embeddings, observed: Observed, decay: float) -> tuple[S2GCNetwork, History]:
        """Return a network trained on the rows of the labelled nodes alone, and its history."""
        network = self._network(filtered.shape[1], observed.num_classes).to(filtered.device)
        rows, taught = filtered[observed.train], observed.at(observed.train)
        held_out, choice = filtered[observed.validation], observed.at(observed.validation)
        history = train(
            network,
            lambda _: {"loss": taught.cost(network.head(rows))},
            Schedule(self.epochs, self.learning_rate, decay),
            score=lambda: choice.score(network.head(held_out)),
            on_epoch=observed.on_epoch,
        )
        return network, history


def low_pass(graph: Graph, norm: str, steps: int, self_weight: float) -> Embeddings:
    """Return self_weight X + (1 - self_weight) / steps (A X + ... + A^steps X) [nodes, features].

    A is the normalised adjacency with self-loops, X the features with rows of unit norm.
    """
    operator, features = normalised_adjacency(graph), scaled(graph, norm)
    filtered = torch.empty(tuple(features.shape), device=graph.device)
    every = torch.arange(features.shape[1], device=graph.device)
    for columns in every.split(max(1, min(_COLUMNS, _ENTRIES // graph.num_nodes))):
        picks = (every[:, None] == columns).float()
        own = project(features, picks) if isinstance(features, CSR) else features[:, columns]
        block, total = own, torch.zeros_like(own)
        for _ in range(steps):
            block = propagate(operator, block)
            total += block
        filtered[:, columns] = self_weight * own + (1 - self_weight) / steps * total
    return filtered
