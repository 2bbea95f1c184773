"""Losses of unit rows whose gradients are written by hand: few passes over large matrices.

Autograd takes some ten passes over a matrix for the gradient of unit rows alone. Each function here
has a slow twin in the tests, written with plain operations.
"""

from typing import Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from quietgraph.types import Context, Embeddings, Scalar

LEAST_TEMPERATURE = 0.02  # of `contrast_costs`: exponentials stay within single precision
_LEAST_NORM = 1e-12  # as in torch.nn.functional.normalize


class _Scaled(Context, Protocol):
    scale: float


def unit_rows(rows: Embeddings, *, least: float = _LEAST_NORM) -> Embeddings:
    """Return the rows divided by their lengths, or by `least` where they are shorter."""
    return _UnitRows.apply(rows, least)  # type: ignore[no-any-return,no-untyped-call]


def contrast_costs(first: Embeddings, second: Embeddings, temperature: float) -> Scalar:
    """Return the sum over nodes and both directions of -log softmax at the node itself.

    Logits are first_i . second_j / temperature, read by rows and by columns. Their exponentials
    must not overflow: rows have unit length, and the temperature is at least LEAST_TEMPERATURE.
    """
    return _ContrastCosts.apply(first, second, temperature)  # type: ignore[no-any-return,no-untyped-call]


def energy_beyond(rows: Embeddings, leading: Tensor) -> Scalar:
    """Return |H|^2 - |H V|^2 for orthonormal columns V, which are held constant [dim, rank]."""
    return _EnergyBeyond.apply(rows, leading)  # type: ignore[no-any-return,no-untyped-call]


def unit_energy_beyond(rows: Embeddings, unit: Embeddings, leading: Tensor) -> Scalar:
    """Return `energy_beyond` of the unit rows; the gradient reaches the rows themselves.

    With u the unit row of h and p = V^T u, the gradient of -|p|^2 is 2 (|p|^2 u - V p) / |h|.

    Args:
        rows: Of any length [nodes, dim].
        unit: The same rows, divided by their lengths; they need no gradient.
        leading: V, held constant [dim, rank].
    """
    return _UnitEnergyBeyond.apply(rows, unit, leading)  # type: ignore[no-any-return,no-untyped-call]


class _UnitRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, rows: Tensor, least: float) -> Tensor:
        lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
        unit: Tensor = rows / lengths.clamp_min(least)
        # A row that is shorter is multiplied by a constant: all of its gradient arrives.
        ctx.save_for_backward(unit, lengths.clamp_min(least), (lengths >= least).to(rows.dtype))
        return unit

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, gradient: Tensor) -> tuple[Tensor, None]:
        unit, lengths, is_long = ctx.saved_tensors
        along = (gradient * unit).sum(dim=1, keepdim=True).mul_(is_long)
        across: Tensor = torch.addcmul(gradient, unit, along, value=-1).div_(lengths)
        return across, None


class _ContrastCosts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Scaled, first: Tensor, second: Tensor, temperature: float) -> Tensor:
        ctx.scale = 1 / temperature
        weights = torch.addmm(first.new_zeros(()), first, second.T, beta=0, alpha=ctx.scale)
        same = weights.diagonal().sum()
        weights.exp_()
        by_row, by_column = weights.sum(dim=1), weights.sum(dim=0)
        ctx.save_for_backward(first, second, weights, by_row, by_column)
        return by_row.log().sum() + by_column.log().sum() - 2 * same

    @staticmethod
    @once_differentiable
    def backward(ctx: _Scaled, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        first, second, weights, by_row, by_column = ctx.saved_tensors
        change = weights * (by_row.reciprocal()[:, None] + by_column.reciprocal())
        change.diagonal().sub_(2)
        factor = gradient * ctx.scale
        return (change @ second).mul_(factor), (change.T @ first).mul_(factor), None


class _EnergyBeyond(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, rows: Tensor, leading: Tensor) -> Tensor:
        along = rows @ leading
        ctx.save_for_backward(rows, leading, along)
        return _energy(rows) - _energy(along)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, gradient: Tensor) -> tuple[Tensor, None]:
        rows, leading, along = ctx.saved_tensors
        factor = 2 * gradient
        return (rows * factor).addmm_(along * factor, leading.T, alpha=-1), None


class _UnitEnergyBeyond(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Context, rows: Tensor, unit: Tensor, leading: Tensor) -> Tensor:
        along = unit @ leading
        lengths = torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(_LEAST_NORM)
        ctx.save_for_backward(unit, lengths, leading, along)
        return _energy(unit) - _energy(along)

    @staticmethod
    @once_differentiable
    def backward(ctx: Context, gradient: Tensor) -> tuple[Tensor, None, None]:
        unit, lengths, leading, along = ctx.saved_tensors
        factor = 2 * gradient / lengths
        shrink = along.square().sum(dim=1, keepdim=True) * factor
        return (unit * shrink).addmm_(along * factor, leading.T, alpha=-1), None, None


def _energy(matrix: Tensor) -> Tensor:
    flat = matrix.reshape(-1)
    return torch.dot(flat, flat)
