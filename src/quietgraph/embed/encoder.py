"""Encoders of a graph: graph convolutions, and a filter of trainable depth."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.filters import HIGHEST_DEPTH, LOWEST_DEPTH, polynomial_power, without_self_loops
from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import multiply, project, propagate
from quietgraph.embed.views import View
from quietgraph.graph import CSR, Features, Graph
from quietgraph.types import Embeddings, Scalar

_DEPTH_PACE = 10.0  # steps of the depth, in step sizes of the other parameters


class GraphConvolution(nn.Module):
    """One layer A X W + b of Glorot's weights and a bias of zeros."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, operator: CSR, features: Features) -> Tensor:
        """Return one row per node [nodes, outputs]."""
        return propagate(operator, project(features, self.weight)) + self.bias


class Encoder(nn.Module):
    """H = A PReLU(A X W0 + b0) W1 + b1 with rows of X of unit length and A of a view."""

    def __init__(self, features: int, hidden: int, dim: int, *, generator: torch.Generator) -> None:
        super().__init__()
        self.first = glorot(features, hidden, generator=generator)
        self.first_bias = nn.Parameter(torch.zeros(hidden))
        self.slope = nn.Parameter(torch.full((1,), 0.25))
        self.second = glorot(hidden, dim, generator=generator)
        self.second_bias = nn.Parameter(torch.zeros(dim))

    def forward(self, graph: Graph, view: View | None = None, nodes: Tensor | None = None) -> Embeddings:
        """Return the embeddings of all nodes, or of some, whose second layer costs their rows alone [nodes, dim]."""
        view = View(normalised_adjacency(graph)) if view is None else view
        hidden = leaky(self._inside(graph, view).add_(self.first_bias), self.slope)
        if nodes is None:
            hidden = hidden @ self.second  # in its place: two matrices of a large graph are held, not three
            return propagate(view.operator, hidden).add_(self.second_bias)
        return (multiply(view.operator.take_rows(nodes), hidden) @ self.second).add_(self.second_bias)

    def _inside(self, graph: Graph, view: View) -> Tensor:
        """Return A X W0."""
        features, weight = scaled(graph, "l2"), view.masked(self.first)
        if isinstance(features, Tensor) and features.shape[1] < 2 * weight.shape[1]:
            # Features need no gradient: propagated first, they save the product of the backward pass.
            return propagate(view.operator, features) @ weight
        return propagate(view.operator, project(features, weight))


class TEDEncoder(nn.Module):
    """H = Q^d X W + b with a trainable depth d, for heterophilous graphs.

    Q comes from the operator of a view less its self-loops. The depth moves ten times as fast as the weights: Adam's
    steps do not depend on the scale of a gradient, so that 60 steps of 1e-3 would leave it where it starts.
    """

    def __init__(self, features: int, dim: int, *, depth: float, generator: torch.Generator) -> None:
        super().__init__()
        self.weight = glorot(features, dim, generator=generator)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("start", torch.tensor(depth))
        self.moved = nn.Parameter(torch.zeros(()))

    @property
    def depth(self) -> Scalar:
        """The depth as it is now."""
        return (self.get_buffer("start") + _DEPTH_PACE * self.moved).clamp(LOWEST_DEPTH, HIGHEST_DEPTH)

    def forward(self, graph: Graph, view: View | None = None, nodes: Tensor | None = None) -> Embeddings:
        """Return the embeddings of all nodes, or of some [nodes, dim]."""
        view = View(normalised_adjacency(graph)) if view is None else view
        projected = project(scaled(graph, "l2"), view.masked(self.weight))
        embeddings = polynomial_power(without_self_loops(view.operator), projected, self.depth) + self.bias
        return embeddings if nodes is None else embeddings[nodes]


def glorot(rows: int, columns: int, *, generator: torch.Generator) -> nn.Parameter:
    """Return a weight matrix of Glorot's uniform initialisation [rows, columns]."""
    bound = (6 / (rows + columns)) ** 0.5
    return nn.Parameter((2 * torch.rand(rows, columns, generator=generator) - 1) * bound)


def leaky(values: Tensor, slope: Tensor) -> Tensor:
    """Return values where they are positive, slope * values elsewhere; the slope is learned."""
    return _Leaky.apply(values, slope)


class _Leaky(torch.autograd.Function):
    """PReLU with one slope; the backward pass of torch's own takes five times as long on CPU."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(values, slope)
        return F.leaky_relu(values, float(slope))

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor]:
        values, slope = ctx.saved_tensors
        to_values = torch.ops.aten.leaky_relu_backward(gradient, values, float(slope), False)
        return to_values, torch.dot(gradient.reshape(-1), values.clamp_max(0).reshape(-1)).reshape(slope.shape)
