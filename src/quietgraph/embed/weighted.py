"""Sparse products whose gradient also reaches the entries, for edge weights that are learned."""

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.propagation import multiply
from quietgraph.graph import CSR
from quietgraph.graph.sparse import MatrixContext

_LANES = 8  # narrower rows miss the vector code of the kernel, which is 5 times as fast


def propagate_weighted(operator: CSR, dense: Tensor) -> Tensor:
    """Return operator @ dense; gradients reach the operator's values and `dense`."""
    if not operator.values.requires_grad:
        return multiply(operator, dense)
    structure = operator.with_values(operator.values.detach())
    return _WeightedProduct.apply(operator.values, dense, structure)  # type: ignore[no-any-return,no-untyped-call]


def entry_products(structure: CSR, left: Tensor, right: Tensor) -> Tensor:
    """Return left_i . right_j for every stored entry (i, j) of a structure [entries].

    Args:
        structure: Which pairs to multiply; its values do not count [rows, columns].
        left: One row per row of the structure [rows, dim].
        right: One row per column of the structure [columns, dim].
    """
    return _EntryProducts.apply(left, right, structure)  # type: ignore[no-any-return,no-untyped-call]


class _WeightedProduct(torch.autograd.Function):
    @staticmethod
    def forward(ctx: MatrixContext, values: Tensor, dense: Tensor, operator: CSR) -> Tensor:  # noqa: ARG004
        ctx.matrix = operator
        ctx.save_for_backward(dense)
        return multiply(operator, dense)

    @staticmethod
    def backward(ctx: MatrixContext, gradient: Tensor) -> tuple[Tensor, Tensor | None, None]:
        (dense,) = ctx.saved_tensors
        turned = ctx.matrix.transposed() if ctx.needs_input_grad[1] else None
        to_dense = None if turned is None else multiply(turned, gradient)
        return _sample_products(ctx.matrix, gradient, dense), to_dense, None


class _EntryProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: MatrixContext, left: Tensor, right: Tensor, structure: CSR) -> Tensor:
        ctx.matrix = structure
        ctx.save_for_backward(left, right)
        return _sample_products(structure, left, right)

    @staticmethod
    def backward(ctx: MatrixContext, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        left, right = ctx.saved_tensors
        weighted = ctx.matrix.with_values(gradient)
        return multiply(weighted, right), multiply(weighted.transposed(), left), None


def _sample_products(structure: CSR, left: Tensor, right: Tensor) -> Tensor:
    """Compute the products in one kernel: gathering both rows of each pair is 20 times slower."""
    if not structure.num_entries:
        return left.new_zeros(0)
    missing = _LANES - left.shape[1]
    if missing > 0:
        left, right = F.pad(left, (0, missing)), F.pad(right, (0, missing))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        pattern = torch.sparse_csr_tensor(
            structure.row_pointer,
            structure.columns,
            torch.zeros_like(structure.values, dtype=left.dtype),
            structure.shape,
            check_invariants=False,
        )
        products = torch.sparse.sampled_addmm(pattern, left.contiguous(), right.T, beta=0.0)
    values: Tensor = products.values()
    return values
