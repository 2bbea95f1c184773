"""NRGNN: unlabelled nodes are linked to labelled ones, and confident predictions become labels."""

import math
from dataclasses import dataclass, replace
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.operator import scaled
from quietgraph.embed.train import Schedule
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.linked import links
from quietgraph.methods.supervised import fit_network, look
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores

_MOST_CONFIDENT = 4096  # confident nodes that links lead to; the search is linear in all nodes


@final
@dataclass(kw_only=True, eq=False, repr=False)
class NRGNN(NodeClassifier):
    """Links to labelled nodes and mined pseudo-labels (Dai, Aggarwal and Wang, KDD 2021).

    Cross-entropy of the classifier and of the miner on labels, plus alpha times the edge loss, plus beta times the
    cross-entropy of the classifier to what the miner predicts confidently. As in the published code, features are
    unscaled, links to labelled nodes lead both ways and those to confident nodes one way: the confident node receives.
    Ours: the edge loss is an expectation (`reconstruction_loss`), edges are no candidates, and a node is linked to its
    50 best confident nodes instead of all.
    """

    hidden: int = param(16, "width of the hidden layers", low=1)
    edge_dim: int = param(64, "width of the edge predictor", low=1)
    dropout: float = param(0.5, "fraction of hidden entries dropped", low=0, high=0.99)
    candidates: int = param(0, "labelled nodes each node may be linked to, 0 for all; 4 million links at most", low=0)
    confident_links: int = param(50, "confidently predicted nodes each node may send to", low=1)
    confidence_threshold: float = param(0.8, "probability from which a prediction is confident (p_u)", low=0, high=1)
    link_above: float = param(0.1, "weight from which a link counts (t_small)", low=1e-6)
    negatives: int = param(50, "weight of non-edges per node in the edge loss (n_n)", low=1)
    edge_weight: float = param(0.03, "weight of the edge loss (alpha)", low=0)
    confident_weight: float = param(1.0, "weight of the confident predictions (beta)", low=0)
    epochs: int = param(200, "training epochs", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        sizes = (graph.num_features, self.edge_dim, self.hidden, observed.num_classes)
        networks = MinerAndClassifier(*sizes, dropout=self.dropout).to(graph.device)
        features, edges = graph.features, links.upper_edges(graph)
        taught, targets = observed.train, observed.codes[observed.train]
        miner = Miner(self, graph, observed)

        def losses(epoch: int) -> dict[str, Tensor]:
            if epoch > 0:  # what the miner predicts after the last step
                miner.see(look(networks.first, networks.operators[0], features)[0])
            embeddings = networks.predictor(graph)[0]
            for_miner, for_classifier = miner.link(embeddings)
            networks.keep(for_miner, for_classifier)
            mined, scores = networks.first(for_miner, features)[0], networks.second(for_classifier, features)[0]
            values = {
                "edges": links.reconstruction_loss(embeddings, edges, negatives=self.negatives),
                "miner": F.cross_entropy(mined[taught], targets),
                "classifier": F.cross_entropy(scores[taught], targets),
                "confident": scores.new_zeros(()),
            }
            if miner.confident.any():
                values["confident"] = F.cross_entropy(scores[miner.confident], miner.probabilities[miner.confident])
            loss = values["classifier"] + values["miner"] + self.edge_weight * values["edges"]
            return {"loss": loss + self.confident_weight * values["confident"], **values}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        fitted = fit_network(networks, losses, schedule, graph, observed)
        return replace(fitted, network=None, notes={"confident_nodes": float(miner.confident.sum())})


class MinerAndClassifier(links.LinkedNetworks):
    """The first network mines, the second classifies on the graph with what was mined."""

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return the classifier's scores and hidden rows of every node [nodes, classes], [nodes, hidden]."""
        return self.second(self.operators[1], graph.features)


class Miner:
    """The best predictions of the first network so far, and the graphs with candidate links."""

    def __init__(self, method: NRGNN, graph: Graph, observed: Observed) -> None:
        self.method, self.graph, self.observed = method, graph, observed
        labelled, everyone = observed.train.nonzero().squeeze(1), torch.arange(graph.num_nodes, device=graph.device)
        pairs = torch.stack(links.nearest(scaled(graph, "l2"), everyone, labelled, method.candidates or len(labelled)))
        self.candidates = links.new_pairs(graph, pairs.amin(dim=0), pairs.amax(dim=0))
        self.plain = self.linked = self._with(self.candidates[:, :0])
        self.best, self.probabilities = -math.inf, torch.empty(0)
        self.confident = torch.zeros_like(observed.train)  # unlabelled nodes that are predicted confidently
        self.embeddings = torch.empty(0)

    def link(self, embeddings: Embeddings) -> tuple[CSR, CSR]:
        """Return the operators of the miner and of the classifier."""
        self.embeddings = embeddings.detach()
        operator, _ = self.plain.link(embeddings)
        return operator, operator if self.linked is self.plain else self.linked.link(embeddings)[0]

    def see(self, scores: Scores) -> None:
        """Keep scores that are the best by validation so far, and link their confident nodes.

        These receive from the unlabelled nodes that have the largest products of embeddings with them.
        """
        reached = self.observed.score(scores)
        if reached <= self.best:
            return
        self.best, self.probabilities = reached, scores.softmax(dim=1)
        largest = self.probabilities.amax(dim=1)
        self.confident = ~self.observed.train & (largest > self.method.confidence_threshold)
        self.linked, chosen = self.plain, self.confident.nonzero().squeeze(1)
        if len(chosen):
            chosen = chosen[largest[chosen].topk(min(_MOST_CONFIDENT, len(chosen))).indices]
            unlabelled = (~self.observed.train).nonzero().squeeze(1)
            senders, receivers = links.nearest(self.embeddings, unlabelled, chosen, self.method.confident_links)
            self.linked = self._with(links.new_pairs(self.graph, receivers, senders))

    def _with(self, one_way: Tensor) -> links.LinkedGraph:
        return links.LinkedGraph.of(self.graph, one_way, self.candidates, threshold=self.method.link_above)
