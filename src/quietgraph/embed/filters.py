"""The graph filter Q^d of a real depth d: d > 0 smooths, d < 0 sharpens.

Q = (I + A) / 2 for the normalised adjacency A without self-loops, so its eigenvalues lie in [0, 1]. They are kept above
a floor, because a negative power of 0 has no end.
"""

import math
from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from quietgraph.embed.operator import Structure, normalised_adjacency, scaled
from quietgraph.embed.sparse import multiply, project, propagate
from quietgraph.graph import CSR, Features, Graph
from quietgraph.types import Scalar

LOWEST_DEPTH, HIGHEST_DEPTH = -5.0, 20.0  # where powers of all eigenvalues are numbers
EXACT_UP_TO = 5000  # nodes
Filter: TypeAlias = Callable[[Tensor, Scalar], Tensor]  # of a weight W [features, dim] and a depth d
_FLOOR = 1e-2
_DEGREE = 16


def without_self_loops(operator: CSR) -> CSR:
    """Return D^-1/2 B D^-1/2 from (D + I)^-1/2 (B + I) (D + I)^-1/2, for edge weights B.

    The diagonal of the latter tells the degrees; a node without edges gets a row of zeros.
    """
    rows, columns = operator.rows, operator.columns.long()
    loops = rows == columns
    share = operator.values.new_zeros(operator.shape[0])
    share[rows[loops]] = operator.values[loops]  # 1 / (d + 1)
    alone = (share == 0) | (share > 1 - 1e-6)
    scale = torch.where(alone, 0.0, (1 - share).rsqrt())
    return operator.with_values((operator.values * scale[rows] * scale[columns]).masked_fill(loops, 0.0))


def polynomial_power(operator: CSR, dense: Tensor, depth: Scalar) -> Tensor:
    """Return Q^depth @ dense by a Chebyshev polynomial of the operator A [nodes, dim].

    Whole depths up to the degree of 16 are met exactly, where the floor cuts nothing off.
    """
    orders = torch.arange(_DEGREE + 1, dtype=torch.float64)
    angles = (orders + 0.5) * (math.pi / len(orders))
    transform = torch.cos(orders[:, None] * angles) * (2 / len(orders))
    transform[0] /= 2
    coefficients = (transform @ _of_filter(angles.cos()).pow(depth.cpu().double())).to(dense)
    before, term = dense, propagate(operator, dense)
    total = coefficients[0] * before + coefficients[1] * term
    for coefficient in coefficients[2:]:
        before, term = term, 2 * propagate(operator, term) - before
        total = total + coefficient * term
    return total


def graph_filter(graph: Graph, norm: str, nodes: Tensor | None = None) -> Filter:
    """Return W, d -> Q^d X W of all nodes, or of some [nodes, dim]; X are the features scaled to a norm.

    Through all eigenvectors V of a small graph, (V q^d) (V^T X) W; else by a polynomial.
    """
    wanted, features = slice(None) if nodes is None else nodes, scaled(graph, norm)
    if graph.num_nodes > EXACT_UP_TO:
        operator = without_self_loops(normalised_adjacency(graph))
        return lambda weight, depth: polynomial_power(operator, project(features, weight), depth)[wanted]
    values, vectors = graph.once("eigenvectors of the filter", lambda: _eigenvectors(graph))
    rows = vectors[wanted]
    if graph.num_features < graph.num_nodes:  # V^T X has fewer numbers than V
        turned = graph.once(("spectral features", norm), lambda: _turned(vectors, features))
        return lambda weight, depth: rows @ (values.pow(depth)[:, None] * (turned @ weight))
    return lambda weight, depth: rows @ (values.pow(depth)[:, None] * (vectors.T @ project(features, weight)))


def _turned(vectors: Tensor, features: Features) -> Tensor:
    return multiply(features.transposed(), vectors).T if isinstance(features, CSR) else vectors.T @ features


def _eigenvectors(graph: Graph) -> tuple[Tensor, Tensor]:
    structure = Structure.of(graph)
    present = structure.everything()
    present[-graph.num_nodes :] = 0  # no self-loops
    # eigh, not eig: the operator is symmetric, so eigenvalues are real.
    values, vectors = torch.linalg.eigh(structure.operator(present).to_dense())
    return _of_filter(values), vectors


def _of_filter(values: Tensor) -> Tensor:
    """Return the eigenvalues of Q from those of A."""
    return ((1 + values) / 2).clamp_min(_FLOOR)
