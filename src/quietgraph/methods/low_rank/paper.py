"""GCL-LRR and GCL-LR-Attention as the paper prints them."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify.attention import attention_matrix
from quietgraph.classify.linear import LinearFit, fit_descent, fit_logistic
from quietgraph.embed.clusters import cluster_means
from quietgraph.embed.encoder import TEDEncoder, glorot
from quietgraph.embed.losses import info_nce, prototype_loss, truncated_nuclear_norm
from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.embed.train import History, Schedule, train
from quietgraph.embed.views import View, ViewRates, draw_view, view_structure
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.low_rank.gcl import DEPTHS
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

_CLASSIFIERS: Final[dict[str, Callable[..., LinearFit]]] = {
    "gradient-descent": partial(fit_descent, as_printed=True),
    "logistic": fit_logistic,
}


class PaperEncoder(nn.Module):
    """H = ReLU(A drop(ReLU(A X W0)) W1)."""

    def __init__(self, features: int, dim: int, dropout: float, *, generator: torch.Generator) -> None:
        super().__init__()
        self.first = glorot(features, dim, generator=generator)
        self.second = glorot(dim, dim, generator=generator)
        self.dropout = dropout

    def forward(self, graph: Graph, view: View | None = None) -> Embeddings:
        """Return the embeddings of all nodes [nodes, dim]."""
        view = View(normalised_adjacency(graph)) if view is None else view
        hidden = propagate(view.operator, project(scaled(graph, "l2"), view.masked(self.first))).relu()
        hidden = F.dropout(hidden, self.dropout, self.training)
        return propagate(view.operator, hidden @ self.second).relu()


class PaperNetwork(nn.Module):
    """Scores F W + b with F = K H / lambda_1 and K = H H^T, or F = H."""

    attention: Tensor
    weight: Tensor
    bias: Tensor

    def __init__(self, encoder: nn.Module, dim: int, classes: int) -> None:
        super().__init__()
        self.encoder = encoder
        for name, value in {"attention": torch.eye(dim), "weight": torch.zeros(dim, classes)}.items():
            self.register_buffer(name, value)
        self.register_buffer("bias", torch.zeros(classes))

    def forward(self, graph: Graph) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of every node [nodes, classes], [nodes, dim]."""
        embeddings = self.encoder(graph).relu()
        return embeddings @ self.attention @ self.weight + self.bias, embeddings


