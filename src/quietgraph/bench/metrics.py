"""What a run is scored by, and how each score is to be read."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import accuracy_score, f1_score

from quietgraph.errors import InvalidParameterError
from quietgraph.types import AnyArray

if TYPE_CHECKING:
    from quietgraph.data.splits import Split


@dataclass(frozen=True)
class Metric:
    """How to read a number: its words, its good end, and whether it is a fraction of 1."""

    words: str
    higher_is_better: bool = True
    is_fraction: bool = True

    @property
    def decimals(self) -> int:
        """Decimals worth showing: one in percent, two otherwise."""
        return 1 if self.is_fraction else 2


METRICS = {
    "test_accuracy": Metric("test accuracy"),
    "test_macro_f1": Metric("test macro-F1"),
    "validation_accuracy": Metric("accuracy on noisy validation labels"),
    "test_calibration_error": Metric("test calibration error", higher_is_better=False),
    "train_accuracy_correct": Metric("accuracy on correctly labelled training nodes"),
    "train_accuracy_wrong": Metric("accuracy on wrongly labelled training nodes"),
    "seconds_fit": Metric("seconds of fit", higher_is_better=False, is_fraction=False),
    "seconds_processor": Metric("processor seconds", higher_is_better=False, is_fraction=False),
}
_ABOUT_RUNS = {
    "seconds": Metric("seconds", higher_is_better=False, is_fraction=False),
    "peak_memory_mb": Metric("peak memory in MB", higher_is_better=False, is_fraction=False),
}


def describe_metric(name: str) -> Metric:
    """Return how to read a metric; one that is not ours counts as a score, higher is better."""
    return (METRICS | _ABOUT_RUNS).get(name) or Metric(name.replace("_", " "), is_fraction=False)


def accuracy(predicted: ArrayLike, true: ArrayLike) -> float:
    """Return the fraction of nodes predicted as their true class; NaN for no nodes."""
    guess, truth = _pair(predicted, true)
    return float(accuracy_score(truth, guess)) if len(truth) else float("nan")


def macro_f1(predicted: ArrayLike, true: ArrayLike) -> float:
    """Return the mean F1 of all classes that are true or predicted somewhere; NaN for no nodes.

    A class that is never hit has F1 = 0.
    """
    guess, truth = _pair(predicted, true)
    if not len(truth):
        return float("nan")
    return float(f1_score(truth, guess, average="macro", zero_division=0.0))


def calibration_error(probabilities: ArrayLike, true: ArrayLike, *, bins: int = 15) -> float:
    """Return how far confidence and accuracy lie apart (expected calibration error).

    Nodes are sorted into equal bins of their highest probability, bin b = (b/bins, (b+1)/bins];
    the answer is the mean over nodes of |accuracy - mean confidence| of their bin.

    Args:
        probabilities: One row per node, rows sum to 1 [nodes, classes].
        true: The true class codes [nodes].
        bins: Number of bins.

    Returns:
        A number between 0 and 1; NaN for no nodes.
    """
    rows, truth = np.asarray(probabilities, dtype=np.float64), np.asarray(true)
    if rows.ndim != 2 or len(rows) != len(truth):
        raise InvalidParameterError(
            f"probabilities must have one row per node ({len(truth)}), got shape {rows.shape}."
        )
    if not len(truth):
        return float("nan")
    confidence, hit = rows.max(axis=1), rows.argmax(axis=1) == truth
    edges = np.arange(1, bins) / bins
    index = np.searchsorted(edges, confidence, side="left")
    gaps = np.bincount(index, weights=hit - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / len(truth))


def evaluate(
    predicted: ArrayLike,
    probabilities: ArrayLike,
    *,
    clean_labels: ArrayLike,
    noisy_labels: ArrayLike,
    split: "Split",
) -> dict[str, float]:
    """Return all accuracy metrics of one finished run; call it once, after every choice is made.

    Args:
        predicted: Class code of each node [nodes].
        probabilities: Class probabilities, columns in the order of the codes [nodes, classes].
        clean_labels: True class codes [nodes].
        noisy_labels: The labels the method saw [nodes], -1 = unknown.
        split: Which nodes were for training, validation and test.
    """
    guess, clean, seen = (np.asarray(part) for part in (predicted, clean_labels, noisy_labels))
    train, validation, test = (
        np.asarray(mask, dtype=bool) for mask in (split.train, split.validation, split.test)
    )
    correct, wrong = train & (seen == clean), train & (seen != clean)
    return {
        "test_accuracy": accuracy(guess[test], clean[test]),
        "test_macro_f1": macro_f1(guess[test], clean[test]),
        "validation_accuracy": accuracy(guess[validation], seen[validation]),
        "test_calibration_error": calibration_error(np.asarray(probabilities)[test], clean[test]),
        "train_accuracy_correct": accuracy(guess[correct], clean[correct]),
        "train_accuracy_wrong": accuracy(guess[wrong], clean[wrong]),
    }


def _pair(predicted: ArrayLike, true: ArrayLike) -> tuple[AnyArray, AnyArray]:
    guess, truth = np.asarray(predicted), np.asarray(true)
    if guess.shape != truth.shape or guess.ndim != 1:
        raise InvalidParameterError(
            f"predictions must be one class per true label, shape {truth.shape}, "
            f"got shape {guess.shape}."
        )
    return guess, truth
