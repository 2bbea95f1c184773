"""Linear classifiers: ridge regression, logistic regression, and the paper's gradient descent.

All learn from training labels, and choose their one setting (penalty, number of steps) and the temperature of their
probabilities by validation labels, which may be as noisy.
"""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from quietgraph.linalg import eigen
from quietgraph.types import Embeddings, Labels, Mask, Scores

PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)
LOGISTIC_PENALTIES = tuple(2.0**power for power in range(10, -11, -1))
STEPS = (1, 3, 10, 30, 100, 300, 1000, 3000)
_SHARPNESS = tuple(2.0**power for power in range(-2, 8))
_STEP_FRACTION = 0.99  # of 1 / lambda_1, the largest step for which descent converges
_ABSENT = math.log(1e-6)  # score of a class without training labels
_Weights: TypeAlias = tuple[Tensor, Tensor]  # [dim, classes], [classes]


@dataclass(frozen=True, eq=False)
class LinearFit:
    """A linear classifier and what validation chose for it."""

    weight: Tensor  # [dim, classes]; includes the sharpness of the softmax
    bias: Tensor  # [classes]
    chosen: float  # penalty or number of steps
    validation_accuracy: float

    def scores(self, features: Embeddings) -> Scores:
        """Return log-odds up to a constant per node; softmax gives probabilities [nodes, classes]."""
        return features @ self.weight + self.bias


def fit_ridge(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    penalties: Iterable[float] = PENALTIES,
) -> LinearFit:
    """Return ridge regression onto centred one-hot labels, the penalty chosen on validation.

    Minimises |Z W - T|^2 + penalty s |W|^2 over the training rows Z less their mean, so that the mean row scores 0 for
    every class and how often a class occurs does not count; s is the mean squared length of these rows.

    Args:
        features: One row per node [nodes, dim].
        labels: Class codes [nodes].
        train: Nodes to learn from.
        validation: Nodes to choose by.
        num_classes: Number of classes.
        weights: How much each label counts [nodes]; all alike without them.
        penalties: To choose from.
    """
    counted = None if weights is None else weights[train].double()
    targets = F.one_hot(labels[train], num_classes).double() - 1 / num_classes
    path = ridge_path(features[train].double(), targets, penalties, weights=counted)
    return _choose(features, labels, validation, path, sharpen=True)


def fit_logistic(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    penalties: Iterable[float] = LOGISTIC_PENALTIES,
) -> LinearFit:
    """Return multinomial logistic regression, the penalty chosen on validation; arguments as in `fit_ridge`.

    Minimises the summed cross-entropy + penalty / 2 |W|^2, intercept free, each penalty from the solution before.
    """
    counted = None if weights is None else weights[train]
    path = logistic_path(features[train], labels[train], num_classes, penalties, weights=counted)
    return _choose(features, labels, validation, path, sharpen=False)


def fit_descent(
    features: Embeddings,
    labels: Labels,
    *,
    train: Mask,
    validation: Mask,
    num_classes: int,
    weights: Tensor | None = None,
    steps: Iterable[int] = STEPS,
    as_printed: bool = False,
) -> LinearFit:
    """Return softmax regression by gradient descent from W = 0, the steps chosen on validation.

    Mean cross-entropy over the m training nodes; arguments as in `fit_ridge`. The step is 0.99 / lambda_1 of
    Z_L Z_L^T / m of the training rows, or `as_printed` of K = Z Z^T of all rows, which is smaller by about the
    number of nodes and needs so many times the steps.
    """
    rows, targets = features[train], F.one_hot(labels[train], num_classes).to(features.dtype)
    relative = features.new_ones(len(rows), 1)
    if weights is not None:
        relative = weights[train][:, None] / weights[train].mean()
    reach = features if as_printed else rows * relative.sqrt()
    rate = _STEP_FRACTION / _largest_eigenvalue(reach) / (len(rows) if as_printed else 1)
    weight, wanted = features.new_zeros(features.shape[1], num_classes), set(steps)
    path: dict[float, _Weights] = {}
    for step in range(1, max(wanted) + 1):
        weight = weight - rate * (rows.T @ (((rows @ weight).softmax(dim=1) - targets) * relative))
        if step in wanted:
            path[float(step)] = weight, weight.new_zeros(num_classes)
    return _choose(features, labels, validation, path, sharpen=True)