@final
@dataclass(kw_only=True, eq=False, repr=False)
class PaperGCL(NodeClassifier):
    """The equations of GCL-LR-Attention as printed, or of GCL-LRR without attention.

    Views drop nodes, drop and add edges, and mask features; L = L_node + L_proto + tau |K|_r0 with K = H H^T of all
    nodes, k-means of every epoch, and r0 = ceil(gamma min(nodes, d)). Where the paper leaves something open (widths,
    rates, temperatures, number of prototypes), the parameters have our choice. The contrast of a tenth of the nodes,
    left out of the loss, decides when to stop.
    """

    takes_weights = True
    attention: bool = param(True, "F = K H / lambda_1 before the classifier (GCL-LR-Attention)")
    classifier: str = param(
        "gradient-descent",
        "gradient descent from 0 with steps of 0.99 / lambda_1(K), as printed, or logistic regression",
        choices=tuple(_CLASSIFIERS),
    )
    encoder: str = param(
        "gcn", "two graph convolutions, or a filter of trainable depth (tedgcn)", choices=("gcn", "tedgcn")
    )
    dim: int = param(512, "width of the hidden layer and of the embeddings (d)", low=1)
    dropout: float = param(0.5, "fraction of hidden entries dropped in training", low=0, high=0.99)
    rank_weight: float = param(0.1, "weight of the truncated nuclear norm (tau)", low=0)
    rank_ratio: float = param(0.2, "fraction of directions left free (gamma)", low=0, high=1)
    temperature: float = param(1.0, "temperature of the contrast between views", low=1e-3)
    prototypes: int = param(20, "number of prototypes (K)", low=1)
    prototype_temperature: float = param(0.3, "temperature of the prototype loss", low=1e-3)
    node_drop: float = param(0.1, "fraction of nodes dropped in each view", low=0, high=1)
    edge_drop: float = param(0.2, "fraction of edges dropped in each view", low=0, high=1)
    edge_add: float = param(0.1, "random edges added in each view, per edge", low=0, high=1)
    feature_mask: float = param(0.3, "fraction of feature columns masked in each view", low=0, high=1)
    held_out: float = param(0.1, "fraction of nodes whose contrast decides when to stop", low=1e-3, high=0.9)
    epochs: int = param(500, "most training epochs (t_max)", low=1)
    patience: int = param(20, "epochs without a better contrast of the nodes held out", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)

    def _network(self, features: int, classes: int, *, depth: float = -1.0) -> PaperNetwork:
        draws = torch_generator(self.seed, "encoder")
        if self.encoder == "tedgcn":
            return PaperNetwork(TEDEncoder(features, self.dim, depth=depth, generator=draws), self.dim, classes)
        return PaperNetwork(PaperEncoder(features, self.dim, self.dropout, generator=draws), self.dim, classes)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        depths = DEPTHS if self.encoder == "tedgcn" else (-1.0,)
        made = [self._embed(graph, observed, depth) for depth in depths]

        def learn(labels: Observed) -> Fitted:
            answers = [self._classify(*one, labels) for one in made]
            best = max(answers, key=lambda one: one.notes["validation_accuracy"])
            return replace(best, relearn=learn)

        return learn(observed)

    def _embed(self, graph: Graph, observed: Observed, depth: float) -> tuple[PaperNetwork, Embeddings, History]:
        """Return a network whose encoder is trained, the embeddings of the graph, and the history."""
        network = self._network(graph.num_features, observed.num_classes, depth=depth).to(graph.device)
        history = self._train(graph, network.encoder, observed)
        network.requires_grad_(False)
        embeddings = network(graph)[1]
        if self.attention:
            network.attention = attention_matrix(embeddings)
        return network, embeddings, history

    def _classify(self, network: PaperNetwork, embeddings: Embeddings, history: History, labels: Observed) -> Fitted:
        attended = embeddings @ network.attention
        fit = _CLASSIFIERS[self.classifier](
            attended,
            labels.codes,
            train=labels.train,
            validation=labels.validation,
            num_classes=labels.num_classes,
            weights=labels.weights,
        )
        found = PaperNetwork(network.encoder, len(fit.weight), labels.num_classes)
        found.attention, found.weight, found.bias = network.attention, fit.weight, fit.bias
        notes = {"steps or penalty": fit.chosen, "validation_accuracy": fit.validation_accuracy}
        return Fitted(fit.scores(attended), embeddings, found, history=history, notes=notes)

    def _train(self, graph: Graph, encoder: nn.Module, observed: Observed) -> History:
        rates = ViewRates(self.edge_drop, self.feature_mask, self.node_drop, self.edge_add)
        draws = {name: torch_generator(self.seed, name) for name in ("views", "clusters", "spare pairs")}
        structure = view_structure(graph, [rates], generator=draws["spare pairs"])
        order = torch.randperm(graph.num_nodes, generator=torch_generator(self.seed, "held-out nodes 0")).to(
            graph.device
        )
        count = max(2, round(self.held_out * graph.num_nodes))
        rank = math.ceil(self.rank_ratio * min(graph.num_nodes, self.dim))

        def contrast(nodes: Tensor, generator: torch.Generator) -> Tensor:
            views = [draw_view(structure, graph.num_features, rates, generator=generator) for _ in range(2)]
            return info_nce(*(encoder(graph, view).relu()[nodes] for view in views), temperature=self.temperature)

        def losses(_: int) -> dict[str, Tensor]:
            values = {"contrast": contrast(order[count:], draws["views"])}
            rows = encoder(graph).relu()
            means, own = cluster_means(rows.detach(), self.prototypes, generator=draws["clusters"])
            values["prototypes"] = prototype_loss(rows, means, own, temperature=self.prototype_temperature)
            values["rank"] = truncated_nuclear_norm(rows, rank)
            loss = values["contrast"] + values["prototypes"] + self.rank_weight * values["rank"]
            return {"loss": loss, **values}

        def score() -> float:  # in two views that never change
            return -float(contrast(order[:count], torch_generator(self.seed, "held-out views 0")))

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        return train(encoder, losses, schedule, score=score, on_epoch=observed.on_epoch, what="learning embeddings")
