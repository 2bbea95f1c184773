"""A perceptron on propagated features, trained on random propagations, applied to whole ones."""

from itertools import pairwise
from typing import cast

import torch
from torch import Tensor, nn

from quietgraph.embed import normalise_rows, project
from quietgraph.graph import Features, Graph
from quietgraph.methods.base.supervised import drop_features
from quietgraph.methods.grand_plus.random_propagation import mix, mixed_projection, walk_matrix
from quietgraph.types import Embeddings, Scalar, Scores


class PropagatedPerceptron(nn.Module):
    """Linear layers with ReLU between; batch norm and unit rows before each, if wanted."""

    def __init__(
        self,
        sizes: list[int],
        *,
        dropouts: tuple[float, float],
        batch_norm: bool,
        node_norm: bool,
    ) -> None:
        super().__init__()
        pairs = list(pairwise(sizes))
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)
        if not batch_norm:
            self._turn_first()
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[:-1] if batch_norm)
        self.input_dropout, self.hidden_dropout = dropouts
        self.node_norm = node_norm

    def forward(self, rows: Features) -> Scores:
        """Return class scores [rows, classes]."""
        return self.after_first(self._layer(0, rows, self.input_dropout))[0]

    def after_first(self, outputs: Tensor) -> tuple[Scores, Embeddings]:
        """Return scores and the last hidden layer from what the first layer gave."""
        hidden = outputs
        for index in range(1, len(self.layers)):
            hidden = outputs.relu()
            outputs = self._layer(index, hidden, self.hidden_dropout)
        return outputs, hidden

    def on_mixture(
        self, graph: Graph, features: Features, weights: list[float]
    ) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of all nodes by their whole propagated features."""
        matrix, bias = self._folded_first()
        walk = walk_matrix(graph)
        if not self.node_norm:
            return self.after_first(mix(walk, project(features, matrix), weights) + bias)
        product, length = mixed_projection(walk, features, weights, matrix)
        return self.after_first(product / length.clamp_min(1e-12) + bias)

    def _layer(self, index: int, rows: Features, dropout: float) -> Tensor:
        if self.node_norm:
            rows = normalise_rows(rows, "l2")
        if len(self.norms):
            rows = self.norms[index](rows.to_dense())
        layer = cast(nn.Linear, self.layers[index])
        dropped = drop_features(rows, dropout, training=self.training)
        return project(dropped, layer.weight.T) + layer.bias

    def _turn_first(self) -> None:
        """Let the weights lie in memory as sparse products read them and write their gradient."""
        first = cast(nn.Linear, self.layers[0])
        first.weight = nn.Parameter(first.weight.detach().T.contiguous().T)

    def _folded_first(self) -> tuple[Tensor, Tensor]:
        """Return the first layer with its batch norm as one matrix [inputs, outputs] and bias."""
        first = cast(nn.Linear, self.layers[0])
        if not len(self.norms):
            return first.weight.T, first.bias
        zeros = torch.zeros_like(first.weight[:1])
        shift = self.norms[0](zeros)  # in eval mode the norm is affine: scale * x + shift
        scale = self.norms[0](zeros + 1) - shift
        return (first.weight * scale).T, first(shift).squeeze(0)


def consistency_loss(log_probabilities: Tensor, *, sharpening: float, distance: str) -> Scalar:
    """Cost of predictions that differ from their sharpened mean, where the mean is confident.

    Args:
        log_probabilities: Log-probabilities of the same nodes in each draw [draws, nodes, classes].
        sharpening: Temperature of the mean; smaller is sharper.
        distance: "l2" for squared distance, "kl" for cross-entropy.
    """
    mean = log_probabilities.detach().exp().mean(dim=0)
    wanted = (mean.clamp_min(1e-12).log() / sharpening).softmax(dim=1)
    confident = (mean.max(dim=1).values > _least_confidence(mean.shape[1])).to(mean)
    costs = -wanted * log_probabilities
    if distance == "l2":
        costs = (log_probabilities.exp() - wanted).square()
    return (costs.sum(dim=2).mean(dim=0) * confident).sum() / confident.sum().clamp_min(1)


def _least_confidence(num_classes: int) -> float:
    # Twice the uniform probability is the published rule; of two classes none could reach it.
    return 2 / num_classes if num_classes > 2 else 0.75
