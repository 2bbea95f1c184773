"""Encoders of a graph: graph convolutions, and a filter of trainable depth."""

import torch
from torch import Tensor, nn

from quietgraph.embed.sparse import project, propagate
from quietgraph.graph import CSR, Features


class GraphConvolution(nn.Module):
    """One layer A X W + b of Glorot's weights and a bias of zeros."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, operator: CSR, features: Features) -> Tensor:
        """Return one row per node [nodes, outputs]."""
        return propagate(operator, project(features, self.weight)) + self.bias


def glorot(rows: int, columns: int, *, generator: torch.Generator) -> nn.Parameter:
    """Return a weight matrix of Glorot's uniform initialisation [rows, columns]."""
    bound = (6 / (rows + columns)) ** 0.5
    return nn.Parameter((2 * torch.rand(rows, columns, generator=generator) - 1) * bound)
