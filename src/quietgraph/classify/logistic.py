"""Multinomial logistic regression on labelled rows: the probe that scores embeddings alike."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from threadpoolctl import ThreadpoolController
from torch import Tensor

from quietgraph.types import Embeddings, Labels, Mask, Scores

STRENGTHS = tuple(2.0**power for power in range(10, -11, -1))
_MAX_STEPS = 200
_TOLERANCE = 1e-5  # largest entry of the gradient of the mean loss at the solution

_Matrix: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True, eq=False)
class LogisticFit:
    """A logistic regression and what validation chose for it."""

    weight: Tensor  # [dim, classes]
    bias: Tensor  # [classes]
    chosen: float  # strength of the penalty
    validation_accuracy: float

    def scores(self, features: Embeddings) -> Scores:
        """Return log-odds up to a constant per node; softmax gives probabilities."""
        return features @ self.weight + self.bias


def fit_logistic(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    strengths: Iterable[float] = STRENGTHS,
) -> LogisticFit:
    """Return softmax regression on training rows, its penalty chosen on validation labels.

    Minimises the summed cross-entropy + strength / 2 |W|^2, intercept free, by L-BFGS in double
    precision, each strength from the solution of the one before. Ties in validation accuracy
    go to the likelier validation labels. With weights, one per training node, the sum of the
    costs is weighted.
    """
    solutions = logistic_path(
        features[train], labels[train], num_classes, strengths, weights=weights
    )
    held_out, wanted = features[validation], labels[validation]
    fits, merits = [], []
    for strength, (weight, bias) in solutions.items():
        scores = held_out @ weight + bias
        hits = float((scores.argmax(dim=1) == wanted).float().mean())
        fits.append(LogisticFit(weight, bias, strength, hits))
        merits.append((hits, -float(F.cross_entropy(scores, wanted))))
    return fits[max(range(len(fits)), key=merits.__getitem__)]


def logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    strengths: Iterable[float],
    *,
    weights: Tensor | None = None,
) -> dict[float, tuple[Tensor, Tensor]]:
    """Return weight [dim, classes] and bias [classes] for every strength, strongest first."""
    # Problems this small lose more by BLAS threads that wait beside torch's than they gain.
    with _blas().limit(limits=1, user_api="blas"):
        return _logistic_path(rows, labels, num_classes, strengths, weights)


@cache  # looking for the libraries takes milliseconds
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    strengths: Iterable[float],
    weights: Tensor | None,
) -> dict[float, tuple[Tensor, Tensor]]:
    # Centring leaves the solutions as they are, since the intercept is free, and speeds them up.
    mean = rows.double().mean(dim=0)
    points, basis = _coordinates((rows.double() - mean).cpu().numpy())
    targets = np.eye(num_classes)[labels.cpu().numpy()]
    counted = None
    if weights is not None:
        counted = (weights / weights.mean()).double().cpu().numpy()[:, None]
    start, path = np.zeros((points.shape[1] + 1) * num_classes), {}
    for strength in sorted(strengths, reverse=True):
        start = _solve(points, targets, strength / len(points), start, counted)
        table = start.reshape(-1, num_classes)
        weight = torch.from_numpy(basis @ table[:-1]).to(rows.device)
        bias = torch.from_numpy(table[-1]).to(rows.device) - mean @ weight
        path[strength] = weight.to(rows.dtype), bias.to(rows.dtype)
    return path


def _coordinates(rows: _Matrix) -> tuple[_Matrix, _Matrix]:
    """Return the rows in an orthonormal basis of their span, and that basis [dim, span].

    A penalised solution lies in the span, so few wide rows make a small problem.
    """
    if len(rows) >= rows.shape[1]:
        return rows, np.eye(rows.shape[1])
    left, sizes, right = np.linalg.svd(rows, full_matrices=False)
    return left * sizes, right.T


def _solve(
    points: _Matrix, targets: _Matrix, penalty: float, start: _Matrix, counted: _Matrix | None
) -> _Matrix:
    """Return weight and bias, flattened, that minimise mean cross-entropy + penalty / 2 |W|^2."""

    def cost(flat: _Matrix) -> tuple[float, _Matrix]:
        table = flat.reshape(-1, targets.shape[1])
        weight, bias = table[:-1], table[-1]
        logits = points @ weight + bias
        logits -= logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        costs, said, residual = np.log(sums), logits * targets, exponentials / sums - targets
        if counted is not None:
            costs, said, residual = costs * counted, said * counted, residual * counted
        value = (costs.sum() - said.sum()) / len(points)
        residual = residual / len(points)
        slope = np.vstack([points.T @ residual + penalty * weight, residual.sum(axis=0)])
        return float(value + penalty / 2 * np.square(weight).sum()), slope.ravel()

    found = minimize(
        cost,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MAX_STEPS, "gtol": _TOLERANCE, "ftol": 1e-12},
    )
    return np.asarray(found.x)
