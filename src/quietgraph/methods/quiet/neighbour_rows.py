"""Attributes of neighbours apart from a node's own, for heterophilous graphs."""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.propagation import multiply
from quietgraph.embed.scale.block_inference import slice_rows
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.hops import column_ranges
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import CSR, Graph


def neighbour_rows(graph: Graph, rows: Tensor, *, in_blocks: bool = False) -> Tensor:
    """Return the unit means of neighbours' rows, and of their neighbours' [nodes, 2 columns].

    No self-loops are added: where neighbours differ from a node, averages that hold the node
    itself mix what should be told apart. Some columns are computed at a time.

    Args:
        graph: Whose edges are walked.
        rows: One row per node [nodes, columns].
        in_blocks: Whether several processes compute a range of rows each.
    """
    if in_blocks and current_world().size > 1:
        return _by_rows(graph.adjacency, rows)
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


def _by_rows(adjacency: CSR, rows: Tensor) -> Tensor:
    """Return the same in ranges of rows, by the same operations in the same order."""
    nodes = node_rows(len(rows))

    def mean(of: Tensor, some: slice) -> Tensor:
        part = slice_rows(adjacency, some)
        degree = rows.new_zeros(part.shape[0]).index_add_(0, part.rows, part.values.to(rows))
        return multiply(part, of) / degree.clamp_min(1e-12)[:, None]

    first = nodes.fill("neighbours", partial(mean, rows))
    second = nodes.fill("neighbours", partial(mean, first))

    def unit(some: slice) -> Tensor:
        return torch.cat([F.normalize(each[some], dim=1) for each in (first, second)], dim=1)

    return nodes.fill("neighbours", unit)
