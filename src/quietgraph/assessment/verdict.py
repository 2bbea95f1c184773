"""How far labels and predictions can be trusted: the noise, one sentence, and its reasons."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from quietgraph.types import AnyArray, FloatArray, IntArray

TRUST, CARE, DISTRUST = "trust", "care", "do not trust"
_FEWEST_LABELS = 20  # fewer cannot tell a good model from a lucky one
_CHANCE = 0.01  # p-value above which chance may explain the agreement
_SURE = 1e-4  # p-value up to which predictions can be trusted
_ACCURACY = 0.65  # least expected accuracy of these, at the lower end of the interval
_Z = 1.96
_SPREAD = 0.025  # standard deviation of a noise rate, whatever the number of labels: errors of the classifier
_LOST, _FEW = 0.2, 10  # a class is lost if predicted so much less often than labelled, of so many labels at least
_ADVICE = "Verify some labels, or ask another annotator."


@dataclass(frozen=True)
class Estimate:
    """An expected share with its 95 % interval, and what chance would give."""

    value: float
    low: float
    high: float
    chance: float


@dataclass(frozen=True, eq=False)
class Noise:
    """The label noise.

    Attributes:
        rate: Expected share of wrong labels among those of today, with its 95 % interval from `low` to `high`.
        at_least: Whether the rate is a lower bound: some errors may be such that the predictions repeat them.
        matrix: P(label | true class), of labels before anybody verified some [true class, label].
        counts: Expected number of labels [label, true class].
    """

    rate: float
    low: float
    high: float
    at_least: bool
    matrix: FloatArray
    counts: FloatArray


@dataclass(frozen=True)
class Verdict:
    """How far predictions can be trusted: `trust`, `care` or `do not trust`, in words, and why, the numbers first."""

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


def rate_interval(p_wrong: FloatArray) -> tuple[float, float]:
    """Return the 95 % interval of the noise rate from the probabilities that labels are wrong [labels]."""
    rate, spread = float(p_wrong.mean()), _Z * float(p_wrong.var() / len(p_wrong) + _SPREAD**2) ** 0.5
    return max(0.0, rate - spread), min(1.0, rate + spread)


def lost_classes(classes: AnyArray, given: IntArray, probabilities: FloatArray) -> list[str]:
    """Return a doubt about each class that hardly any labelled node is predicted as."""
    predicted = np.bincount(probabilities.argmax(axis=1), minlength=len(classes))
    labelled = np.bincount(given, minlength=len(classes))
    lost = np.flatnonzero((labelled >= _FEW) & (predicted < _LOST * labelled))
    return [f"Hardly any node is predicted as '{classes[code]}', which {labelled[code]} labels say." for code in lost]


def numbers_in_words(probabilities: FloatArray, given: IntArray, noise: Noise | None, accuracy: Estimate) -> list[str]:
    """Return how well out-of-fold probabilities predict labels and, where the noise is known, the shares of errors."""
    predicted, classes = probabilities.argmax(axis=1), probabilities.shape[1]
    chance = np.bincount(given, minlength=classes) @ np.bincount(predicted, minlength=classes) / len(given) ** 2
    hits = (predicted == given).mean()
    words = [f"Out of fold, {hits:.0%} of {len(given):,} labels are predicted; by chance {chance:.0%} would be."]
    if noise is not None:
        about = "At least" if noise.at_least else "About"
        words.append(f"{about} {noise.rate:.0%} of the labels are wrong ({noise.low:.0%} to {noise.high:.0%}).")
        share = f"{accuracy.value:.0%} of the predictions for nodes without a label are right"
        words.append(f"About {share} ({accuracy.low:.0%} to {accuracy.high:.0%}).")
    return words
