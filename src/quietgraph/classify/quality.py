"""How far a fitted model can be trusted, from predictions that did not see the label."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Self, TypeAlias

import numpy as np
import torch
from scipy.special import ndtr

from quietgraph.classify.label_issues.noise import NoiseEstimate, estimate_noise
from quietgraph.classify.verdict import (
    DISTRUST,
    OBSERVED,
    TRUST,
    advice_of,
    sentences_of,
    verdict_of,
)
from quietgraph.html import facts_html
from quietgraph.types import UNKNOWN, AnyArray, IntArray, Labels, Probabilities

THRESHOLDS: Final = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the coverage curve
_RESAMPLES: Final = 100
_MOST_NODES: Final = 5_000  # that the noise interval is resampled from
_Z: Final = 1.96
Interval: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Coverage:
    """Out-of-fold predictions of at least some calibrated probability."""

    probability: float
    coverage: float  # fraction of the labelled nodes that have it
    agreement: float  # fraction of these that agree with the observed label
    estimated_accuracy: float  # mean calibrated probability of these


@dataclass(frozen=True)
class Quality:
    """A statement of quality from out-of-fold predictions alone.

    Attributes:
        verdict: `trust`, `with care` or `do not trust`.
        sentences: The statement in words.
        advice: What to try next; empty where the verdict is `trust`.
        num_labels: Observed labels.
        accuracy: Out-of-fold agreement with observed labels.
        accuracy_interval: Of 95 % (Wilson).
        majority: Agreement of always answering the most frequent label.
        chance: Expected agreement of the predictions with permuted labels.
        p_value: Of a permutation test of the predicted probabilities.
        balanced_accuracy: Mean agreement over classes.
        estimated_accuracy: Estimated accuracy against true labels: mean calibrated probability.
        noise_rate: Estimated fraction of wrong labels.
        noise_interval: Of 95 %, from resampled nodes.
        one_class: Whether every prediction is the same class.
        unreached: Nodes to which no path leads from a labelled node.
        coverage: Fraction and accuracy of predictions by least probability.
        follows_attributes: Whether the labels look as if they were read off the nodes' own
            attributes, whose errors the noise rate does not count.
    """

    verdict: str
    sentences: tuple[str, ...]
    advice: tuple[str, ...]
    num_labels: int
    accuracy: float
    accuracy_interval: Interval
    majority: float
    chance: float
    p_value: float
    balanced_accuracy: float
    estimated_accuracy: float
    noise_rate: float
    noise_interval: Interval
    one_class: bool
    unreached: int
    coverage: tuple[Coverage, ...]
    follows_attributes: bool = False

    def __str__(self) -> str:
        return "\n".join((*self.sentences, *self.advice))

    def __repr__(self) -> str:
        facts = f"accuracy={self.accuracy:.3f}, estimated_accuracy={self.estimated_accuracy:.3f}"
        return f"Quality({self.verdict!r}, {facts}, noise_rate={self.noise_rate:.3f})"

    def _repr_html_(self) -> str:
        low, high = self.accuracy_interval
        facts = {
            "verdict": self.verdict,
            "labels": self.num_labels,
            "agreement out of fold": f"{self.accuracy:.1%} ({low:.1%} to {high:.1%})",
            "most frequent label": f"{self.majority:.1%}",
        }
        if self.verdict != DISTRUST:
            facts["estimated wrong labels"] = f"{self.noise_rate:.1%}"
        return facts_html("Quality", facts, (*self.sentences, *self.advice))

    def with_probabilities(self, probabilities: Probabilities, labels: Labels) -> Self:
        """Return the statement with the accuracy and coverage that other probabilities estimate.

        Args:
            probabilities: Of the same predictions [nodes, classes].
            labels: Observed labels as class codes, -1 unknown [nodes].
        """
        known = labels != UNKNOWN
        observed, rows = labels[known].numpy(), probabilities[known].numpy()
        return replace(
            self,
            estimated_accuracy=float(rows.max(axis=1).mean()),
            coverage=_coverage(rows, rows.argmax(axis=1) == observed),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        plain = asdict(self)
        return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Return the statement that `to_dict` wrote; ValueError where something else did."""
        values: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in plain.items()
        }
        values["coverage"] = tuple(Coverage(**row) for row in plain["coverage"])
        words = (plain["verdict"], *plain["sentences"], *plain["advice"])
        is_told = type(values["sentences"]) is tuple and len(values["sentences"]) > 0
        if not is_told or not all(type(one) is str for one in words):
            raise ValueError("the statement of quality has no sentences")
        return cls(**values)


@dataclass(frozen=True, eq=False)
class BeforeReview:
    """Labels before people reviewed some of them, and what the review has settled.

    Attributes:
        labels: Observed class codes before the review, -1 unknown [nodes].
        settled: Wrong labels among the reviewed ones, and of those that were kept as many as were
            expected to be wrong.
        expected: Wrong labels that the posterior expects among those that nobody has verified.
    """

    labels: Labels
    settled: float
    expected: float

    def today(self, rate: float, interval: Interval, count: int) -> tuple[float, Interval]:
        """Return the noise rate of the labels of today and its interval.

        Reviewers take the most doubtful labels first, so the labels that are left are no fair
        sample: what was wrong before, less what the review has settled, is what is left.

        Args:
            rate: Before the review.
            interval: Of this rate.
            count: Labels of today.
        """
        known = int((self.labels != UNKNOWN).sum())
        low, middle, high = (
            known * each - self.settled for each in (interval[0], rate, interval[1])
        )
        middle, high = max(middle, self.expected), max(high, self.expected)
        return middle / count, (min(max(low, 0.0), middle) / count, high / count)


