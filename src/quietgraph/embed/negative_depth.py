"""The graph filter Q^d whose depth d is a real number: d > 0 smooths, d < 0 sharpens.

Q = (I + A) / 2 for a normalised adjacency A, so its eigenvalues lie in [0, 1]. They are kept
above a floor, because a negative power of 0 has no end.
"""

import copy
import math
from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor, nn

from quietgraph.embed.encoder import glorot
from quietgraph.embed.propagation import Propagation, project, propagate
from quietgraph.embed.views import View
from quietgraph.graph import CSR, Features, Graph
from quietgraph.graph.sparse import MatrixContext
from quietgraph.types import Embeddings, Scalar

FLOOR = 1e-2
DEGREE = 16
LOWEST_DEPTH, HIGHEST_DEPTH = -5.0, 20.0
DEPTH_STARTS = (-1.0, 1.0, 7.0)  # the loss is not convex in the depth
_GROUP = 256  # nodes of small components that share a block
_DEPTH_PACE = 10.0  # steps of the depth, in step sizes of the other parameters


class Power(Protocol):
    """Something that computes Q^d times a matrix, with gradients to both."""

    def __call__(self, dense: Tensor, depth: Scalar) -> Tensor:
        """Return Q^depth @ dense [nodes, dim]."""

    def at(self, nodes: Tensor) -> "Power":
        """Return what computes the rows of these nodes alone."""


class ExactPower:
    """Q^d through all eigenvectors: O(n^3) once and O(n^2 dim) each time, n nodes connected.

    Eigenvectors of one connected component are 0 on the others, so each has its own, small ones
    in groups. `blocks` are their nodes; what is spectral has one row per eigenvector, in their
    order.
    """

    def __init__(self, operator: CSR, *, floor: float = FLOOR) -> None:
        self.blocks = _blocks(operator)
        values, self.vectors = zip(*map(_eigen, _dense_blocks(operator, self.blocks)), strict=True)
        self.values = _eigenvalues(torch.cat(values), floor)
        self.rows: tuple[Tensor, ...] = self.vectors  # of the nodes that are wanted
        self.order: Tensor | None = None  # of the wanted nodes among the rows of all blocks
        if len(self.blocks) > 1:
            self.order = torch.cat(self.blocks).argsort()

    def __call__(self, dense: Tensor, depth: Scalar) -> Tensor:
        """Return Q^depth @ dense [nodes, dim]."""
        parts = zip(self.vectors, self.blocks, strict=True)
        return self.filtered(torch.cat([part.T @ dense[nodes] for part, nodes in parts]), depth)

    def filtered(self, spectral: Tensor, depth: Scalar) -> Tensor:
        """Return Q^depth V @ spectral, of what is given in the basis of the eigenvectors V."""
        inside: Tensor = self.values.pow(depth)[:, None] * spectral
        if self.order is None:
            return self.rows[0] @ inside
        parts = torch.split(inside, [len(nodes) for nodes in self.blocks])
        found = [rows @ part for rows, part in zip(self.rows, parts, strict=True)]
        return torch.cat(found)[self.order]

    def at(self, nodes: Tensor) -> "ExactPower":
        """Return what computes the rows of these nodes alone."""
        part = copy.copy(self)
        if self.order is None:
            part.rows = (self.vectors[0][nodes],)
            return part
        places, rows, wanted, start = self.order[nodes], [], [], 0
        for vectors in self.vectors:
            own = ((places >= start) & (places < start + len(vectors))).nonzero().squeeze(1)
            rows.append(vectors[places[own] - start])
            wanted.append(own)
            start += len(vectors)
        part.rows, part.order = tuple(rows), torch.cat(wanted).argsort()
        return part


class PolynomialPower:
    """Q^d as a Chebyshev polynomial of the operator: O(degree edges dim), any graph.

    Whole depths up to the degree are met exactly (where the floor cuts nothing off).
    """

    def __init__(self, operator: CSR, *, floor: float = FLOOR, degree: int = DEGREE) -> None:
        self.operator = operator
        angles = (torch.arange(degree + 1, dtype=torch.float64) + 0.5) * (math.pi / (degree + 1))
        self.points = _eigenvalues(angles.cos(), floor)
        transform = torch.cos(torch.arange(degree + 1)[:, None] * angles) * (2 / (degree + 1))
        transform[0] /= 2
        self.transform = transform  # values at the points -> coefficients
        self.nodes: Tensor | None = None

    def __call__(self, dense: Tensor, depth: Scalar) -> Tensor:
        """Return Q^depth @ dense [nodes, dim]."""
        coefficients = self.transform @ self.points.pow(depth.cpu().double())
        filtered: Tensor = _ChebyshevSum.apply(  # type: ignore[no-untyped-call]
            dense, coefficients.to(dense), self.operator
        )
        return filtered if self.nodes is None else filtered[self.nodes]

    def at(self, nodes: Tensor) -> "PolynomialPower":
        """Return what computes the rows of these nodes alone."""
        part = copy.copy(self)
        part.nodes = nodes
        return part


def power_of(graph: Graph, *, floor: float = FLOOR, exact_up_to: int) -> Power:
    """Return Q^d of a graph, A = D^-1/2 A D^-1/2 without self-loops; exact if it is small."""
    structure = Propagation.of(graph)
    present = structure.everything()
    present[structure.num_edges + structure.num_spare :] = 0  # no self-loops
    operator = structure.operator(present)
    if graph.num_nodes <= exact_up_to:
        return ExactPower(operator, floor=floor)
    return PolynomialPower(operator, floor=floor)


