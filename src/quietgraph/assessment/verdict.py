"""How far predictions can be trusted, in one sentence and its reasons."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from quietgraph.types import FloatArray, IntArray

TRUST, CARE, DISTRUST = "trust", "care", "do not trust"
_FEWEST_LABELS = 20  # fewer cannot tell a good model from a lucky one
_CHANCE = 0.01  # p-value above which chance may explain the agreement
_SURE = 1e-4  # p-value up to which predictions can be trusted
_ACCURACY = 0.65  # least expected accuracy of these, at the lower end of the interval
_Z = 1.96
_ADVICE = "Verify some labels, or ask another annotator."


@dataclass(frozen=True)
class Estimate:
    """An expected share with its 95 % interval, and what chance would give."""

    value: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True)
class Verdict:
    """How far predictions can be trusted.

    Attributes:
        level: `trust`, `care` or `do not trust`.
        sentence: The verdict in words.
        reasons: Why, one sentence each; the numbers first.
    """

    level: str
    sentence: str
    reasons: tuple[str, ...]


def find_distrust(probabilities: FloatArray, labels: IntArray) -> tuple[float, str]:
    """Return the p-value of the labels' agreement with out-of-fold predictions, and why nothing can be said, or ""."""
    p_value = permutation_p(probabilities, labels)
    if len(labels) < _FEWEST_LABELS:
        return p_value, f"{len(labels)} labels are too few to tell."
    if len(np.unique(probabilities.argmax(axis=1))) == 1:
        return p_value, "every node is predicted as the same class."
    return p_value, "out of fold they agree with the labels no better than chance." if p_value > _CHANCE else ""


def verdict_of(distrust: str, p_value: float, accuracy: Estimate, doubts: list[str], facts: list[str]) -> Verdict:
    """Return the verdict from what `find_distrust` found, why the numbers may be too good, and the numbers in words."""
    if distrust:
        return Verdict(DISTRUST, f"Do not trust these predictions: {distrust}", (*facts, _ADVICE))
    if doubts:
        sentence = f"Use these predictions with care: {doubts[0][0].lower()}{doubts[0][1:]}"
        return Verdict(CARE, sentence, (*doubts[1:], *facts, _ADVICE))
    if p_value > _SURE or accuracy.low < _ACCURACY:
        return Verdict(CARE, "Use these predictions with care: many are probably wrong.", (*facts,))
    return Verdict(TRUST, "These predictions can be trusted.", (*facts,))


def permutation_p(probabilities: FloatArray, labels: IntArray) -> float:
    """Return the p-value of the summed probability of the labels under permuted labels.

    Mean and variance over all permutations are exact; the tail is normal.
    """
    count = len(labels)
    if count < 2:
        return 1.0
    total = probabilities[np.arange(count), labels].sum()
    frequency = np.bincount(labels, minlength=probabilities.shape[1]) / count
    mean = count * float(probabilities.mean(axis=0) @ frequency)
    centred = probabilities - probabilities.mean(axis=0)
    centred = centred - (centred @ frequency)[:, None]
    variance = count * float((centred**2).sum(axis=0) @ frequency) / (count - 1)
    return 1.0 if variance <= 1e-12 else float(1 - ndtr((total - mean) / math.sqrt(variance)))


def expected_accuracy(probabilities: FloatArray, num_labels: int) -> Estimate:
    """Return the share of right predictions that calibrated probabilities expect, as sure as so many labels make it."""
    value = float(probabilities.max(axis=1).mean())
    predicted = np.bincount(probabilities.argmax(axis=1), minlength=probabilities.shape[1]) / len(probabilities)
    return Estimate(value, *wilson_interval(value, num_labels), float(predicted @ probabilities.mean(axis=0)))


def wilson_interval(share: float, count: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of so many."""
    spread = _Z**2 / count
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(share * (1 - share) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)