def ridge_path(
    rows: Tensor, targets: Tensor, penalties: Iterable[float], *, weights: Tensor | None = None
) -> dict[float, _Weights]:
    """Return weight and intercept for every penalty; one eigendecomposition serves all.

    Args:
        rows: Of the training nodes [labelled, dim].
        targets: What they are fitted to [labelled, classes].
        penalties: Relative to the mean squared length of the centred rows.
        weights: How much each row counts [labelled].
    """
    relative = torch.ones_like(rows[:, 0]) if weights is None else weights / weights.mean()
    middle = relative @ rows / len(rows)
    root = relative.sqrt()[:, None]
    centred, wanted = (rows - middle) * root, targets * root
    scale = centred.square().sum(dim=1).mean().clamp_min(torch.finfo(rows.dtype).tiny)
    if len(rows) <= rows.shape[1]:
        values, vectors = eigen(centred @ centred.T / scale)
        left, right = centred.T @ vectors / scale, vectors.T @ wanted
    else:
        values, vectors = eigen(centred.T @ centred / scale)
        left, right = vectors, vectors.T @ (centred.T @ wanted) / scale
    values = values.clamp_min(0)[:, None]
    solutions = {penalty: left @ (right / (values + penalty)) for penalty in penalties}
    return {penalty: (weight, -(middle @ weight)) for penalty, weight in solutions.items()}


def logistic_path(
    rows: Embeddings,
    labels: Labels,
    num_classes: int,
    penalties: Iterable[float],
    *,
    weights: Tensor | None = None,
) -> dict[float, _Weights]:
    """Return weight and intercept of a logistic regression for every penalty, the largest first.

    A class without labels has the score -13.8 everywhere.
    """
    # Centring leaves the solutions as they are, since the intercept is free, and speeds them up.
    middle = rows.double().mean(dim=0)
    points, codes = (rows.double() - middle).cpu().numpy(), labels.cpu().numpy()
    counted = None if weights is None else (weights / weights.mean()).double().cpu().numpy()
    present, path = torch.unique(labels), {}
    factor = 2.0 if len(present) == 2 else 1.0  # of two classes scikit-learn fits the difference
    model = LogisticRegression(tol=1e-5, max_iter=500, warm_start=True)
    for penalty in sorted(penalties, reverse=True):
        weight = rows.new_zeros(rows.shape[1], num_classes, dtype=torch.float64)
        bias = torch.full_like(weight[0], _ABSENT)
        bias[present] = 0
        if len(present) > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model.set_params(C=factor / penalty).fit(points, codes, counted)
            found, free = (torch.from_numpy(one).to(rows.device) for one in (model.coef_.T, model.intercept_))
            if len(present) == 2:
                found, free = torch.cat([-found, found], dim=1) / 2, torch.cat([-free, free]) / 2
            weight[:, present] = found
            bias[present] = free - middle @ found
        path[penalty] = weight.to(rows.dtype), bias.to(rows.dtype)
    return path


def _choose(
    features: Embeddings, labels: Labels, validation: Mask, path: Mapping[float, _Weights], *, sharpen: bool
) -> LinearFit:
    """Return the solution with most validation labels right; ties go to the likelier labels."""
    fits, merits = [], []
    held_out, wanted = features[validation], labels[validation]
    for setting, (weight, bias) in path.items():
        scores = held_out.to(weight.dtype) @ weight + bias
        unit = scores.std().clamp_min(1e-12) if sharpen and scores.numel() > 1 else 1.0
        factors = [factor / float(unit) for factor in _SHARPNESS] if sharpen else [1.0]
        cost, factor = min((float(F.cross_entropy(scores * one, wanted)), one) for one in factors)
        hits = float((scores.argmax(dim=1) == wanted).float().mean())
        sharp = [(one * factor).to(features.dtype) for one in (weight, bias)]
        fits.append(LinearFit(sharp[0], sharp[1], setting, hits))
        merits.append((hits, -cost))
    return fits[max(range(len(fits)), key=merits.__getitem__)]


def _largest_eigenvalue(rows: Tensor) -> Tensor:
    """Return the largest eigenvalue of Z Z^T through the smaller of the two Gram matrices."""
    smaller = rows.T @ rows if len(rows) > rows.shape[1] else rows @ rows.T
    return eigen(smaller).values[-1].clamp_min(torch.finfo(rows.dtype).tiny)
