"""Sparse products with gradients.

`embedding_bag` sums weighted rows, which is what a sparse product does; on CPU it takes a fraction of the time of
`torch.sparse.mm`, and it reads 32-bit indices.
"""

import warnings
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR, Features

_LANES = 8  # narrower rows miss the vector code of `sampled_addmm`, which is five times as fast


def multiply(matrix: CSR, dense: Tensor) -> Tensor:
    """Return matrix @ dense; the gradient reaches `dense` [columns, dim]."""
    return cast("Tensor", _Product.apply(dense, matrix, False))


def propagate(operator: CSR, dense: Tensor) -> Tensor:
    """Return operator @ dense for a symmetric operator, whose backward is the same product."""
    return cast("Tensor", _Product.apply(dense, operator, True))


def project(features: Features, weight: Tensor) -> Tensor:
    """Return features @ weight [nodes, dim]; sparse features stay sparse."""
    return multiply(features, weight) if isinstance(features, CSR) else features @ weight


def propagate_weighted(operator: CSR, dense: Tensor) -> Tensor:
    """Return operator @ dense; gradients reach the operator's values and `dense`."""
    if not operator.values.requires_grad:
        return multiply(operator, dense)
    structure = operator.with_values(operator.values.detach())
    return cast("Tensor", _WeightedProduct.apply(operator.values, dense, structure))


def entry_products(structure: CSR, left: Tensor, right: Tensor) -> Tensor:
    """Return left_i . right_j for every stored entry (i, j) of a structure [entries].

    Args:
        structure: Which pairs to multiply; its values do not count [rows, columns].
        left: One row per row of the structure [rows, dim].
        right: One row per column of the structure [columns, dim].
    """
    return cast("Tensor", _EntryProducts.apply(left, right, structure))


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: CSR, symmetric: bool) -> Tensor:
        ctx.matrix, ctx.symmetric = matrix, symmetric
        return _sum_rows(matrix, dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        return _sum_rows(ctx.matrix if ctx.symmetric else ctx.matrix.transposed(), gradient), None, None


class _WeightedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, matrix: CSR) -> Tensor:  # noqa: ARG004
        ctx.matrix = matrix
        ctx.save_for_backward(dense)
        return _sum_rows(matrix, dense)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (dense,) = ctx.saved_tensors
        to_dense = _sum_rows(ctx.matrix.transposed(), gradient) if ctx.needs_input_grad[1] else None
        return _sample_products(ctx.matrix, gradient, dense), to_dense, None


class _EntryProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor, structure: CSR) -> Tensor:
        ctx.matrix = structure
        ctx.save_for_backward(left, right)
        return _sample_products(structure, left, right)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        weighted = ctx.matrix.with_values(gradient)
        return _sum_rows(weighted, right), _sum_rows(weighted.transposed(), left), None


def _sum_rows(matrix: CSR, dense: Tensor) -> Tensor:
    return F.embedding_bag(
        matrix.columns,
        dense.contiguous(),
        matrix.row_pointer,
        mode="sum",
        per_sample_weights=matrix.values.to(dense.dtype),
        include_last_offset=True,
    )


def _sample_products(structure: CSR, left: Tensor, right: Tensor) -> Tensor:
    """Compute the products in one kernel: gathering both rows of each pair takes many times as long."""
    if not structure.num_entries:
        return left.new_zeros(0)
    missing = _LANES - left.shape[1]
    if missing > 0:
        left, right = F.pad(left, (0, missing)), F.pad(right, (0, missing))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        zeros = torch.zeros_like(structure.values, dtype=left.dtype)
        pointer, columns = structure.row_pointer, structure.columns
        pattern = torch.sparse_csr_tensor(pointer, columns, zeros, structure.shape, check_invariants=False)
        products = torch.sparse.sampled_addmm(pattern, left.contiguous(), right.T, beta=0.0)
    return cast("Tensor", products.values())
