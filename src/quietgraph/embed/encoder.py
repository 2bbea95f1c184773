"""The two-layer graph convolution that turns features into embeddings."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.propagation import multiply, project, propagate
from quietgraph.embed.views import View
from quietgraph.graph import Features
from quietgraph.types import Context, Embeddings


def glorot(rows: int, columns: int, *, generator: torch.Generator) -> nn.Parameter:
    """Return a weight matrix of Glorot's uniform initialisation [rows, columns]."""
    bound = (6 / (rows + columns)) ** 0.5
    draws = torch.rand(rows, columns, generator=generator)
    return nn.Parameter((2 * draws - 1) * bound)


def leaky(values: Tensor, slope: Tensor) -> Tensor:
    """Return values where they are positive, slope * values elsewhere; the slope is learned."""
    return _Leaky.apply(values, slope)  # type: ignore[no-any-return,no-untyped-call]


class _Leaky(torch.autograd.Function):
    """PReLU with one slope; torch's own backward takes five times as long on CPU."""

    @staticmethod
    def forward(ctx: Context, values: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(values, slope)
        return F.leaky_relu(values, float(slope))

    @staticmethod
    def backward(ctx: Context, gradient: Tensor) -> tuple[Tensor, Tensor]:
        values, slope = ctx.saved_tensors
        to_values = torch.ops.aten.leaky_relu_backward(gradient, values, float(slope), False)
        to_slope = torch.dot(gradient.reshape(-1), values.clamp_max(0).reshape(-1))
        return to_values, to_slope.reshape(slope.shape)


class GCNEncoder(nn.Module):
    """H = A PReLU(A X W0 + b0) W1 + b1, or as the paper prints it: two ReLUs, no bias, dropout."""

    first_bias: Tensor
    second_bias: Tensor
    slope: Tensor

    def __init__(
        self,
        num_features: int,
        hidden: int,
        dim: int,
        *,
        activation: str = "prelu",
        output: str = "linear",
        bias: bool = True,
        dropout: float = 0.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.first = glorot(num_features, hidden, generator=generator)
        self._add("first_bias", torch.zeros(hidden), trained=bias)
        # A ReLU is a PReLU of slope 0, and no bias one of 0.
        is_relu = activation == "relu"
        self._add("slope", torch.full((1,), 0.0 if is_relu else 0.25), trained=not is_relu)
        self.second = glorot(hidden, dim, generator=generator)
        self._add("second_bias", torch.zeros(dim), trained=bias)
        self.output, self.dropout = output, dropout

    def _add(self, name: str, value: Tensor, *, trained: bool) -> None:
        if trained:
            self.register_parameter(name, nn.Parameter(value))
        else:
            self.register_buffer(name, value)

    def forward(self, features: Features, view: View, nodes: Tensor | None = None) -> Embeddings:
        """Return the embeddings of all nodes, or of those asked for [nodes, dim].

        For a few nodes the second layer costs only their own rows.
        """
        weight: Tensor = self.first
        if view.feature_mask is not None:  # a masked column is a row of W0 that counts 0
            weight = weight * view.feature_mask[:, None]
        hidden = leaky(self._first_layer(features, weight, view) + self.first_bias, self.slope)
        hidden = F.dropout(hidden, self.dropout, self.training)
        if nodes is None:
            embeddings = propagate(view.operator, hidden @ self.second) + self.second_bias
        else:
            rows = view.operator.take_rows(nodes)
            embeddings = multiply(rows, hidden) @ self.second + self.second_bias
        return embeddings.relu() if self.output == "relu" else embeddings

    def _first_layer(self, features: Features, weight: Tensor, view: View) -> Tensor:
        # The features need no gradient, so propagating them first saves the product of the
        # backward pass; it pays while they are narrower than both products of the other order.
        if isinstance(features, Tensor) and features.shape[1] < 2 * weight.shape[1]:
            return propagate(view.operator, features) @ weight
        return propagate(view.operator, project(features, weight))
