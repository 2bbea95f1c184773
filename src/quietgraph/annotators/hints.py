"""What annotators say beside a label: their confidence, and which class comes second.

How often that is right is estimated for each annotator, never taken from what the annotator says.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

from quietgraph.data.annotations import Annotations
from quietgraph.types import AnyArray, SparseMatrix

_PRIOR: Final = 20.0  # answers
_BINS: Final = 4  # of the confidences of an annotator
_KINDS: Final = _BINS + 1
_LEAST: Final = 1e-12


@dataclass(frozen=True, eq=False)
class Hints:
    """What answers say beside their label.

    Attributes:
        cells: Annotator and kind of answer (confidence, or how many classes were named) [answers].
        places: Of every class: 0 the label, 1 second, 2 later, 3 not named [answers, classes].
        sizes: How many classes are at the place of each class [answers, classes].
        indicator: Sums over the answers of a cell [cells, answers].
    """

    cells: AnyArray
    places: AnyArray
    sizes: AnyArray
    indicator: SparseMatrix

    def log_likelihood(
        self, answers: Annotations, beliefs: AnyArray, counted: AnyArray
    ) -> AnyArray:
        """Return log P(hints | true class) [answers, classes].

        P(kind | label right) for the label; for other classes P(kind | label wrong) times the
        probability that the true class is at its place, shared among the classes there.

        Args:
            answers: Of all annotators.
            beliefs: Posterior of the true class of each answer's node [answers, classes].
            counted: The same, 0 for answers that are not to be learned from [answers, classes].
        """
        rows = np.arange(len(beliefs))
        right = counted[rows, answers.labels]
        wrong = counted.sum(axis=1) - right
        if_right, if_wrong = (self._frequency(weight)[self.cells] for weight in (right, wrong))
        placed = np.take_along_axis(self._places(counted), self.places, axis=1) / self.sizes
        factor = if_wrong[:, None] * placed * (beliefs.shape[1] - 1)
        factor[rows, answers.labels] = if_right
        return np.asarray(np.log(np.maximum(factor, _LEAST)))

    def _places(self, counted: AnyArray) -> AnyArray:
        """Return the probability of each place of the true class, if not the first [answers, 4]."""
        mass = np.stack([(counted * (self.places == one)).sum(axis=1) for one in (1, 2, 3)], axis=1)
        room = np.stack([(self.places == one).sum(axis=1) for one in (1, 2, 3)], axis=1)
        even = room / np.maximum(room.sum(axis=1, keepdims=True), 1)
        counts = np.maximum(np.asarray(self.indicator.sum(axis=1)), 1).reshape(-1, 1)
        seen = self.indicator @ mass + _PRIOR * (self.indicator @ even) / counts
        found = seen[self.cells] * (room > 0)
        found /= np.maximum(found.sum(axis=1, keepdims=True), _LEAST)
        return np.concatenate([np.ones((len(counted), 1)), found], axis=1)

    def _frequency(self, weight: AnyArray) -> AnyArray:
        """Return how often each kind of answer occurs among the answers of its annotator.

        Drawn towards all answers of the annotator, right or wrong, so that few of them tell little.
        """
        kinds = (self.indicator @ weight).reshape(-1, _KINDS)
        every = np.asarray(self.indicator.sum(axis=1)).reshape(-1, _KINDS) + _LEAST
        kinds = kinds + _PRIOR * every / every.sum(axis=1, keepdims=True)
        return np.asarray(kinds / kinds.sum(axis=1, keepdims=True)).ravel()


def hints_of(answers: Annotations) -> Hints | None:
    """Return the hints of the answers; None where there are only labels."""
    classes = len(answers.classes)
    named = (answers.ranks < classes).sum(axis=1)
    stated = ~np.isnan(answers.confidences)
    if not stated.any() and (named <= 1).all():
        return None
    kinds = np.minimum(named, 3)  # of annotators without confidences
    for who in np.unique(answers.annotators[stated]):
        mine = np.flatnonzero(answers.annotators == who)
        said = mine[stated[mine]]
        edges = np.quantile(answers.confidences[said], np.arange(1, _BINS) / _BINS)
        kinds[mine] = _BINS
        kinds[said] = np.searchsorted(edges, answers.confidences[said], side="left")
    cells = answers.annotators * _KINDS + kinds
    places = np.where(answers.ranks == classes, 3, np.minimum(answers.ranks, 2)).astype(np.int64)
    counts = np.stack([(places == place).sum(axis=1) for place in range(4)], axis=1)
    shape = (len(answers.names) * _KINDS, len(answers))
    indicator = csr_matrix((np.ones(len(answers)), (cells, np.arange(len(answers)))), shape=shape)
    return Hints(cells, places, np.take_along_axis(counts, places, axis=1), indicator)
