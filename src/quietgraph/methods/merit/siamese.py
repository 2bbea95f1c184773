"""The siamese networks of MERIT, which Sel-CL and Jo-SRC build on: views, networks, losses."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.adam import State
from quietgraph.embed.diffusion import diffuse
from quietgraph.embed.encoder import glorot
from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import multiply, project, propagate
from quietgraph.embed.train import History, Schedule, train
from quietgraph.embed.views import ViewRates, draw_view, view_structure
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base import NodeClassifier, Observed
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scalar

Pair: TypeAlias = tuple[Tensor, Tensor]  # one tensor per view
View: TypeAlias = Callable[[Tensor], Tensor]  # W [features, dim] -> rows of A X W of some nodes [nodes, dim]

_BLOCK = 256  # feature columns that are diffused together


class SiameseEncoder(nn.Module):
    """H = (PReLU(A X W + b) + PReLU(S X W + b)) / 2 with S = a sum_k (1 - a)^k A^k, the PageRank diffusion."""

    def __init__(self, features: int, how: "SiameseClassifier") -> None:
        super().__init__()
        self.weight = glorot(features, how.dim, generator=torch_generator(how.seed, "encoder"))
        self.bias, self.activation = nn.Parameter(torch.zeros(how.dim)), nn.PReLU()
        self.norm, self.teleport = how.feature_norm, how.teleport

    def forward(self, graph: Graph) -> Embeddings:
        """Return the embeddings of every node [nodes, dim]."""
        operator, projected = normalised_adjacency(graph), project(scaled(graph, self.norm), self.weight)
        views = propagate(operator, projected), diffuse(operator, projected, self.teleport)
        return (self.activation(views[0] + self.bias) + self.activation(views[1] + self.bias)) / 2

    def read(self, view: View) -> Embeddings:
        """Return PReLU(A X W + b) of the nodes of a view [nodes, dim]."""
        return self.activation(view(self.weight) + self.bias)


@dataclass(frozen=True, eq=False)
class ForwardPass:
    """Outputs of both networks for some nodes in two views [nodes, dim]."""

    embeddings: Pair  # of the online encoder
    predictions: Pair  # of the online network
    target_embeddings: Pair  # without gradient, as the next
    target_projections: Pair

    def loss(self, cross_view: float, kept: Tensor | None = None) -> Scalar:
        """Return beta InfoNCE(h1, h2) + (1 - beta) (recognise(h1, z2) + recognise(h2, z1)) / 2 among the kept nodes.

        h are predictions, z target projections; InfoNCE has the nodes of both views as negatives.
        """
        given = (*self.predictions, *self.target_projections)
        first, second, far_first, far_second = given if kept is None else (each[kept] for each in given)
        views = info_nce(first, second, temperature=1.0, intra_view=True)
        return cross_view * views + (1 - cross_view) * (recognise(first, far_second) + recognise(second, far_first)) / 2


def recognise(anchors: Embeddings, others: Embeddings) -> Scalar:
    """Return the mean over i of -log softmax_j(cos(anchors_i, others_j)) at j = i."""
    similarity = F.normalize(anchors, dim=1) @ F.normalize(others, dim=1).T
    return F.cross_entropy(similarity, torch.arange(len(anchors), device=anchors.device))


@torch.no_grad()
def move_towards(target: nn.Module, online: nn.Module, momentum: float) -> None:
    """Replace the target's parameters by momentum * theirs + (1 - momentum) * the online ones."""
    for kept, moving in zip(target.parameters(), online.parameters(), strict=True):
        kept.lerp_(moving, 1 - momentum)


class SiameseNetwork(nn.Module):
    """An online network, trained, and a target network that follows it."""

    def __init__(self, features: int, how: "SiameseClassifier") -> None:
        super().__init__()
        self.encoder, self.momentum = SiameseEncoder(features, how), how.momentum
        self.projector, self.predictor = _head(how.dim, how.hidden), _head(how.dim, how.hidden)
        self.target_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        self.target_projector = copy.deepcopy(self.projector).requires_grad_(False)

    def forward(self, first: View, second: View) -> ForwardPass:
        """Return the outputs of both networks in two views."""
        own = self.encoder.read(first), self.encoder.read(second)
        with torch.no_grad():
            far = self.target_encoder.read(first), self.target_encoder.read(second)
            projections = self.target_projector(far[0]), self.target_projector(far[1])
        predictions = self.predictor(self.projector(own[0])), self.predictor(self.projector(own[1]))
        return ForwardPass(own, predictions, far, projections)

    def follow(self) -> None:
        """Move the target's parameters towards the online ones; call it after every step."""
        move_towards(self.target_encoder, self.encoder, self.momentum)
        move_towards(self.target_projector, self.projector, self.momentum)


def _head(dim: int, hidden: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(dim, hidden), nn.BatchNorm1d(hidden), nn.PReLU(), nn.Linear(hidden, dim))


