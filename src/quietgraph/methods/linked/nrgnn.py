"""NRGNN: unlabelled nodes are linked to labelled ones, and confident predictions become labels."""

import math
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import normalise_rows
from quietgraph.graph import CSR
from quietgraph.methods.base.supervised import validation_score
from quietgraph.methods.base.task import Task
from quietgraph.methods.linked.backbone import LinkedBackbone, LinkedTrainer
from quietgraph.methods.linked.edge_predictor import (
    MOST_PAIRS,
    LinkedGraph,
    nearest,
    new_pairs,
    reconstruction_loss,
)
from quietgraph.params import Presets, Settings, param
from quietgraph.types import Embeddings

_MOST_CONFIDENT = 4096  # confident nodes that links lead to; the search is linear in all nodes


@final
@dataclass(kw_only=True, eq=False)
class NRGNN(LinkedBackbone):
    """Links to labelled nodes and mined pseudo-labels (Dai, Aggarwal and Wang, 2021).

    As in the published code, links to labelled nodes lead both ways, and those to
    confidently predicted nodes one way: the confident node receives.
    """

    citation: ClassVar[str] = (
        "Dai, Aggarwal and Wang: NRGNN: Learning a label noise-resistant graph neural "
        "network on sparsely and noisily labeled graphs. KDD 2021."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16}
    cora_seconds: ClassVar[float] = 32
    presets: ClassVar[Presets] = {
        "citeseer": {"edge_weight": 3.0},
        "pubmed": {
            "edge_weight": 0.1,
            "candidates": 5,
            "confidence_threshold": 1.0,
            "learning_rate": 0.01,
            "hidden": 128,
        },
    }

    candidates: int = param(
        0, "labelled nodes each node may be linked to, 0 for all; 4 million links at most", low=0
    )
    confident_links: int = param(
        50, "confidently predicted nodes each node may send to", low=1, old_name="sure_links"
    )
    confidence_threshold: float = param(
        0.8,
        "probability above which a prediction is confident (p_u)",
        low=0,
        high=1,
        old_name="sure_above",
    )
    link_above: float = param(0.1, "weight from which a link counts (t_small)", low=1e-6)
    negatives: int = param(50, "weight of non-edges per node in the edge loss (n_n)", low=1)
    edge_weight: float = param(0.03, "weight of the edge loss (alpha)", low=0)
    confident_weight: float = param(
        1.0, "weight of the confident predictions (beta)", low=0, old_name="sure_weight"
    )

    def _trainer(self, task: Task) -> "_Trainer":
        return _Trainer(self, task)


class _Trainer(LinkedTrainer):
    """The first network mines confident predictions, from which the second one learns too."""

    def __init__(self, method: NRGNN, task: Task) -> None:
        super().__init__(method, task, unit_length=False)
        self.method = method
        pairs = torch.stack(self._similar_labelled())
        low, high = pairs.min(dim=0).values, pairs.max(dim=0).values
        self.candidates = new_pairs(task.graph, low, high)
        self.mined_graph = self.graph = self._linked(self.candidates[:, :0])
        self.mined = torch.zeros(len(task.labels), task.num_classes, device=task.graph.device)
        self.confident = torch.zeros_like(task.train)
        self.best_mined = -math.inf

    def losses(self, epoch: int) -> dict[str, Tensor]:  # noqa: ARG002
        method, train_nodes = self.method, self.task.train
        targets = self.task.labels[train_nodes]
        embeddings, operators = self._link()
        networks = (self.networks.first, self.networks.second)
        mined, scores = (
            network(operator, self.features)
            for network, operator in zip(networks, operators, strict=True)
        )
        values = {
            "edges": reconstruction_loss(embeddings, self.edges, negatives=method.negatives),
            "miner": F.cross_entropy(mined[train_nodes], targets),
            "classifier": F.cross_entropy(scores[train_nodes], targets),
            "confident": scores.new_zeros(()),
        }
        if self.confident.any():
            values["confident"] = F.cross_entropy(
                scores[self.confident], self.mined[self.confident]
            )
        values["loss"] = (
            values["classifier"]
            + values["miner"]
            + method.edge_weight * values["edges"]
            + method.confident_weight * values["confident"]
        )
        return values

    def score(self) -> float:
        """Return the classifier's validation score; keep its best answer and the miner's."""
        for_miner, for_classifier = self.operators
        reached = self.keep_best(*self.networks.second.both(for_classifier, self.features))
        mined = self.networks.first(for_miner, self.features)
        mined_score = validation_score(mined, self.task.labels, self.task.validation)
        if mined_score > self.best_mined:
            self.best_mined, self.mined = mined_score, mined.softmax(dim=1)
            self._link_confident()
        return reached

    def notes(self) -> dict[str, float]:
        return {"confident_nodes": float(self.confident.sum())}

    def _link(self) -> tuple[Embeddings, tuple[CSR, CSR]]:
        """Return the edge predictor's embeddings and the operators of miner and classifier.

        Without their gradients they stay for `score`, which scores the step just made.
        """
        embeddings = self.networks.predictor(self.operator, self.features)
        for_miner = for_classifier = self.mined_graph.link(embeddings).operator
        if self.graph is not self.mined_graph:
            for_classifier = self.graph.link(embeddings).operator
        self.embeddings = embeddings.detach()
        self.operators = [
            operator.with_values(operator.values.detach())
            for operator in (for_miner, for_classifier)
        ]
        return embeddings, (for_miner, for_classifier)

    def _similar_labelled(self) -> tuple[Tensor, Tensor]:
        """Return each node with the labelled nodes most like it."""
        task = self.task
        labelled = task.train.nonzero().squeeze(1)
        every_node = torch.arange(len(task.labels), device=labelled.device)
        wanted = self.method.candidates or len(labelled)
        most = max(1, MOST_PAIRS // len(every_node))
        unit = normalise_rows(task.graph.features, "l2")
        return nearest(unit, every_node, labelled, min(wanted, most))

    def _link_confident(self) -> None:
        """Let confident nodes receive from the unlabelled ones that have the largest products."""
        task, largest = self.task, self.mined.max(dim=1).values
        self.confident = ~task.train & (largest > self.method.confidence_threshold)
        if not self.confident.any():
            self.graph = self.mined_graph
            return
        chosen = self.confident.nonzero().squeeze(1)
        chosen = chosen[largest[chosen].topk(min(_MOST_CONFIDENT, len(chosen))).indices]
        unlabelled = (~task.train).nonzero().squeeze(1)
        most = max(1, MOST_PAIRS // len(unlabelled))
        wanted = min(self.method.confident_links, most)
        senders, receivers = nearest(self.embeddings, unlabelled, chosen, wanted)
        self.graph = self._linked(new_pairs(task.graph, receivers, senders))

    def _linked(self, one_way: Tensor) -> LinkedGraph:
        """Return the graph with the candidates, which lead both ways, and further pairs."""
        size = len(self.task.labels)
        pairs = torch.cat([self.candidates, one_way], dim=1)
        order = torch.argsort(pairs[0] * size + pairs[1])
        mutual = order < self.candidates.shape[1]
        return LinkedGraph.of(
            self.task.graph, pairs[:, order], self.method.link_above, mutual=mutual
        )
