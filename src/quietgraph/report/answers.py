"""What the model answered for the nodes whose label can judge it."""

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
    """Answers beside the labels that judge them.

    Attributes:
        judges: Which labels these are, in words.
        labels: Of the judging nodes, as text [judged].
        predicted: The likeliest label of each, as text [judged].
        confidence: Its probability [judged].
    """

    judges: str
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

    Own data has no right labels to be judged by, so there the given ones judge.
    """
    model = run.model
    if run.reference is None:
        codes = model.task_.labels.cpu().numpy()
        judging = codes != UNKNOWN
        labels, words = model.classes_[codes[judging]], "given labels, each unseen by its judge"
        chances = np.asarray(model.out_of_fold_)[judging]
    else:
        judging = run.observation.split.test.numpy()
        labels, words = run.reference.codes.numpy()[judging], "clean labels of the test nodes"
        chances = model.predict_proba()[judging]
    best = chances.argmax(axis=1)
    return Answers(words, _texts(labels), _texts(model.classes_[best]), chances.max(axis=1))


def _texts(values: _Array) -> _Array:
    return np.array([str(value) for value in values], dtype=object)


def _number_first(name: str) -> tuple[int, int, str]:
    return (0, int(name), "") if name.lstrip("-").isdecimal() else (1, 0, name)
