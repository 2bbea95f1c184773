"""What ARIEL, SFA and GraphCL share: the encoder and the projection head of GRACE."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import (
    History,
    Schedule,
    normalise_rows,
    normalised_adjacency,
    project,
    propagate,
    train,
)
from quietgraph.embed.encoder import glorot, leaky
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.contrastive import named_weights, weights_of
from quietgraph.params import param
from quietgraph.types import Embeddings

ACTIVATIONS = ("relu", "prelu", "rrelu")
ENCODER = "encoder."  # prefix of the encoder's weights in a fitted state


class GraceEncoder(nn.Module):
    """H = s(A s(A X W0 + b0) W1 + b1) with one activation s (Zhu et al., 2020)."""

    def __init__(
        self,
        num_features: int,
        hidden: int,
        dim: int,
        *,
        activation: str = "relu",
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.first = glorot(num_features, hidden, generator=generator)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.second = glorot(hidden, dim, generator=generator)
        self.second_bias = nn.Parameter(torch.zeros(dim))
        self.activation = activation
        if activation == "prelu":
            self.slope = nn.Parameter(torch.full((1,), 0.25))

    def forward(
        self, features: Features, operator: CSR | Tensor, mask: Tensor | None = None
    ) -> Embeddings:
        """Return one embedding per node [nodes, dim].

        Args:
            features: One row per node; a dense matrix may need a gradient.
            operator: Normalised adjacency; a dense one may need a gradient.
            mask: Feature columns that count [features] of 0 or 1.
        """
        weight: Tensor = self.first
        if mask is not None:  # a masked column is a row of W0 that counts 0
            weight = weight * mask[:, None]
        hidden = self._activate(_spread(operator, project(features, weight)) + self.first_bias)
        return self._activate(_spread(operator, hidden @ self.second) + self.second_bias)

    def _activate(self, values: Tensor) -> Tensor:
        if self.activation == "prelu":
            return leaky(values, self.slope)
        if self.activation == "rrelu":
            return F.rrelu(values, training=self.training)
        return values.relu()


class ProjectionHead(nn.Module):
    """Two dense layers with an ELU between, seen by the loss only."""

    def __init__(self, dim: int, hidden: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.first = glorot(dim, hidden, generator=generator)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.second = glorot(hidden, dim, generator=generator)
        self.second_bias = nn.Parameter(torch.zeros(dim))

    def forward(self, embeddings: Embeddings) -> Tensor:
        """Return what is contrasted [nodes, dim]."""
        return F.elu(embeddings @ self.first + self.first_bias) @ self.second + self.second_bias


def train_grace(
    networks: nn.ModuleList, losses: Callable[[int], dict[str, Tensor]], schedule: Schedule
) -> tuple[dict[str, Tensor], History]:
    """Train encoder and head by a loss; return the weights of the encoder and the history."""
    history = train(networks, losses, schedule, what="learning embeddings")
    return named_weights(networks[0], ENCODER), history


def embed_again(
    encoder: GraceEncoder, graph: Graph, state: dict[str, Tensor], feature_norm: str
) -> Embeddings:
    """Return the embeddings of any graph by the encoder of a fitted state [nodes, dim]."""
    encoder = encoder.to(graph.device)
    encoder.load_state_dict(weights_of(state, ENCODER))
    features = normalise_rows(graph.features, feature_norm)
    with torch.no_grad():
        embeddings: Embeddings = encoder.eval()(features, normalised_adjacency(graph))
    return embeddings


def edge_drop_param(default: float, view: int) -> float:
    """Declare the fraction of edges that a view drops."""
    return param(default, f"fraction of edges dropped in view {view}", low=0, high=1)


def feature_mask_param(default: float, view: int) -> float:
    """Declare the fraction of feature columns that a view masks."""
    return param(default, f"fraction of feature columns masked in view {view}", low=0, high=1)


def view_rates(
    edge_drop: tuple[float, float], feature_mask: tuple[float, float]
) -> dict[str, float]:
    """Return the rates of both views as parameters, for presets."""
    return {
        "edge_drop_1": edge_drop[0],
        "edge_drop_2": edge_drop[1],
        "feature_mask_1": feature_mask[0],
        "feature_mask_2": feature_mask[1],
    }


def draw_anchors(num_nodes: int, most: int, *, generator: torch.Generator) -> Tensor | slice:
    """Return the nodes contrasted in a step: all of them, or a random choice where too many."""
    if num_nodes <= most:
        return slice(None)
    return torch.randperm(num_nodes, generator=generator)[:most]


def _spread(operator: CSR | Tensor, dense: Tensor) -> Tensor:
    return operator @ dense if isinstance(operator, Tensor) else propagate(operator, dense)
