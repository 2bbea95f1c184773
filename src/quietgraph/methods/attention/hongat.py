"""HONGAT: graph attention over high-order neighbours that share neighbours."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
import scipy.sparse

from quietgraph.graph import CSR, Graph
from quietgraph.methods.attention.layer import AttentionClassifier, AttentionLayer
from quietgraph.methods.supervised import keep_largest
from quietgraph.params import param
from quietgraph.types import SparseMatrix

_BLOCK = 1024  # nodes whose candidates are held at once
_HUB = 200  # neighbours from which a node tells nothing about those who share it


@final
@dataclass(kw_only=True, eq=False, repr=False)
class HONGAT(AttentionClassifier):
    """Attention over high-order neighbours, masked by similarity (after Zhang et al., AAAI 2024).

    Our reading of the published abstract, which is all we had: candidates are the nodes within a few steps, those with
    a less than mean fraction of common neighbours are masked, and attention is proportional to that fraction times the
    usual weight (`similar_neighbours`).
    """

    order: int = param(2, "steps within which neighbours lie", low=1)
    neighbours: int = param(32, "most neighbours that a node attends to", low=1)

    def _parts(self) -> tuple[Callable[..., AttentionLayer], Callable[[Graph], CSR]]:
        return AttentionLayer, partial(similar_neighbours, order=self.order, most=self.neighbours)


def similar_neighbours(graph: Graph, *, order: int, most: int) -> CSR:
    """Return, for each node, the nodes within `order` steps that are most alike by neighbours [nodes, nodes].

    Two nodes are alike by the cosine of their neighbourhoods (who lies within half the order, rounded up; edge weights
    do not count): the number they share over the geometric mean of their sizes. Kept are those at least as alike as the
    mean of the node's candidates, at most `most`; and the node itself, alike 1. Nodes with very many neighbours are not
    counted as shared. The answer is kept with the graph.
    """
    return graph.once(("similar neighbours", order, most), lambda: _similar(graph, order, most))


def _similar(graph: Graph, order: int, most: int) -> CSR:
    itself = scipy.sparse.identity(graph.num_nodes, dtype=np.float32, format="csr")
    step = _pattern(graph.adjacency.to_scipy() + itself)
    near, rest = _power(step, (order + 1) // 2), _power(step, order // 2)
    sizes = np.diff(near.indptr)
    telling = scipy.sparse.csr_matrix(near.multiply(sizes <= _HUB))
    scale = scipy.sparse.diags(sizes**-0.5)
    found = []
    for start in range(0, graph.num_nodes, _BLOCK):
        block = slice(start, start + _BLOCK)
        within = near[block] if order == 1 else _pattern(telling[block] @ rest)
        shared = (telling[block] @ near).multiply(within)
        alike = scipy.sparse.coo_matrix(scipy.sparse.diags(sizes[block] ** -0.5) @ shared @ scale)
        found.append(keep_largest(_above_mean(alike, start), most))
    return CSR.from_scipy(scipy.sparse.vstack(found) + itself).to(graph.device)


def _above_mean(cells: Any, start: int) -> SparseMatrix:
    """Return the entries of at least their row's mean, without the nodes themselves, whose columns begin at `start`."""
    others = (cells.col != cells.row + start) & (cells.data > 0)
    rows, columns, values = cells.row[others], cells.col[others], cells.data[others]
    counts, sums = np.bincount(rows, minlength=cells.shape[0]), np.bincount(rows, values, minlength=cells.shape[0])
    kept = values >= (sums / np.maximum(counts, 1))[rows] * (1 - 1e-6)  # all of those that are alike
    return scipy.sparse.csr_matrix((values[kept], (rows[kept], columns[kept])), shape=cells.shape)


def _power(step: SparseMatrix, exponent: int) -> SparseMatrix:
    """Return who lies within so many steps."""
    reached = scipy.sparse.identity(step.shape[0], dtype=np.float32, format="csr")
    for _ in range(exponent):
        reached = _pattern(reached @ step)
    return reached


def _pattern(matrix: SparseMatrix) -> SparseMatrix:
    """Return the matrix with every entry 1."""
    ones = scipy.sparse.csr_matrix(matrix, dtype=np.float32)
    ones.eliminate_zeros()
    ones.data[:] = 1
    return ones
