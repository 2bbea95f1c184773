"""Multinomial logistic regression on labelled rows, the linear probe of embeddings."""

import warnings
from collections.abc import Iterable
from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor

from quietgraph.classify.linear import LinearFit
from quietgraph.types import Embeddings, FloatArray, Labels, Mask

PENALTIES = tuple(2.0**power for power in range(10, -11, -1))
_MAX_STEPS = 200
_TOLERANCE = 1e-5  # largest entry of the gradient of the mean loss at the solution
_MANY = 4096  # rows from which products are in single precision: twice as fast, exact enough


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
) -> dict[float, tuple[Tensor, Tensor]]:
    """Return weight [dim, classes] and bias [classes] for every penalty, largest first."""
    # Problems this small lose more by BLAS threads that wait beside torch's than they gain.
    with _blas().limit(limits=1, user_api="blas"):
        return _logistic_path(rows, labels, num_classes, penalties, weights)


@cache  # looking for the libraries takes milliseconds
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    penalties: Iterable[float],
    weights: Tensor | None,
) -> dict[float, tuple[Tensor, Tensor]]:
    # Centring leaves the solutions as they are, since the intercept is free, and speeds them up.
    mean = rows.double().mean(dim=0)
    points, basis = span_coordinates((rows.double() - mean).cpu().numpy())
    targets = np.eye(num_classes)[labels.cpu().numpy()]
    counted = None
    if weights is not None:
        counted = (weights / weights.mean()).double().cpu().numpy()[:, None]
    start, path = np.zeros((points.shape[1] + 1) * num_classes), {}
    for penalty in sorted(penalties, reverse=True):
        start = _solve(points, targets, penalty / len(points), start, counted)
        table = start.reshape(-1, num_classes)
        weight = torch.from_numpy(basis @ table[:-1]).to(rows.device)
        bias = torch.from_numpy(table[-1]).to(rows.device) - mean @ weight
        path[penalty] = weight.to(rows.dtype), bias.to(rows.dtype)
    return path


def span_coordinates(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the rows in an orthonormal basis of their span, and that basis [dim, span].

    A penalised solution lies in the span, so few wide rows make a small problem.
    """
    if len(rows) >= rows.shape[1]:
        return rows, np.eye(rows.shape[1])
    basis, points = np.linalg.qr(rows.T)  # a third of the time of singular vectors
    return points.T, basis


def _solve(
    points: FloatArray,
    targets: FloatArray,
    penalty: float,
    start: FloatArray,
    counted: FloatArray | None,
) -> FloatArray:
    """Return weight and bias, flattened, that minimise mean cross-entropy + penalty / 2 |W|^2."""
    rows = points.astype(np.float32) if len(points) >= _MANY else points

    def cost(flat: FloatArray) -> tuple[float, FloatArray]:
        table = flat.reshape(-1, targets.shape[1])
        weight, bias = table[:-1], table[-1]
        logits = rows @ weight.astype(rows.dtype) + bias
        logits -= logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        costs, said, residual = np.log(sums), logits * targets, exponentials / sums - targets
        if counted is not None:
            costs, said, residual = costs * counted, said * counted, residual * counted
        value = (costs.sum() - said.sum()) / len(points)
        residual = residual / len(points)
        slope = rows.T @ residual.astype(rows.dtype) + penalty * weight
        slope = np.vstack([slope, residual.sum(axis=0)])
        return float(value + penalty / 2 * np.square(weight).sum()), slope.ravel()

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "gtol": _TOLERANCE, "ftol": 1e-12},
    )
    return np.asarray(found.x)