def assess_quality(
    probabilities: Probabilities,
    pooled: Probabilities,
    labels: Labels,
    *,
    generator: np.random.Generator,
    noise: NoiseEstimate | None = None,
    before: BeforeReview | None = None,
    unreached: int = 0,
    follows_attributes: bool = False,
    hints: tuple[str, ...] = (),
    labels_are: str = OBSERVED,
) -> Quality:
    """Return the statement of quality of a model.

    Args:
        probabilities: Out-of-fold and calibrated [nodes, classes]; rows of 0 count as no answer.
        pooled: Out-of-fold probabilities of the observed label from all evidence, from which the
            noise is estimated [nodes, classes]; where there was a review, without its results.
        labels: Observed labels as class codes, -1 unknown [nodes].
        generator: Resamples nodes for the interval of the noise rate.
        noise: Estimated from `pooled`, where it is known already.
        before: What was known before people reviewed labels; None where they did not.
        unreached: Nodes to which no path leads from a labelled node.
        follows_attributes: Whether wrong labels may follow the nodes' own attributes.
        hints: What to try next where the verdict is not `trust`.
        labels_are: What the labels are, in the words of the statement.
    """
    known = labels != UNKNOWN
    observed, rows = labels[known].numpy(), probabilities[known].numpy()
    predicted = rows.argmax(axis=1)
    predicted[rows.sum(axis=1) <= 0] = -1
    hits = predicted == observed
    frequency = np.bincount(observed, minlength=rows.shape[1]) / len(observed)
    noisy = labels if before is None else before.labels
    asked = noisy != UNKNOWN
    rate, interval = noise_interval(pooled[asked], noisy[asked], generator, noise)
    if before is not None:
        rate, interval = before.today(rate, interval, len(observed))
    facts: dict[str, Any] = {
        "num_labels": len(observed),
        "accuracy": float(hits.mean()),
        "accuracy_interval": wilson_interval(int(hits.sum()), len(hits)),
        "majority": float(frequency.max()),
        "chance": float((frequency[predicted] * (predicted >= 0)).mean()),
        "p_value": permutation_p(rows, observed),
        "balanced_accuracy": float(
            np.mean([hits[observed == code].mean() for code in np.unique(observed)])
        ),
        "estimated_accuracy": float(rows.max(axis=1).mean()),
        "noise_rate": rate,
        "noise_interval": interval,
        "one_class": len(np.unique(predicted)) == 1,
        "unreached": unreached,
        "follows_attributes": follows_attributes,
    }
    verdict = verdict_of(facts)
    return Quality(
        verdict=verdict,
        sentences=sentences_of(verdict, facts, labels_are),
        advice=() if verdict == TRUST else (*hints, *advice_of(facts, rows.shape[1])),
        coverage=_coverage(rows, hits),
        **facts,
    )


def permutation_p(probabilities: AnyArray, observed: IntArray) -> float:
    """Return the p-value of the summed probability of the observed labels under permuted labels.

    Mean and variance over all permutations are exact (no sampling); the tail is normal.
    """
    count = len(observed)
    if count < 2:
        return 1.0
    total = probabilities[np.arange(count), observed].sum()
    frequency = np.bincount(observed, minlength=probabilities.shape[1]) / count
    mean = count * float(probabilities.mean(axis=0) @ frequency)
    centred = probabilities - probabilities.mean(axis=0)
    centred -= (centred @ frequency)[:, None]
    variance = count * float((centred**2).sum(axis=0) @ frequency) / (count - 1)
    if variance <= 1e-12:
        return 1.0
    return float(1 - ndtr((total - mean) / math.sqrt(variance)))


def wilson_interval(hits: int, count: int) -> Interval:
    """Return the 95 % interval of a fraction."""
    fraction, spread = hits / count, _Z**2 / count
    middle = (fraction + spread / 2) / (1 + spread)
    half = math.sqrt(fraction * (1 - fraction) * spread + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def noise_interval(
    probabilities: Probabilities,
    labels: Labels,
    generator: np.random.Generator,
    noise: NoiseEstimate | None = None,
) -> tuple[float, Interval]:
    """Return the estimated noise rate and its 95 % interval over resampled nodes."""
    found = estimate_noise(probabilities, labels) if noise is None else noise
    size = min(len(labels), _MOST_NODES)
    rates = []
    for _ in range(_RESAMPLES):
        drawn = torch.from_numpy(generator.integers(len(labels), size=size))
        rates.append(estimate_noise(probabilities[drawn], labels[drawn]).rate)
    low, high = np.quantile(rates, (0.025, 0.975))
    # Few anchors without a disagreement leave resampling nothing to vary.
    low = max(0.0, min(float(low), found.rate - _Z * found.standard_error))
    high = min(1.0, max(float(high), found.rate + _Z * found.standard_error))
    return found.rate, (low, high)


def _coverage(rows: AnyArray, hits: AnyArray) -> tuple[Coverage, ...]:
    largest, found = rows.max(axis=1), []
    for threshold in THRESHOLDS:
        kept = largest >= threshold
        if kept.any():
            agreement, mean = float(hits[kept].mean()), float(largest[kept].mean())
            found.append(Coverage(threshold, float(kept.mean()), agreement, mean))
    return tuple(found)
