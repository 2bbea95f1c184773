"""Predictions beside the labels that they are scored against."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from quietgraph.report.fit_run import FitRun
from quietgraph.types import UNKNOWN

_MOST_CLASSES: Final = 30  # a larger table is no longer readable
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions beside the labels that they are scored against.

    Attributes:
        source: Which labels these are, in words.
        labels: Of the scored nodes, as text [scored].
        predicted: The predicted label of each, as text [scored].
        confidence: Its probability [scored].
    """

    source: str
    labels: _Array
    predicted: _Array
    confidence: _Array

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
        probabilities = np.asarray(model.out_of_fold_)[scored]
    else:
        scored = run.observation.split.test.numpy()
        labels, words = run.reference.codes.numpy()[scored], "clean labels of the test nodes"
        probabilities = model.predict_proba()[scored]
    best = probabilities.argmax(axis=1)
    return Answers(words, _texts(labels), _texts(model.classes_[best]), probabilities.max(axis=1))


def _texts(values: _Array) -> _Array:
    return np.array([str(value) for value in values], dtype=object)


def _number_first(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.lstrip("-").isdecimal() else (1, 0, name)
