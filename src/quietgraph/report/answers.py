"""Predictions beside the labels that they are scored against."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.report.fit_run import FitRun
from quietgraph.types import UNKNOWN, AnyArray

_MOST_CLASSES: Final = 30  # a larger table is no longer readable


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions beside the labels that they are scored against.

    Attributes:
        source: Which labels these are, in words.
        labels: Of the scored nodes, as text [scored].
        predicted: The predicted label of each, as text [scored].
        confidence: Its calibrated probability [scored].
        expected: Probability that it agrees with the label under the estimated noise [scored];
            None where the labels are clean.
    """

    source: str
    labels: AnyArray
    predicted: AnyArray
    confidence: AnyArray
    expected: AnyArray | None = None

    def confusion(self) -> pd.DataFrame | None:
        """Return how often each label (row) got each answer (column); None with too many."""
        names = pd.unique(np.concatenate([self.labels, self.predicted]))
        if not 0 < len(names) <= _MOST_CLASSES:
            return None
        order = sorted(names, key=_number_first)
        counts = pd.crosstab(self.labels, self.predicted)
        return counts.reindex(index=order, columns=order, fill_value=0)


def answers(run: FitRun) -> Answers:
    """Return the answers for test nodes; of own data, those of models that did not see the label.

    Own data has no reference labels, so predictions are scored against the observed ones.
    """
    model = run.model
    if run.reference is None:
        codes = model.task_.labels.cpu().numpy()
        scored = codes != UNKNOWN
        labels, words = model.classes_[codes[scored]], "observed labels that a fit did not see"
        probabilities = model.calibrated_out_of_fold()[scored]
    else:
        scored = run.observation.split.test.numpy()
        labels, words = run.reference.codes.numpy()[scored], "clean labels of the test nodes"
        probabilities = model.predict_proba()[scored]
    best = probabilities.argmax(axis=1)
    predicted, confidence = _texts(model.classes_[best]), probabilities.max(axis=1)
    expected = None if run.reference is not None else model.expected_agreement()[scored]
    return Answers(words, _texts(labels), predicted, confidence, expected)


def _texts(values: AnyArray) -> AnyArray:
    return np.array([str(value) for value in values], dtype=object)


def _number_first(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.lstrip("-").isdecimal() else (1, 0, name)
