"""Multinomial logistic regression on labelled rows, the linear probe of embeddings."""

import warnings
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor

from quietgraph.classify.linear import LinearFit
from quietgraph.types import Embeddings, FloatArray, Labels, Mask

_Cost: TypeAlias = Callable[[FloatArray], tuple[float, FloatArray]]

PENALTIES = tuple(2.0**power for power in range(10, -11, -1))
_MAX_STEPS = 200
TOLERANCE: Final = 1e-5  # largest entry of the gradient of the mean loss at the solution
_WIDE = 1.5  # columns per row above which narrower rows pay
_FLAT = 1e-10  # added to the squared lengths of rows, relative to their mean
_MANY = 2**18  # entries from which products are in single precision: twice as fast, exact enough


def fit_logistic(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    penalties: Iterable[float] = PENALTIES,
    strengths: Iterable[float] | None = None,
) -> LinearFit:
    """Return softmax regression on training rows, its penalty chosen on validation labels.

    Minimises the summed cross-entropy + penalty / 2 |W|^2, intercept free, by L-BFGS in double
    precision, each penalty from the solution of the one before. Ties in validation accuracy
    go to the likelier validation labels. With weights, one per training node, the sum of the
    costs is weighted. `strengths` is the old name of `penalties`.
    """
    if strengths is not None:
        warnings.warn("strengths is called penalties now.", FutureWarning, stacklevel=2)
        penalties = strengths
    solutions = logistic_path(
        features[train], labels[train], num_classes, penalties, weights=weights
    )
    held_out, wanted = features[validation], labels[validation]
    fits, merits = [], []
    for penalty, (weight, bias) in solutions.items():
        scores = held_out @ weight + bias
        hits = float((scores.argmax(dim=1) == wanted).float().mean())
        fits.append(LinearFit(weight, bias, penalty, hits))
        merits.append((hits, -float(F.cross_entropy(scores, wanted))))
    return fits[max(range(len(fits)), key=merits.__getitem__)]


def logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    penalties: Iterable[float],
    *,
    weights: Tensor | None = None,
    tolerance: float = TOLERANCE,
) -> dict[float, tuple[Tensor, Tensor]]:
    """Return weight [dim, classes] and bias [classes] for every penalty, largest first.

    Smaller penalties take longer. The largest entry of the gradient of the mean loss is at most
    `tolerance`.
    """
    # Problems this small lose more by BLAS threads that wait beside torch's than they gain.
    with _blas().limit(limits=1, user_api="blas"):
        return _logistic_path(rows, labels, num_classes, penalties, weights, tolerance=tolerance)


@cache  # looking for the libraries takes milliseconds
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    penalties: Iterable[float],
    weights: Tensor | None,
    *,
    tolerance: float,
) -> dict[float, tuple[Tensor, Tensor]]:
    # Centring leaves the solutions as they are, since the intercept is free, and speeds them up.
    mean = rows.double().mean(dim=0)
    centred = (rows.double() - mean).cpu().numpy()
    points = narrow_rows(centred)
    targets = np.eye(num_classes)[labels.cpu().numpy()]
    counted = None
    if weights is not None:
        counted = (weights / weights.mean()).double().cpu().numpy()[:, None]
    start, path = np.zeros((points.shape[1] + 1) * num_classes), {}
    for penalty in sorted(penalties, reverse=True):
        cost = _cost(points, targets, penalty / len(points), counted)
        start = _minimise(cost, start, tolerance)
        table = start.reshape(-1, num_classes)
        found = table[:-1]
        if points is not centred:
            found = centred.T @ solve_triangular(points, found, trans="T", lower=True)
        weight = torch.from_numpy(found).to(rows.device)
        bias = torch.from_numpy(table[-1]).to(rows.device) - mean @ weight
        path[penalty] = weight.to(rows.dtype), bias.to(rows.dtype)
    return path


def narrow_rows(rows: FloatArray) -> FloatArray:
    """Return few wide rows as ones of the same inner products, no wider than there are rows.

    A penalised solution lies in the span of the rows and depends on these products alone, so few
    wide rows make a small problem. It is the Cholesky factor of their Gram matrix, a lower
    triangle, in a small fraction of the time of an orthonormal basis. Rows that are not wide are
    returned as they are.
    """
    count, width = rows.shape
    if count * _WIDE >= width:
        return rows
    gram = rows @ rows.T
    least = _FLAT * max(float(gram.trace()) / count, float(np.finfo(np.float64).tiny) / _FLAT)
    gram.flat[:: count + 1] += least  # rows may depend on each other, as centred ones do
    return np.asarray(np.linalg.cholesky(gram), dtype=np.float64)


def _cost(
    points: FloatArray, targets: FloatArray, penalty: float, counted: FloatArray | None
) -> _Cost:
    """Return what gives mean cross-entropy + penalty / 2 |W|^2, and its gradient, flattened."""
    rows = points.astype(np.float32) if points.size >= _MANY else points
    count, num_classes = targets.shape

    def cost(flat: FloatArray) -> tuple[float, FloatArray]:
        table = flat.reshape(-1, num_classes)
        logits = rows @ table[:-1].astype(rows.dtype, copy=False) + table[-1]
        logits -= logits.max(axis=1, keepdims=True)
        residual = np.exp(logits)
        sums = residual.sum(axis=1, keepdims=True)
        costs = np.log(sums) - (logits * targets).sum(axis=1, keepdims=True)
        residual /= sums
        residual -= targets
        if counted is not None:
            costs, residual = costs * counted, residual * counted
        residual /= count
        slope = penalty * table
        value = costs.sum() / count + np.vdot(slope[:-1], table[:-1]) / 2
        slope[:-1] += rows.T @ residual.astype(rows.dtype, copy=False)
        slope[-1] = residual.sum(axis=0)
        return float(value), slope.ravel()

    return cost


def _minimise(cost: _Cost, start: FloatArray, tolerance: float) -> FloatArray:
    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "gtol": tolerance, "ftol": 1e-12},
    )
    return np.asarray(found.x)
