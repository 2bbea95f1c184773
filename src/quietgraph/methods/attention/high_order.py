"""High-order neighbours that share many neighbours, without the N x N matrix of counts."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse

from quietgraph.graph import CSR, Graph

_BLOCK = 1024  # nodes whose candidates are held at once
_HUB = 200  # neighbours from which a node tells nothing about those who share it

_Sparse: TypeAlias = Any  # scipy.sparse.csr_matrix, which has no useful type


def similar_neighbours(graph: Graph, *, order: int, most: int, weigh: bool = True) -> CSR:
    """Return, for each node, the nodes within `order` steps that are most alike by neighbours.

    Two nodes are alike by the cosine of their neighbourhoods (who lies within half the order,
    rounded up), the number they share over the geometric mean of their sizes. Kept are those at
    least as alike as the mean of the node's candidates, at most `most`; and the node itself,
    alike 1. Nodes with very many neighbours are not counted as shared.

    Args:
        graph: Where the nodes are; edge weights do not count.
        order: Steps within which candidates lie.
        most: Cap on the neighbours of a node, itself apart.
        weigh: Whether similarity counts; else every candidate is alike 1.
    """
    found = [
        _most_alike(candidates, start, most)
        for start, candidates in _candidate_blocks(graph, order, weigh)
    ]
    loops = np.arange(graph.num_nodes)
    rows = np.concatenate([part[0] for part in found] + [loops])
    columns = np.concatenate([part[1] for part in found] + [loops])
    values = np.concatenate([part[2] for part in found] + [np.ones(graph.num_nodes)])
    matrix = scipy.sparse.coo_matrix((values, (rows, columns)), shape=(graph.num_nodes,) * 2)
    return CSR.from_scipy(matrix).to(graph.device)


def _candidate_blocks(graph: Graph, order: int, weigh: bool) -> Iterator[tuple[int, _Sparse]]:
    """Give the similarity of the candidates of a block of nodes, and its first node."""
    step = _pattern(graph.adjacency.to_scipy() + scipy.sparse.identity(graph.num_nodes))
    near = _power(step, (order + 1) // 2)
    rest = _power(step, order // 2)
    sizes = np.diff(near.indptr)
    telling = near @ scipy.sparse.diags((sizes <= _HUB).astype(np.float32))
    scale = scipy.sparse.diags(sizes**-0.5)
    for start in range(0, graph.num_nodes, _BLOCK):
        block = slice(start, start + _BLOCK)
        within = near[block] if order == 1 else _pattern(telling[block] @ rest)
        if not weigh:
            yield start, within
            continue
        shared = (telling[block] @ near).multiply(within)
        yield start, scipy.sparse.diags(sizes[block] ** -0.5) @ shared @ scale


def _most_alike(candidates: _Sparse, start: int, most: int) -> tuple[Any, Any, Any]:
    """Return rows, columns and values of the candidates that are kept."""
    found = candidates.tocoo()
    rows, columns, values = found.row + start, found.col, found.data
    others = (rows != columns) & (values > 0)
    rows, columns, values = rows[others], columns[others], values[others]
    position = rows - start
    counts = np.bincount(position, minlength=candidates.shape[0])
    means = np.bincount(position, values, minlength=len(counts)) / np.maximum(counts, 1)
    kept = values >= means[position] * (1 - 1e-6)  # all of those that are alike
    rows, columns, values = rows[kept], columns[kept], values[kept]
    ranked = np.lexsort((columns, -values, rows))
    rows, columns, values = rows[ranked], columns[ranked], values[ranked]
    rank = np.arange(len(rows)) - np.searchsorted(rows, rows)
    return rows[rank < most], columns[rank < most], values[rank < most]


def _power(step: _Sparse, exponent: int) -> _Sparse:
    """Return who lies within so many steps."""
    reached = scipy.sparse.identity(step.shape[0], dtype=np.float32, format="csr")
    for _ in range(exponent):
        reached = _pattern(reached @ step)
    return reached


def _pattern(matrix: _Sparse) -> _Sparse:
    """Return the matrix with every entry 1."""
    ones = scipy.sparse.csr_matrix(matrix, dtype=np.float32)
    ones.eliminate_zeros()
    ones.data[:] = 1
    return ones
