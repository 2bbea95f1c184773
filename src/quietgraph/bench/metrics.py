"""What a run is scored by, and how each score is to be read."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from quietgraph.data.data import Data, Truth
from quietgraph.types import AnyArray


@dataclass(frozen=True)
class Metric:
    """How to read a number: its words, its good end, the factor and decimals it is shown with."""

    words: str
    higher_is_better: bool = True
    factor: int = 100
    decimals: int = 1


METRICS: Final = {
    "test_accuracy": Metric("test accuracy"),
    "test_macro_f1": Metric("test macro-F1"),
    "test_calibration_error": Metric("test calibration error", higher_is_better=False),
    "suspects_auroc": Metric("area under the ROC curve of p_wrong"),
    "assessed_calibration_error": Metric("test calibration error of assess", higher_is_better=False),
    "fold_accuracy": Metric("five-fold accuracy on observed labels"),
    "seconds_fit": Metric("processor seconds of fit", higher_is_better=False, factor=1, decimals=2),
    "seconds": Metric("seconds", higher_is_better=False, factor=1, decimals=2),
}


def describe_metric(name: str) -> Metric:
    """Return how to read a metric; one that is not ours counts as a score, higher is better."""
    return METRICS.get(name) or Metric(name.replace("_", " "), factor=1, decimals=2)


def calibration_error(probabilities: AnyArray, true: AnyArray, *, bins: int = 15) -> float:
    """Return how far confidence and accuracy lie apart (expected calibration error).

    Nodes are sorted into equal bins of their highest probability, bin b = (b/bins, (b+1)/bins]; the answer is the
    mean over nodes of |accuracy - mean confidence| of their bin.

    Args:
        probabilities: One row per node, rows sum to 1 [nodes, classes].
        true: The true class codes [nodes].
        bins: Number of bins.
    """
    confidence, hit = probabilities.max(axis=1), probabilities.argmax(axis=1) == true
    index = np.searchsorted(np.arange(1, bins) / bins, confidence, side="left")
    return float(np.abs(np.bincount(index, weights=hit - confidence, minlength=bins)).sum() / len(true))


def evaluate(probabilities: AnyArray, data: Data, truth: Truth) -> dict[str, float]:
    """Return the scores of probabilities [nodes, classes] on the test nodes; call it once, after every choice."""
    test = data.split.test.numpy() & (truth.codes.numpy() >= 0)
    rows, right = probabilities[test], truth.codes.numpy()[test]
    predicted = rows.argmax(axis=1)
    return {
        "test_accuracy": float((predicted == right).mean()),
        "test_macro_f1": float(f1_score(right, predicted, average="macro", zero_division=0.0)),
        "test_calibration_error": calibration_error(rows, right),
    }


def evaluate_assessment(assessment: Any, data: Data, truth: Truth) -> dict[str, float | str]:
    """Return how true the statements of an `Assessment` are: suspects, noise rate, probabilities, accuracy, verdict."""
    known = data.known.numpy() & (truth.codes.numpy() >= 0)
    wrong, noise = truth.wrong(data).numpy()[known], assessment.noise
    found = evaluate(in_classes(assessment.probabilities, assessment.classes, data), data, truth)
    return {
        "suspects_auroc": float(roc_auc_score(wrong, assessment.p_wrong[known])) if 0 < wrong.mean() < 1 else np.nan,
        "assessed_accuracy": found["test_accuracy"],
        "assessed_calibration_error": found["test_calibration_error"],
        "noise_rate_true": float(wrong.mean()),
        "noise_rate": float(noise.rate),
        "noise_rate_low": float(noise.low),
        "noise_rate_high": float(noise.high),
        "expected_accuracy": float(assessment.accuracy.value),
        "verdict": assessment.verdict.level,
    }


def in_classes(columns: AnyArray, classes: AnyArray, data: Data) -> AnyArray:
    """Return columns of some classes as columns of all classes of the data, 0 where there was none [nodes, classes]."""
    place = {label: code for code, label in enumerate(data.classes.tolist())}
    every = np.zeros((len(columns), len(place)))
    every[:, [place[label] for label in classes.tolist()]] = columns
    return every
