"""Rows averaged over the neighbourhoods of a large graph, a few columns at a time.

Beside the rows and the result, three matrices of a few columns are held, and nothing else that
grows with the graph but a number per node. Several processes average a range of rows each.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import torch
from torch import Tensor

from quietgraph.embed.propagation import multiply
from quietgraph.embed.scale.block_inference import slice_rows
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import CSR

_MOST_COLUMNS, _FEWEST_COLUMNS = 64, 32  # at once: every range is a pass over mapped files
_ENTRIES = 2**26  # of a matrix of so many columns, 256 MB


def mix_hops(
    adjacency: CSR,
    rows: Tensor,
    weights: Sequence[float],
    *,
    symmetric: bool,
    scale: Tensor | None = None,
    nodes: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return sum_k weights_k S^k rows [nodes, columns].

    S is the random walk P = D^-1 (A + I), or the symmetric D^-1/2 (A + I) D^-1/2, which is
    D^1/2 P D^-1/2; so the weights of the edges are read as they are stored.

    Args:
        adjacency: A of the graph.
        rows: One row per node [all nodes, columns].
        weights: Of 0, 1, ... steps.
        symmetric: Which S is meant.
        scale: Counts each row by a factor [all nodes].
        nodes: Whose results are wanted; all without it.
        out: Where to write the result, which may be `rows`.
    """
    if current_world().size > 1:
        shared = _mix_by_rows(adjacency, rows, weights, symmetric=symmetric, scale=scale)
        return shared if nodes is None else shared[nodes]
    degree = degrees(adjacency)
    before, after = scale, None
    if symmetric:
        before = degree.rsqrt() if scale is None else scale * degree.rsqrt()
        after = degree.sqrt() if nodes is None else degree[nodes].sqrt()
    wanted = slice(None) if nodes is None else nodes
    if out is None:
        out = empty_matrix(len(degree[wanted]), rows.shape[1], like=rows)
    for columns in column_ranges(*rows.shape):
        hop = rows[:, columns].clone(memory_format=torch.contiguous_format)
        hop = hop if before is None else hop.mul_(before[:, None])
        total = weights[0] * hop[wanted]
        for weight in weights[1:]:
            hop = multiply(adjacency, hop).add_(hop).div_(degree[:, None])
            total.add_(hop[wanted], alpha=weight)
        out[:, columns] = total if after is None else total.mul_(after[:, None])
    return out


def _mix_by_rows(
    adjacency: CSR,
    rows: Tensor,
    weights: Sequence[float],
    *,
    symmetric: bool,
    scale: Tensor | None,
) -> Tensor:
    """Return the same in ranges of rows, by the same operations in the same order."""
    nodes = node_rows(adjacency.shape[0])
    degree = nodes.numbers(lambda some: _degrees_of(slice_rows(adjacency, some)))

    def start(some: slice) -> Tensor:
        before = None if scale is None else scale[some]
        if symmetric:
            before = degree[some].rsqrt() if before is None else before * degree[some].rsqrt()
        return rows[some] if before is None else rows[some] * before[:, None]

    hop = nodes.fill("hop", start)
    mixed = nodes.fill("mixed", partial(_first, hop, weights[0]))
    for weight in weights[1:]:
        hop = nodes.fill("hop", partial(_walk, adjacency, hop, degree))
        mixed = nodes.fill("mixed", partial(_add, mixed, hop, weight))
    if not symmetric:
        return mixed
    return nodes.fill("mixed", lambda some: mixed[some] * degree[some].sqrt()[:, None])


def _first(hop: Tensor, weight: float, some: slice) -> Tensor:
    return weight * hop[some]


def _walk(adjacency: CSR, hop: Tensor, degree: Tensor, some: slice) -> Tensor:
    around = multiply(slice_rows(adjacency, some), hop)
    return around.add_(hop[some]).div_(degree[some, None])


def _add(mixed: Tensor, hop: Tensor, weight: float, some: slice) -> Tensor:
    return mixed[some].add(hop[some], alpha=weight)


def _degrees_of(part: CSR) -> Tensor:
    """Return `degrees` of some rows [rows]."""
    found = torch.zeros(part.shape[0], device=part.values.device)
    return found.index_add_(0, part.rows, part.values).add_(1)


def degrees(adjacency: CSR) -> Tensor:
    """Return the weight of each node's edges and its self-loop [nodes]."""
    ones = torch.ones(adjacency.shape[1], 1, device=adjacency.values.device)
    return multiply(adjacency, ones).squeeze(1).add_(1)


def column_ranges(num_nodes: int, width: int) -> Iterator[slice]:
    """Yield ranges of columns that are worked on at once."""
    size = max(_FEWEST_COLUMNS, min(_MOST_COLUMNS, _ENTRIES // max(num_nodes, 1)))
    for start in range(0, width, size):
        yield slice(start, min(start + size, width))
