"""Evidence about labels, weighed by how well it predicts the observed labels of this graph."""

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import torch
from scipy.optimize import minimize

from quietgraph.types import UNKNOWN, FloatArray, IntArray, Labels, Probabilities

_WEIGHT_PENALTY: Final = 0.2
_BIAS_PENALTY: Final = 1.0
_LARGEST_WEIGHT: Final = 8.0
_FLOOR: Final = 0.1  # of a probability, in units of 1 / classes
_MOST_NODES: Final = 20_000  # that weights are fitted to, every k-th where there are more
_LEAST: Final = 1e-12

_Array: TypeAlias = FloatArray


@dataclass(frozen=True, eq=False)
class Pooled:
    """Probabilities of the observed label from all evidence, and what each piece counts."""

    probabilities: Probabilities  # [nodes, classes]; rows of nodes without a label are 0
    weights: dict[str, float]


def pool_evidence(
    evidence: dict[str, Probabilities], labels: Labels, counts: _Array | None = None
) -> Pooled:
    """Return probabilities of the observed labels from several sources.

    A logarithmic pool: p(class) ~ exp(sum of weight x log probability + bias of the class), with
    weights of 0 or more and biases that maximise the penalised likelihood of the observed labels.
    So own attributes count where neighbours differ, and a source that says nothing counts nothing.

    Args:
        evidence: Probabilities that did not use the node's own label, by name [nodes, classes];
            rows of NaN or 0 say nothing.
        labels: Observed labels as class codes, -1 unknown [nodes].
        counts: How much each label counts in the fit [nodes]; all alike without it.
    """
    known = labels != UNKNOWN
    observed = labels[known].numpy()
    logs = np.stack([_centred_logs(rows[known]) for rows in evidence.values()])
    part = slice(None, None, max(1, len(observed) // _MOST_NODES))
    counted = np.ones(len(observed)) if counts is None else counts[known.numpy()]
    weights, biases = _fit(logs[:, part], observed[part], counted[part])
    pooled = torch.zeros(len(labels), logs.shape[2], dtype=torch.float64)
    pooled[known] = torch.from_numpy(_softmax(np.tensordot(weights, logs, 1) + biases))
    return Pooled(pooled, dict(zip(evidence, weights.tolist(), strict=True)))


def _fit(logs: _Array, observed: IntArray, counted: _Array) -> tuple[_Array, _Array]:
    """Return weights [sources] and biases [classes]; the problem is convex."""
    count, _, classes = logs.shape
    even = np.r_[np.full(count, 1 / count), np.zeros(classes)]
    penalty = np.r_[np.full(count, _WEIGHT_PENALTY), np.full(classes, _BIAS_PENALTY)]
    targets = np.eye(classes)[observed]

    def cost(flat: _Array) -> tuple[float, _Array]:
        mixed = _softmax(np.tensordot(flat[:count], logs, 1) + flat[count:])
        off, residual = flat - even, counted[:, None] * (mixed - targets)
        value = -counted @ np.log((mixed * targets).sum(axis=1).clip(_LEAST))
        slope = np.r_[np.tensordot(logs, residual, 2), residual.sum(axis=0)]
        return float(value + (penalty * off**2).sum() / 2), slope + penalty * off

    bounds = [(0.0, _LARGEST_WEIGHT)] * count + [(None, None)] * classes
    found = np.asarray(minimize(cost, even, jac=True, method="L-BFGS-B", bounds=bounds).x)
    return found[:count], found[count:]


def _centred_logs(rows: Probabilities) -> _Array:
    """Return log probabilities less their mean, 0 where nothing is said [nodes, classes]."""
    clipped = rows.double().nan_to_num(0.0).numpy()
    total, classes = clipped.sum(axis=1, keepdims=True), clipped.shape[1]
    clipped = np.where(total > 0, clipped / np.maximum(total, _LEAST), 1 / classes)
    logs = np.log(np.maximum(clipped, _FLOOR / classes))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


def _softmax(scores: _Array) -> _Array:
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
