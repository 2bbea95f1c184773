"""Rows averaged over the neighbourhoods of a large graph, a few columns at a time.

Beside the rows and the result, three matrices of a few columns are held, and nothing else that
grows with the graph but a number per node. Several processes average a range of rows each.
"""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from quietgraph.embed.propagation import multiply
from quietgraph.embed.scale.block_inference import BlockOperator
from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.large_matrix import empty_matrix
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
    """Return the same in ranges of rows, by Horner's rule: T <- S T + weights_k rows."""
    operator = BlockOperator(adjacency)
    start = operator.nodes.fill(
        "hop", lambda some: rows[some] if scale is None else rows[some] * scale[some, None]
    )
    around = None  # S is P = D^-1/2 S D^1/2 otherwise
    if not symmetric:
        around = operator.nodes.numbers(lambda some: operator.scale[some].reciprocal())
    mixed, last = start, weights[-1]
    for weight in reversed(weights[:-1]):

        def step(
            some: slice, mixed: Tensor = mixed, last: float = last, weight: float = weight
        ) -> Tensor:
            spread = operator.apply(some, mixed, around)
            spread = spread if symmetric else operator.scale[some, None] * spread
            return last * spread + weight * start[some]

        mixed, last = operator.nodes.fill("hop", step), 1.0
    return mixed


def degrees(adjacency: CSR) -> Tensor:
    """Return the weight of each node's edges and its self-loop [nodes]."""
    ones = torch.ones(adjacency.shape[1], 1, device=adjacency.values.device)
    return multiply(adjacency, ones).squeeze(1).add_(1)


def column_ranges(num_nodes: int, width: int) -> Iterator[slice]:
    """Yield ranges of columns that are worked on at once."""
    size = max(_FEWEST_COLUMNS, min(_MOST_COLUMNS, _ENTRIES // max(num_nodes, 1)))
    for start in range(0, width, size):
        yield slice(start, min(start + size, width))
