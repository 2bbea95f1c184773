"""Low-rank graph contrastive learning: the first stage of GCL-LRR, which sees no label."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.clusters import Clusters, lloyd_step, start_clusters
from quietgraph.embed.losses import info_nce, prototype_loss, truncated_nuclear_norm
from quietgraph.embed.propagation import Propagation
from quietgraph.embed.training import History, Schedule, train
from quietgraph.embed.views import View, ViewRates, draw_view, view_structure
from quietgraph.graph import Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings


@dataclass(frozen=True)
class ContrastSettings:
    """Weights and sizes of the loss L_node + w L_proto + tau |K|_r0."""

    temperature: float
    intra_view: bool  # whether nodes of the same view are negatives too
    anchors: int  # nodes per step that are anchors and negatives; all nodes when there are fewer
    prototype_weight: float
    prototype_counts: tuple[int, ...]
    prototype_temperature: float
    rank_weight: float  # tau
    rank_ratio: float  # gamma
    rank_scale: str  # "mean": unit rows, divided by nodes; "sum": the norm of K itself
    warm_up: int  # epochs before prototypes and rank count
    first_view: ViewRates
    second_view: ViewRates


def train_embeddings(
    graph: Graph,
    features: Features,
    encoder: nn.Module,
    settings: ContrastSettings,
    schedule: Schedule,
    *,
    seed: int,
) -> History:
    """Train the encoder in place by contrast, prototypes and low rank; return the losses."""
    trainer = _Trainer(graph, features, encoder, settings, seed)
    return train(encoder, trainer.losses, schedule, what="learning embeddings")


def encode(encoder: nn.Module, graph: Graph, features: Features) -> Embeddings:
    """Return the embeddings of the graph as it is [nodes, dim]."""
    with torch.no_grad():
        embeddings: Embeddings = encoder(features, View(Propagation.of(graph).operator()))
    return embeddings


class _Trainer:
    """What an epoch needs and keeps: structure, views, warm clusters, random streams."""

    def __init__(
        self,
        graph: Graph,
        features: Features,
        encoder: nn.Module,
        settings: ContrastSettings,
        seed: int,
    ) -> None:
        self.features, self.encoder, self.settings = features, encoder, settings
        self.rates = [settings.first_view, settings.second_view]
        self.view_draws = torch_generator(seed, "views")
        self.anchor_draws = torch_generator(seed, "anchors")
        self.cluster_draws = torch_generator(seed, "clusters")
        self.structure = view_structure(graph, self.rates, torch_generator(seed, "spare pairs"))
        self.whole = View(self.structure.operator())
        self.clusters: list[Clusters] = []

    def losses(self, epoch: int) -> dict[str, Tensor]:
        settings = self.settings
        anchors = self._draw_anchors(self.structure.num_nodes)
        near, far = (self._encode_view(rates, anchors) for rates in self.rates)
        node = info_nce(near, far, temperature=settings.temperature, intra_view=settings.intra_view)
        values = {"loss": node, "contrast": node}
        if epoch < settings.warm_up or (settings.prototype_weight, settings.rank_weight) == (0, 0):
            return values
        with torch.set_grad_enabled(settings.rank_weight > 0):
            whole: Tensor = self.encoder(self.features, self.whole)
        unit = F.normalize(whole, dim=1)
        if settings.prototype_weight > 0:
            values["prototypes"] = self._prototype_loss([near, far], anchors, unit.detach())
            values["loss"] = values["loss"] + settings.prototype_weight * values["prototypes"]
        if settings.rank_weight > 0:
            values["rank"] = self._rank_loss(whole, unit)
            values["loss"] = values["loss"] + settings.rank_weight * values["rank"]
        return values

    def _encode_view(self, rates: ViewRates, anchors: Tensor | None) -> Embeddings:
        num_features = int(self.features.shape[1])
        view = draw_view(self.structure, num_features, rates, generator=self.view_draws)
        embeddings: Embeddings = self.encoder(self.features, view, anchors)
        return embeddings

    def _draw_anchors(self, num_nodes: int) -> Tensor | None:
        if num_nodes <= self.settings.anchors:
            return None
        draws = torch.randperm(num_nodes, generator=self.anchor_draws)[: self.settings.anchors]
        return draws.to(self.whole.operator.values.device)

    def _prototype_loss(
        self, views: list[Tensor], anchors: Tensor | None, unit: Embeddings
    ) -> Tensor:
        """Mean over granularities and views; clusters come from the unaugmented graph."""
        self._refresh_clusters(unit)
        costs = [
            prototype_loss(
                F.normalize(view, dim=1),
                clusters.prototypes,
                clusters.assignments if anchors is None else clusters.assignments[anchors],
                temperature=self.settings.prototype_temperature,
            )
            for clusters in self.clusters
            for view in views
        ]
        return torch.stack(costs).mean()

    def _refresh_clusters(self, unit: Embeddings) -> None:
        if self.clusters:
            self.clusters = [
                lloyd_step(unit, clusters, generator=self.cluster_draws)
                for clusters in self.clusters
            ]
        else:
            self.clusters = [
                start_clusters(unit, count, generator=self.cluster_draws)
                for count in self.settings.prototype_counts
            ]

    def _rank_loss(self, whole: Embeddings, unit: Embeddings) -> Tensor:
        rank = math.ceil(self.settings.rank_ratio * min(whole.shape))
        if self.settings.rank_scale == "sum":
            return truncated_nuclear_norm(whole, rank)
        return truncated_nuclear_norm(unit, rank) / len(unit)
