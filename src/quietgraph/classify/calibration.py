"""Probabilities that mean what they say: one temperature, fitted to noisy labels."""

from typing import Any, Final, TypeAlias

import numpy as np
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor

from quietgraph.types import Labels, Probabilities, Scores

_RANGE: Final = (-4.0, 3.0)  # of the logarithm of the temperature
_LEAST: Final = 1e-12
_Array: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]


def fit_temperature(scores: Scores, labels: Labels, noise_matrix: Tensor) -> float:
    """Return the temperature of a softmax whose probabilities fit noisy labels.

    Maximises the likelihood of the observed labels under softmax(scores / temperature) T, so that
    the probabilities are those of true labels; a standard normal prior on the logarithm keeps it
    near 1 where labels are few. One temperature leaves the order of the classes as it is.

    Args:
        scores: Of nodes whose labels taught the classifier nothing [nodes, classes].
        labels: Their observed labels [nodes].
        noise_matrix: T [classes, classes], row = true class, column = observed class.
    """
    rows, observed = scores.double().numpy(), labels.numpy()
    noise = noise_matrix.double().numpy()

    def cost(log_temperature: float) -> float:
        modelled = _softmax(rows * np.exp(-log_temperature)) @ noise
        likelihood = modelled[np.arange(len(observed)), observed].clip(_LEAST)
        return float(-np.log(likelihood).sum() + log_temperature**2 / 2)

    return float(np.exp(minimize_scalar(cost, bounds=_RANGE, method="bounded").x))


def calibrated(scores: Scores, temperature: float) -> Probabilities:
    """Return softmax(scores / temperature) in double precision [nodes, classes]."""
    return (scores.double() / temperature).softmax(dim=1)


def _softmax(scores: _Array) -> _Array:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def log_probabilities(probabilities: Probabilities) -> Tensor:
    """Return the logarithms of probabilities, bounded [nodes, classes]."""
    return torch.log(probabilities.double().clamp_min(_LEAST))
