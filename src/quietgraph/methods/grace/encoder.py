"""What ARIEL and SFA share: the encoder and the projection head of GRACE."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.encoder import glorot
from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

ACTIVATIONS = ("relu", "prelu", "rrelu")


class GraceEncoder(nn.Module):
    """H = s(A s(A X W0 + b0) W1 + b1) with one activation s (Zhu et al., 2020)."""

    def __init__(self, features: int, hidden: int, dim: int, *, norm: str, seed: int, activation: str = "relu") -> None:
        super().__init__()
        draws = torch_generator(seed, "encoder")
        self.first, self.first_bias = glorot(features, hidden, generator=draws), nn.Parameter(torch.zeros(hidden))
        self.second, self.second_bias = glorot(hidden, dim, generator=draws), nn.Parameter(torch.zeros(dim))
        self.activate: nn.Module = {"relu": nn.ReLU, "prelu": nn.PReLU, "rrelu": nn.RReLU}[activation]()
        self.norm = norm

    def forward(self, graph: Graph) -> Embeddings:
        """Return the embeddings of every node [nodes, dim]."""
        return self.rows(scaled(graph, self.norm), normalised_adjacency(graph))

    def rows(self, features: Features, operator: CSR | Tensor, mask: Tensor | None = None) -> Embeddings:
        """Return the embeddings of a view, whose mask tells the feature columns that count [nodes, dim]."""
        # A masked column is a row of W0 that counts 0.
        weight = self.first if mask is None else self.first * mask[:, None]
        spread = operator.matmul if isinstance(operator, Tensor) else partial(propagate, operator)
        hidden = self.activate(spread(project(features, weight)) + self.first_bias)
        return self.activate(spread(hidden @ self.second) + self.second_bias)


class ProjectionHead(nn.Module):
    """Two dense layers with an ELU between, seen by the loss only."""

    def __init__(self, dim: int, hidden: int, *, seed: int) -> None:
        super().__init__()
        draws = torch_generator(seed, "head")
        self.first, self.first_bias = glorot(dim, hidden, generator=draws), nn.Parameter(torch.zeros(hidden))
        self.second, self.second_bias = glorot(hidden, dim, generator=draws), nn.Parameter(torch.zeros(dim))

    def forward(self, embeddings: Embeddings) -> Tensor:
        """Return what is contrasted [nodes, dim]."""
        return F.elu(embeddings @ self.first + self.first_bias) @ self.second + self.second_bias
