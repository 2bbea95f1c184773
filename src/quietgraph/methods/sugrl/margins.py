"""What SUGRL is made of: a dense encoder, sampled neighbours and margins between distances."""

from itertools import pairwise

import torch
from torch import Tensor, nn

from quietgraph.embed import project
from quietgraph.embed.encoder import glorot
from quietgraph.graph import CSR, Features

_TINY = 1e-12  # under a square root, which has no slope at 0


class DenseEncoder(nn.Module):
    """One or two dense layers with a ReLU between, blind to the edges."""

    def __init__(
        self, num_features: int, hidden: int, dim: int, *, generator: torch.Generator
    ) -> None:
        super().__init__()
        widths = [num_features, hidden, dim] if hidden else [num_features, dim]
        self.weights = nn.ParameterList(
            glorot(rows, columns, generator=generator) for rows, columns in pairwise(widths)
        )
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths[1:])

    def forward(self, features: Features) -> Tensor:
        """Return one row per node [nodes, dim]."""
        values: Tensor = project(features, self.weights[0]) + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values = values.relu() @ weight + bias
        return values


def margin_losses(
    anchors: Tensor,
    structural: Tensor,
    neighbours: Tensor,
    negatives: list[Tensor],
    *,
    margin: float,
    slack: float,
) -> dict[str, Tensor]:
    """Return three costs: negatives nearer than margin + the two positives, or too far away.

    With distances d+ to the structural and dn to the neighbour positive and d- to a negative:
    "structure" sums max(0, d+ - d- + margin) over negatives, "neighbours" the same with dn, and
    "bound" averages max(0, d- - d+ - margin - slack) over negatives with d+ held constant; each
    is a mean over nodes.

    Args:
        anchors: One row per node [nodes, dim].
        structural: Its propagated version [nodes, dim].
        neighbours: Mean of its sampled neighbours [nodes, dim].
        negatives: Permutations of the nodes [nodes] int64.
        margin: How much nearer positives must be (alpha).
        slack: How much farther than that negatives may be (beta).
    """
    near, beside = _distance(anchors, structural), _distance(anchors, neighbours)
    far = torch.stack([_distance(anchors, anchors.index_select(0, order)) for order in negatives])
    return {
        "structure": (near - far + margin).relu().mean(dim=1).sum(),
        "neighbours": (beside - far + margin).relu().mean(dim=1).sum(),
        "bound": (far - near.detach() - margin - slack).relu().mean(),
    }


def sample_neighbours(adjacency: CSR, count: int, *, generator: torch.Generator) -> CSR:
    """Return the operator that averages `count` random neighbours, drawn with replacement."""
    num_nodes, device = adjacency.shape[0], adjacency.values.device
    draws = torch.rand(num_nodes, count, generator=generator).to(device)
    places = (draws * adjacency.row_counts[:, None]).long() + adjacency.row_pointer[:-1, None]
    columns = adjacency.columns[places.reshape(-1)]
    pointer = torch.arange(0, num_nodes * count + 1, count, device=device).to(columns.dtype)
    values = torch.full((num_nodes * count,), 1 / count, device=device)
    return CSR(pointer, columns, values, adjacency.shape)


def _distance(first: Tensor, second: Tensor) -> Tensor:
    return (first - second).square().sum(dim=1).add(_TINY).sqrt()