@dataclass(kw_only=True, eq=False, repr=False)
class SiameseClassifier(NodeClassifier):
    """Parameters of MERIT's networks and of their training without labels."""

    dim: int = param(256, "width of the embeddings", low=1)
    hidden: int = param(256, "width of the hidden layers of projector and predictor", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    edge_change: float = param(0.2, "fraction of edges exchanged for random ones in view 1", low=0, high=1)
    feature_mask: float = param(0.5, "fraction of feature columns masked in each view", low=0, high=1)
    teleport: float = param(0.05, "return probability of the diffusion in view 2", low=0.01, high=1)
    cross_view: float = param(0.5, "weight of views against networks (beta)", low=0, high=1)
    momentum: float = param(0.8, "fraction of its parameters that the target keeps in a step", low=0, high=1)
    sample: int = param(300, "nodes contrasted in a step", low=2)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)

    def _contrast(self, graph: Graph, epochs: int, observed: Observed) -> "tuple[Siamese, History]":
        """Return the networks trained without labels."""
        siamese = Siamese(graph, self)
        history = train(
            siamese.network,
            lambda _: {"loss": siamese.forward(siamese.draw_nodes()).loss(self.cross_view)},
            Schedule(epochs, self.learning_rate),
            after_step=siamese.network.follow,
            on_epoch=observed.on_epoch,
            moments=siamese.moments,
            what="learning embeddings",
        )
        return siamese, history


class Siamese:
    """The networks on one graph: draws nodes and views, passes them forward, embeds."""

    def __init__(self, graph: Graph, how: SiameseClassifier) -> None:
        self.graph, self.how, rate = graph, how, how.edge_change / 2  # half removed, half added
        self.rates = ViewRates(edge_drop=rate, feature_mask=how.feature_mask, edge_add=rate)
        self.structure = view_structure(graph, [self.rates], generator=torch_generator(how.seed, "spare pairs"))
        self.features = scaled(graph, how.feature_norm)
        dense = self.features.to_dense() if isinstance(self.features, CSR) else self.features
        blocks = [diffuse(normalised_adjacency(graph), block, how.teleport) for block in dense.split(_BLOCK, dim=1)]
        self.diffused = torch.cat(blocks, dim=1)
        self.draws = torch_generator(how.seed, "views")
        self.network = SiameseNetwork(graph.num_features, how).to(graph.device)
        self.moments: State = {}  # of its training

    def copy(self) -> "Siamese":
        """Return networks that train on from here, with the draws that come next."""
        other = copy.copy(self)
        other.network, other.moments = copy.deepcopy((self.network, self.moments))
        other.draws = self.draws.clone_state()
        return other

    def draw_nodes(self, always: Tensor | None = None) -> Tensor:
        """Return the nodes of a step: some always and first, then a sample of the others."""
        count = self.graph.num_nodes
        if always is None and count <= self.how.sample:
            return torch.arange(count, device=self.graph.device)
        order = torch.randperm(count, generator=self.draws).to(self.graph.device)
        always = order[:0] if always is None else always
        return torch.cat([always, order[torch.isin(order, always, invert=True)][: self.how.sample]])

    def forward(self, nodes: Tensor) -> ForwardPass:
        """Return the outputs of both networks for some nodes in two newly drawn views."""
        changed = draw_view(self.structure, self.graph.num_features, self.rates, generator=self.draws)
        kept = torch.rand(self.graph.num_features, generator=self.draws) >= self.how.feature_mask
        first = edge_view(self.features, changed.operator, nodes, changed.feature_mask)
        return self.network(first, dense_view(self.diffused[nodes], kept.to(self.diffused)))

    def embed(self, nodes: Tensor) -> Embeddings:
        """Return the embeddings of some nodes in the unchanged graph [nodes, dim]."""
        views = edge_view(self.features, normalised_adjacency(self.graph), nodes), dense_view(self.diffused[nodes])
        return (self.network.encoder.read(views[0]) + self.network.encoder.read(views[1])) / 2


def edge_view(features: Features, operator: CSR, nodes: Tensor, mask: Tensor | None = None) -> View:
    """Return a function of W that gives the rows of A X W of some nodes, with feature columns masked."""
    rows = operator.take_rows(nodes)
    if isinstance(features, Tensor):
        return dense_view(multiply(rows, features), mask)
    reached, columns = torch.unique(rows.columns, return_inverse=True)  # the nodes that the rows read
    narrow = CSR(rows.row_pointer, columns.to(rows.columns.dtype), rows.values, (len(nodes), len(reached)))
    near = features.take_rows(reached)
    if mask is not None:  # a masked entry instead of a masked row of W
        near = near.with_values(near.values * mask[near.columns])
    return lambda weight: multiply(narrow, project(near, weight))


def dense_view(rows: Tensor, mask: Tensor | None = None) -> View:
    """Return W -> rows W with feature columns masked."""
    return lambda weight: rows @ (weight if mask is None else weight * mask[:, None])
