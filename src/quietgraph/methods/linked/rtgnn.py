"""RTGNN: two peers divide labels into clean, correctable and uncertain ones as they train."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor

from quietgraph.embed import normalise_rows
from quietgraph.graph import CSR
from quietgraph.methods.base.task import Task
from quietgraph.methods.linked.backbone import LinkedBackbone, LinkedTrainer
from quietgraph.methods.linked.edge_predictor import (
    MOST_PAIRS,
    Linked,
    LinkedGraph,
    nearest,
    new_pairs,
    reconstruction_loss,
)
from quietgraph.methods.linked.sample_selection import (
    label_costs,
    neighbour_divergence,
    peer_divergence,
    select_labels,
    selection_cost,
)
from quietgraph.params import Presets, Settings, param
from quietgraph.types import Mask, Scores


@final
@dataclass(kw_only=True, eq=False)
class RTGNN(LinkedBackbone):
    """Two peers govern label noise on a graph with learned links (Qian et al., 2023).

    Candidate links lead one way, as in the published code: an unlabelled node receives from the
    labelled nodes that have it among their most similar ones. That code also lets labelled nodes
    receive from unlabelled ones (`links_to_labelled`), which costs accuracy on clean labels. Where
    it slips (confidence by labelled nodes instead of classes, smoothness averaged over edges),
    this follows what was evidently meant. The step size is that of the public benchmark NoisyGL;
    with the published 1e-3 the peers are not trained after 200 epochs
    (PubMed, clean, one draw: 10 points lower).
    """

    citation: ClassVar[str] = (
        "Qian et al.: Robust training of graph neural networks via noise governance. WSDM 2023."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16}
    cora_seconds: ClassVar[float] = 48
    presets: ClassVar[Presets] = {
        "pubmed": {"candidates": 50},
        "ogbn-arxiv": {"candidates": 10},
    }

    hidden: int = param(128, "width of the peers' hidden layers", low=1)
    learning_rate: float = param(1e-2, "step size of Adam", low=0)
    candidates: int = param(
        100, "similar nodes each node may be linked to (K); 4 million links at most", low=1
    )
    links_to_labelled: bool = param(
        False, "whether labelled nodes receive from unlabelled ones that have them as similar"
    )
    link_above: float = param(0.05, "weight from which a link counts (tau)", low=1e-6)
    negatives: int = param(100, "weight of non-edges per node in the edge loss", low=1)
    edge_weight: float = param(1.0, "weight of the edge loss (alpha)", low=0)
    uncertain_weight: float = param(0.1, "weight of uncertain labels", low=0)
    peer_weight: float = param(0.1, "weight of agreement and smoothness (lambda)", low=0)
    confidence_threshold: float = param(
        0.95,
        "probability above which a prediction becomes a pseudo-label",
        low=0,
        high=1,
        old_name="sure_above",
    )

    def _trainer(self, task: Task) -> "_Trainer":
        return _Trainer(self, task)


class _Trainer(LinkedTrainer):
    """Both networks are peers."""

    def __init__(self, method: RTGNN, task: Task) -> None:
        super().__init__(method, task, unit_length=True)
        self.method = method
        senders, receivers = self._similar_pairs()
        pairs = new_pairs(task.graph, receivers, senders)
        self.graph = LinkedGraph.of(task.graph, pairs, method.link_above)

    def losses(self, epoch: int) -> dict[str, Tensor]:
        method, task, networks = self.method, self.task, self.networks
        embeddings = networks.predictor(self.operator, self.features)
        linked = self.graph.link(embeddings)
        # Without its gradient it stays for `score`, which scores the step just made.
        self.linked = linked.operator.with_values(linked.operator.values.detach())
        first, second = (
            peer(linked.operator, self.features) for peer in (networks.first, networks.second)
        )
        around = incoming_weights(linked, task.train)
        smooth = neighbour_divergence(around, first) + neighbour_divergence(around, second)
        values = {
            "labels": self._label_loss(first[task.train], second[task.train], epoch),
            "pseudo": self._pseudo_loss(first, second),
            "edges": reconstruction_loss(embeddings, self.edges, negatives=method.negatives),
            "smooth": smooth / task.train.sum(),
        }
        values["loss"] = (
            values["labels"]
            + values["pseudo"]
            + method.edge_weight * values["edges"]
            + method.peer_weight * values["smooth"]
        )
        return values

    def score(self) -> float:
        """Return the validation score of the peers' mean probability; keep the best answer."""
        peers = (self.networks.first, self.networks.second)
        answers = [peer.both(self.linked, self.features) for peer in peers]
        logs = torch.stack([scores.log_softmax(dim=1) for _, scores in answers])
        hidden = torch.cat([hidden for hidden, _ in answers], dim=1)
        return self.keep_best(hidden, logs.logsumexp(dim=0) - math.log(2))

    def _label_loss(self, first: Scores, second: Scores, epoch: int) -> Tensor:
        method, task = self.method, self.task
        labels = task.labels[task.train]
        if epoch == 0:
            return label_costs(first, second, labels).mean()
        certain = task.is_verified(task.train)
        progress = epoch / method.epochs
        selected = select_labels(first, second, labels, certain=certain, progress=progress)
        cost = selection_cost(
            first, second, labels, selected, uncertain_weight=method.uncertain_weight
        )
        return cost + method.peer_weight * peer_divergence(first, second)

    def _pseudo_loss(self, first: Scores, second: Scores) -> Tensor:
        """Return the cost of missing what both peers predict confidently on unlabelled nodes."""
        here, there = (
            first.detach().softmax(dim=1).max(dim=1),
            second.detach().softmax(dim=1).max(dim=1),
        )
        confident = here.values * there.values > self.method.confidence_threshold**2
        nodes = ~self.task.train & (here.indices == there.indices) & confident
        if not nodes.any():
            return first.new_zeros(())
        cost = label_costs(first[nodes], second[nodes], here.indices[nodes]).mean()
        return cost + self.method.peer_weight * peer_divergence(first[nodes], second[nodes])

    def _similar_pairs(self) -> tuple[Tensor, Tensor]:
        """Return sending and receiving nodes: each labelled one with those most like it."""
        task = self.task
        labelled, others = (mask.nonzero().squeeze(1) for mask in (task.train, ~task.train))
        unit = normalise_rows(task.graph.features, "l2")
        most = min(self.method.candidates, max(1, MOST_PAIRS // len(task.labels)))
        there = nearest(unit, labelled, others, most)
        if not self.method.links_to_labelled:
            return there
        back = nearest(unit, others, labelled, most)
        return torch.cat([there[0], back[0]]), torch.cat([there[1], back[1]])


def incoming_weights(linked: Linked, nodes: Mask) -> CSR:
    """Return the weights of edges and links into some nodes, summing to 1 for each."""
    adjacency = linked.adjacency
    rows, columns = adjacency.rows, adjacency.columns
    wanted = nodes[rows] & (rows != columns)
    values = adjacency.values * wanted.to(adjacency.values)
    total = torch.zeros(len(nodes), device=values.device).index_add_(0, rows, values)
    return adjacency.with_values(values / total.clamp_min(1e-12)[rows])
