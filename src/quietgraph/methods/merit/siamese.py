"""The siamese networks of MERIT, which Sel-CL and Jo-SRC build on: views, networks, losses."""

import copy
from dataclasses import dataclass
from typing import Final, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import (
    ViewRates,
    draw_view,
    info_nce,
    normalise_rows,
    normalised_adjacency,
)
from quietgraph.embed.encoder import glorot
from quietgraph.embed.views import view_structure
from quietgraph.graph import Graph
from quietgraph.methods.merit.backbone import SiameseBackbone
from quietgraph.methods.merit.neighbourhood import (
    ALL,
    Neighbourhood,
    Nodes,
    ProjectedView,
    edge_view,
)
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scalar

Pair: TypeAlias = tuple[Tensor, Tensor]  # one tensor per view

ENCODER: Final = "encoder."  # prefix of the encoder's weights in a fitted state


class Encoder(nn.Module):
    """One graph convolution: PReLU(A X W + b)."""

    def __init__(self, num_features: int, dim: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = glorot(num_features, dim, generator=generator)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.activation = nn.PReLU()

    def forward(self, view: ProjectedView) -> Embeddings:
        """Return the embeddings of the nodes of a view [nodes, dim]."""
        return self.activation(view(self.weight) + self.bias)  # type: ignore[no-any-return]

    def average(self, views: tuple[ProjectedView, ProjectedView]) -> Embeddings:
        """Return the mean of the embeddings in both views [nodes, dim]."""
        return (self(views[0]) + self(views[1])) / 2  # type: ignore[no-any-return]


class SiameseNetwork(nn.Module):
    """An online network, trained, and a target network that follows it."""

    def __init__(
        self, num_features: int, dim: int, hidden: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.encoder = Encoder(num_features, dim, generator=generator)
        self.projector, self.predictor = _head(dim, hidden), _head(dim, hidden)
        self.target_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        self.target_projector = copy.deepcopy(self.projector).requires_grad_(False)

    def follow(self, momentum: float) -> None:
        """Move the target's parameters towards the online ones."""
        move_towards(self.target_encoder, self.encoder, momentum)
        move_towards(self.target_projector, self.projector, momentum)


@torch.no_grad()
def move_towards(target: nn.Module, online: nn.Module, momentum: float) -> None:
    """Replace the target's parameters by momentum * theirs + (1 - momentum) * the online ones."""
    for kept, moving in zip(target.parameters(), online.parameters(), strict=True):
        kept.lerp_(moving, 1 - momentum)


def _head(dim: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.PReLU(), nn.Linear(hidden, dim)
    )


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """Outputs of both networks for some nodes in two views."""

    embeddings: Pair  # of the online encoder [nodes, dim]
    predictions: Pair  # of the online network
    target_embeddings: Pair  # without gradient, as the next
    target_projections: Pair

    def loss(self, *, cross_view: float, temperature: float, kept: Nodes = ALL) -> Scalar:
        """Return the contrastive loss across views and across networks, among the kept nodes."""
        first, second = (each[kept] for each in self.predictions)
        far_first, far_second = (each[kept] for each in self.target_projections)
        views = info_nce(first, second, temperature=temperature)
        networks = (
            recognition(first, far_second, temperature=temperature)
            + recognition(second, far_first, temperature=temperature)
        ) / 2
        return cross_view * views + (1 - cross_view) * networks


def recognition(anchors: Embeddings, others: Embeddings, *, temperature: float) -> Scalar:
    """Mean over i of -log softmax_j(cos(anchors_i, others_j) / temperature) at j = i."""
    similarity = F.normalize(anchors, dim=1) @ F.normalize(others, dim=1).T
    same = torch.arange(len(anchors), device=anchors.device)
    return F.cross_entropy(similarity / temperature, same)


def encode(settings: SiameseBackbone, graph: Graph, weights: dict[str, Tensor]) -> Embeddings:
    """Return the embeddings of any graph by the weights of a trained encoder [nodes, dim]."""
    encoder = Encoder(graph.num_features, settings.dim, generator=torch.Generator())
    encoder.load_state_dict(weights)
    features = normalise_rows(graph.features, settings.feature_norm)
    seen = Neighbourhood(normalised_adjacency(graph), features, settings.teleport)
    return encoder.to(graph.device).average(seen.views())


class Siamese:
    """The two networks on one graph: draws nodes and views, passes them forward, embeds."""

    def __init__(self, graph: Graph, settings: SiameseBackbone, *, seed: int) -> None:
        self.settings = settings
        features = normalise_rows(graph.features, settings.feature_norm)
        rate = settings.edge_change / 2  # half removed, half added
        self.rates = ViewRates(edge_drop=rate, feature_mask=settings.feature_mask, edge_add=rate)
        self.structure = view_structure(graph, [self.rates], torch_generator(seed, "spare pairs"))
        self.plain = Neighbourhood(self.structure.operator(), features, settings.teleport)
        self.draws = torch_generator(seed, "views")
        self.network = SiameseNetwork(
            graph.num_features,
            settings.dim,
            settings.hidden,
            generator=torch_generator(seed, "encoder"),
        ).to(graph.device)

    def draw_nodes(self, always: Tensor | None = None) -> Nodes:
        """Return the nodes of a step: some always and first, then a sample of the others."""
        num_nodes, device = self.structure.num_nodes, self.structure.weights.values.device
        if always is None and num_nodes <= self.settings.sample:
            return ALL
        order = torch.randperm(num_nodes, generator=self.draws).to(device)
        if always is None:
            return order[: self.settings.sample]
        others = torch.ones(num_nodes, dtype=torch.bool, device=device)
        others[always] = False
        return torch.cat([always, order[others[order]][: self.settings.sample]])

    def forward(self, nodes: Nodes) -> ForwardPass:
        """Return the outputs of both networks for some nodes in two newly drawn views."""
        views, network = self._draw_views(nodes), self.network
        embeddings = [network.encoder(view) for view in views]
        predictions = [network.predictor(network.projector(each)) for each in embeddings]
        with torch.no_grad():
            far = [network.target_encoder(view) for view in views]
            projections = [network.target_projector(each) for each in far]
        return ForwardPass(_pair(embeddings), _pair(predictions), _pair(far), _pair(projections))

    def loss(self, passed: ForwardPass, *, kept: Nodes = ALL) -> Scalar:
        """Return the loss of MERIT for one forward pass, among the kept of its nodes."""
        settings = self.settings
        return passed.loss(
            cross_view=settings.cross_view, temperature=settings.temperature, kept=kept
        )

    def embed(self, nodes: Nodes = ALL) -> Embeddings:
        """Return the embeddings of some nodes in the unchanged graph [nodes, dim]."""
        return self.network.encoder.average(self.plain.views(nodes))

    def follow(self) -> None:
        """Move the target network; call it after every step."""
        self.network.follow(self.settings.momentum)

    def _draw_views(self, nodes: Nodes) -> tuple[ProjectedView, ProjectedView]:
        features = self.plain.features
        count = int(features.shape[1])
        changed = draw_view(self.structure, count, self.rates, generator=self.draws)
        kept = torch.rand(count, generator=self.draws) >= self.rates.feature_mask
        mask = kept.to(self.structure.weights.values)
        return edge_view(features, changed, nodes), self.plain.diffusion_view(nodes, mask)


def _pair(tensors: list[Tensor]) -> Pair:
    first, second = tensors
    return first, second