class TEDEncoder(nn.Module):
    """H = Q^d X W + b, or its ReLU, with a trainable depth d, for heterophilous graphs.

    Q comes from the operator of the view less its self-loops, so that the filter sees dropped
    edges. The depth moves ten times as fast as the weights: Adam's steps do not depend on the
    scale of a gradient, so that 60 steps of 1e-3 would leave it where it starts.
    """

    start: Tensor

    def __init__(
        self,
        num_features: int,
        dim: int,
        *,
        output: str = "linear",
        depth: float = -1.0,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.weight = glorot(num_features, dim, generator=generator)
        self.bias = nn.Parameter(torch.zeros(dim))
        self.register_buffer("start", torch.tensor(depth))
        self.moved = nn.Parameter(torch.zeros(()))
        self.output = output

    @property
    def depth(self) -> Scalar:
        """The depth as it is now, kept where its powers are numbers."""
        return (self.start + _DEPTH_PACE * self.moved).clamp(LOWEST_DEPTH, HIGHEST_DEPTH)

    def forward(self, features: Features, view: View, nodes: Tensor | None = None) -> Embeddings:
        """Return the embeddings of all nodes, or of those asked for [nodes, dim]."""
        weight: Tensor = self.weight
        if view.feature_mask is not None:  # a masked column is a row of W that counts 0
            weight = weight * view.feature_mask[:, None]
        power = PolynomialPower(without_self_loops(view.operator))
        if nodes is not None:
            power = power.at(nodes)
        embeddings = power(project(features, weight), self.depth) + self.bias
        return embeddings.relu() if self.output == "relu" else embeddings


def without_self_loops(operator: CSR) -> CSR:
    """Return D^-1/2 A D^-1/2 from (D + I)^-1/2 (A + I) (D + I)^-1/2.

    The diagonal of the latter tells the degrees; a node without edges gets a row of zeros.
    """
    rows, columns = operator.rows, operator.columns.long()
    loops = rows == columns
    share = torch.zeros(operator.shape[0], dtype=operator.values.dtype, device=rows.device)
    share[rows[loops]] = operator.values[loops]  # 1 / (d + 1)
    alone = (share == 0) | (share > 1 - 1e-6)
    scale = torch.where(alone, torch.zeros_like(share), (1 - share).rsqrt())
    values = operator.values * scale[rows] * scale[columns]
    return operator.with_values(values.masked_fill(loops, 0.0))


def _blocks(operator: CSR) -> list[Tensor]:
    """Return the nodes of each connected component, small components together."""
    count, labels = connected_components(operator.to_scipy(), directed=False)
    sizes = np.bincount(labels, minlength=count)
    groups, found, filled = np.empty_like(sizes), 0, 0
    for component in np.argsort(-sizes, kind="stable"):
        if filled >= _GROUP:
            found, filled = found + 1, 0
        groups[component] = found
        filled += sizes[component]
    nodes = torch.from_numpy(np.argsort(groups[labels], kind="stable"))
    counts = np.bincount(groups[labels]).tolist()
    return list(torch.split(nodes.to(operator.values.device), counts))


def _dense_blocks(operator: CSR, blocks: list[Tensor]) -> Iterator[Tensor]:
    """Give the dense adjacency within each block of nodes."""
    if len(blocks) == 1:
        yield operator.to_dense()
        return
    matrix = operator.to_scipy()
    for nodes in blocks:
        picks = nodes.cpu().numpy()
        yield torch.from_numpy(matrix[picks][:, picks].toarray()).to(operator.values)


def _eigen(block: Tensor) -> tuple[Tensor, Tensor]:
    # eigh, not eig: the operator is symmetric, so eigenvalues are real.
    values, vectors = torch.linalg.eigh(block)
    return values, vectors


def _eigenvalues(of_operator: Tensor, floor: float) -> Tensor:
    """Return the eigenvalues of Q from those of A."""
    return ((1 + of_operator) / 2).clamp_min(floor)


class _ChebyshevSum(torch.autograd.Function):
    """sum_k c_k T_k(A) Y; T_k(A) is symmetric and can act on the gradient, so only Y is kept."""

    @staticmethod
    def forward(ctx: MatrixContext, dense: Tensor, coefficients: Tensor, operator: CSR) -> Tensor:
        ctx.save_for_backward(dense, coefficients)
        ctx.matrix = operator
        return _chebyshev(operator, dense, coefficients, None)[0]

    @staticmethod
    def backward(ctx: MatrixContext, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        dense, coefficients = ctx.saved_tensors
        return *_chebyshev(ctx.matrix, gradient, coefficients, dense), None


def _chebyshev(
    operator: CSR, dense: Tensor, coefficients: Tensor, other: Tensor | None
) -> tuple[Tensor, Tensor]:
    """Return sum_k c_k T_k(A) dense, and the inner products <other, T_k(A) dense> [degree + 1]."""
    products = torch.zeros_like(coefficients)
    before, term = dense, dense  # T_1 = A T_0 - 0, not 2 A T_0 - T_0
    total = torch.zeros_like(dense)
    for order, coefficient in enumerate(coefficients):
        if order == 1:
            term = propagate(operator, dense)
        elif order > 1:
            before, term = term, torch.sub(2 * propagate(operator, term), before)
        total.add_(coefficient * term)
        if other is not None:
            products[order] = (other * term).sum()
    return total, products
