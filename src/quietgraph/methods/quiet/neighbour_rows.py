"""Attributes of neighbours apart from a node's own, for heterophilous graphs."""

import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.propagation import multiply
from quietgraph.embed.scale.hops import column_ranges
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.graph import Graph


def neighbour_rows(graph: Graph, rows: Tensor) -> Tensor:
    """Return the unit means of neighbours' rows, and of their neighbours' [nodes, 2 columns].

    No self-loops are added: where neighbours differ from a node, averages that hold the node
    itself mix what should be told apart. Some columns are computed at a time.

    Args:
        graph: Whose edges are walked.
        rows: One row per node [nodes, columns].
    """
    width = rows.shape[1]
    found = empty_matrix(len(rows), 2 * width, like=rows)
    degree = multiply(graph.adjacency, rows.new_ones(len(rows), 1)).clamp_min(1e-12)
    for columns in column_ranges(*rows.shape):
        hop = rows[:, columns].contiguous()
        for first in (0, width):
            hop = multiply(graph.adjacency, hop) / degree
            found[:, first + columns.start : first + columns.stop] = hop
    for half in (found[:, :width], found[:, width:]):
        half.copy_(F.normalize(half, dim=1))
    return found
