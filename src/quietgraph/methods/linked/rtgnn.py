"""RTGNN: two peers divide labels into clean, correctable and uncertain ones as they train."""

import math
from dataclasses import dataclass, replace
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.operator import scaled
from quietgraph.embed.sparse import multiply
from quietgraph.embed.train import Schedule
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.linked import links
from quietgraph.methods.supervised import fit_network
from quietgraph.params import param
from quietgraph.types import Embeddings, Labels, Mask, Scalar, Scores


@final
@dataclass(kw_only=True, eq=False, repr=False)
class RTGNN(NodeClassifier):
    """Two peers govern label noise on a graph with learned links (Qian et al., WSDM 2023).

    The cost of labels (`judge_labels`), of pseudo-labels where both peers agree confidently, alpha times the edge
    loss, and lambda times the divergence of the peers and of neighbours. As in the published code, features are
    unscaled. Ours: an unlabelled node receives from the labelled nodes that have it among their most similar ones, not
    the other way round too; the confidence for a correction falls to 1 / classes, smoothness is counted by edge, the
    edge loss is an expectation (`reconstruction_loss`), and the step is ten times the published 1e-3.
    """

    hidden: int = param(128, "width of the peers' hidden layers", low=1)
    edge_dim: int = param(64, "width of the edge predictor", low=1)
    dropout: float = param(0.5, "fraction of hidden entries dropped", low=0, high=0.99)
    candidates: int = param(100, "similar nodes each node may be linked to (K); 4 million links at most", low=1)
    link_above: float = param(0.05, "weight from which a link counts (tau)", low=1e-6)
    negatives: int = param(100, "weight of non-edges per node in the edge loss", low=1)
    edge_weight: float = param(1.0, "weight of the edge loss (alpha)", low=0)
    uncertain_weight: float = param(0.1, "weight of uncertain labels", low=0)
    peer_weight: float = param(0.1, "weight of agreement and smoothness (lambda)", low=0)
    confidence_threshold: float = param(0.95, "probability from which pseudo-labels count", low=0, high=1)
    epochs: int = param(200, "training epochs", low=1)
    learning_rate: float = param(1e-2, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        sizes = (graph.num_features, self.edge_dim, self.hidden, observed.num_classes)
        networks = Peers(*sizes, dropout=self.dropout).to(graph.device)
        features, edges = graph.features, links.upper_edges(graph)
        taught, labels = observed.train, observed.codes[observed.train]
        labelled, others = taught.nonzero().squeeze(1), (~taught).nonzero().squeeze(1)
        senders, receivers = links.nearest(scaled(graph, "l2"), labelled, others, self.candidates)
        pairs = links.new_pairs(graph, receivers, senders)
        linked = links.LinkedGraph.of(graph, pairs, pairs[:, :0], threshold=self.link_above)

        def losses(epoch: int) -> dict[str, Tensor]:
            embeddings = F.normalize(networks.predictor(graph)[0], dim=1)
            operator, weights = linked.link(embeddings)
            networks.keep(operator)
            first, second = networks.first(operator, features)[0], networks.second(operator, features)[0]
            around = incoming_weights(weights, taught)
            smooth = neighbour_divergence(around, first) + neighbour_divergence(around, second)
            values = {
                "labels": self._label_cost(first[taught], second[taught], labels, observed.certain, epoch),
                "pseudo": self._pseudo_cost(first[~taught], second[~taught]),
                "edges": links.reconstruction_loss(embeddings, edges, negatives=self.negatives),
                "smooth": smooth / len(labels),
            }
            loss = values["labels"] + values["pseudo"] + self.edge_weight * values["edges"]
            return {"loss": loss + self.peer_weight * values["smooth"], **values}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        return replace(fit_network(networks, losses, schedule, graph, observed), network=None)

    def _label_cost(self, first: Scores, second: Scores, labels: Labels, certain: Mask, epoch: int) -> Scalar:
        """Return what the labels cost both peers: first all alike, then as both peers judge them."""
        if epoch == 0:
            return label_costs(first, second, labels).mean()
        kept, corrected, trust = judge_labels(first, second, labels, certain=certain, progress=epoch / self.epochs)
        weights = torch.where(kept | (trust > 0), kept.float(), self.uncertain_weight)
        costs = weights * label_costs(first, second, labels) + trust * label_costs(first, second, corrected)
        return costs.mean() + self.peer_weight * peer_divergence(first, second)

    def _pseudo_cost(self, first: Scores, second: Scores) -> Scalar:
        """Return the cost of missing what both peers predict confidently of nodes without label."""
        agreed, confidence = agreement(first, second)
        nodes = (agreed >= 0) & (confidence > self.confidence_threshold**2)
        if not nodes.any():
            return first.new_zeros(())
        first, second = first[nodes], second[nodes]
        return label_costs(first, second, agreed[nodes]).mean() + self.peer_weight * peer_divergence(first, second)


class Peers(links.LinkedNetworks):
    """Two classifiers on the linked graph, which answer together."""

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return the log of the mean probability, and hidden rows side by side [nodes, classes], [nodes, 2 hidden]."""
        answers = [peer(self.operators[0], graph.features) for peer in (self.first, self.second)]
        logs = torch.stack([scores.log_softmax(dim=1) for scores, _ in answers])
        return logs.logsumexp(dim=0) - math.log(2), torch.cat([hidden for _, hidden in answers], dim=1)


@torch.no_grad()
def agreement(first: Scores, second: Scores) -> tuple[Labels, Tensor]:
    """Return the class that both peers predict, -1 where they differ, and the product of its probabilities [nodes]."""
    here, there = first.softmax(dim=1).max(dim=1), second.softmax(dim=1).max(dim=1)
    return torch.where(here.indices == there.indices, here.indices, -1), here.values * there.values


@torch.no_grad()
def judge_labels(
    first: Scores, second: Scores, labels: Labels, *, certain: Mask, progress: float
) -> tuple[Mask, Labels, Tensor]:
    """Return which labels are clean, the class that the peers agree on, and its weight where it corrects a label.

    The labels that cost the peers least are clean: all at first, at the end as many as cost less than the mean, and
    half of them at least. Of the rest, those where both peers predict one other class are corrected; the confidence
    they need falls from 1 to 1 / classes. Labels that are neither clean nor corrected (weight 0) are uncertain; those
    that are certain are clean in any case. `progress` is the fraction of the training that is done.
    """
    costs = label_costs(first, second, labels)
    count = max(int((1 - 0.5 * progress) * len(labels)), int((costs < costs.mean()).sum()))
    clean = torch.zeros_like(certain).index_fill(0, costs.argsort()[:count], True) | certain
    agreed, confidence = agreement(first, second)
    least = 1 - (1 - min(0.5, 1 / first.shape[1])) * progress
    corrected = ~clean & (agreed >= 0) & (agreed != labels) & (confidence > least)
    return clean, agreed.clamp_min(0), corrected * confidence ** (0.5 - 0.5 * progress)


def label_costs(first: Scores, second: Scores, labels: Labels) -> Tensor:
    """Return the cross-entropy of both peers, added [nodes]."""
    return F.cross_entropy(first, labels, reduction="none") + F.cross_entropy(second, labels, reduction="none")


def peer_divergence(first: Scores, second: Scores) -> Scalar:
    """Return the mean divergence of the peers' probabilities, both ways."""
    here, there = first.log_softmax(dim=1), second.log_softmax(dim=1)
    return ((here.exp() - there.exp()) * (here - there)).sum(dim=1).mean()


def neighbour_divergence(weights: CSR, scores: Scores) -> Scalar:
    """Return the sum over entries (i, j) of w_ij KL(p_j, held constant || p_i) with softmax probabilities p."""
    logs = scores.log_softmax(dim=1)
    fixed = logs.detach()
    negative_entropy = (fixed.exp() * fixed).sum(dim=1, keepdim=True)
    # The sum over j comes first: it is linear in p_j and in the entropy of p_j.
    around = multiply(weights, torch.cat([fixed.exp(), negative_entropy], dim=1))
    return around[:, -1].sum() - (around[:, :-1] * logs).sum()


def incoming_weights(adjacency: CSR, nodes: Mask) -> CSR:
    """Return the weights of edges and links into some nodes, without loops, summing to 1 for each."""
    rows, columns = adjacency.rows, adjacency.columns
    values = adjacency.values * (nodes[rows] & (rows != columns))
    total = torch.zeros(len(nodes), device=values.device).index_add_(0, rows, values)
    return adjacency.with_values(values / total.clamp_min(1e-12)[rows])
