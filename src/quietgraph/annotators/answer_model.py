"""How each annotator answers: noise matrices, copies of the classifier, rankings, confidences.

P(answer | true class k) = (1 - c_a) T_a[k, label] + c_a p[label], times P(hints | k).

The noise matrix T_a of an annotator is drawn towards one that all annotators share, as far as the
answers of all suggest it; where the answers carry it, each prototype (cluster of nodes) has a
matrix of its own, drawn towards T_a. An annotator who reads the same attributes as the classifier
makes the same mistakes: with probability c_a the answer is what the classifier says (p), and then
tells nothing of its own.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import gammaln

from quietgraph.annotators.hints import Hints, hints_of
from quietgraph.data.annotations import Annotations
from quietgraph.types import AnyArray, SparseMatrix

_STRENGTHS: Final = 2.0 ** np.arange(11)  # answers that a prior counts as
_LOCAL_STRENGTHS: Final = 2.0 ** np.arange(3, 13)
_RATE_PRIOR: Final = 5.0  # answers of the common error rate that every annotator starts with
_LEAST_RATE: Final = 1e-3
_LEAST_GAIN: Final = 2.0  # log odds from which noise differs between prototypes
_COPY_START: Final = 0.1
_COPY_PRIOR: Final = (1.0, 9.0)  # answers that are copied and that are not, beforehand


@dataclass(frozen=True, eq=False)
class Estimate:
    """How annotators answer.

    Attributes:
        logs: log P(answer | true class) [answers, classes].
        matrices: Noise matrix of each annotator [annotators, true, answer].
        copying: Fraction of answers of each annotator that follow the classifier [annotators].
        copied: Probability that an answer does, by the true class [answers, classes].
    """

    logs: AnyArray
    matrices: AnyArray
    copying: AnyArray
    copied: AnyArray | None


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """Estimates how annotators answer from posteriors of the true classes.

    Attributes:
        answers: Of all annotators.
        prototypes: Cluster of every node [nodes]; one cluster for the same noise everywhere.
        classifier: What it says of every node without the answers on it [nodes, classes]; None
            where there is none to copy.
        trusted: Answers to learn from, those whose true class others tell too [answers] bool; None
            for all.
        anchors: Counts of what annotators did elsewhere [annotators, true, answer].
    """

    answers: Annotations
    prototypes: AnyArray
    classifier: AnyArray | None = None
    trusted: AnyArray | None = None
    anchors: AnyArray | None = None

    @cached_property
    def cells(self) -> AnyArray:
        """Annotator and prototype of each answer [answers]."""
        places = int(self.prototypes.max()) + 1
        return self.answers.annotators * places + self.prototypes[self.answers.nodes]

    @cached_property
    def sums(self) -> SparseMatrix:
        """What sums rows of answers by cell and label [cells x classes, answers]."""
        answers, classes = self.answers, len(self.answers.classes)
        cells = len(answers.names) * (int(self.prototypes.max()) + 1)
        places = (self.cells * classes + answers.labels, np.arange(len(answers)))
        return csr_matrix((np.ones(len(answers)), places), shape=(cells * classes, len(answers)))

    @cached_property
    def hints(self) -> Hints | None:
        """What the answers say beside their label; None where it is nothing."""
        return hints_of(self.answers)

    def estimate(self, posterior: AnyArray, copied: AnyArray | None = None) -> Estimate:
        """Return how the annotators answer.

        Args:
            posterior: Of the true class of every node [nodes, classes].
            copied: Of the estimate before; None at the start.
        """
        answers, classes = self.answers, posterior.shape[1]
        beliefs = posterior[answers.nodes]
        counted = beliefs if self.trusted is None else beliefs * self.trusted[:, None]
        own = counted if copied is None else counted * (1 - copied)
        counts = (self.sums @ own).reshape(-1, classes, classes).transpose(0, 2, 1)
        counts = counts.reshape(len(answers.names), -1, classes, classes)
        elsewhere = 0.0 if self.anchors is None else self.anchors
        matrices = shrunk_matrices(counts.sum(axis=1) + elsewhere)
        local = local_matrices(counts, matrices).reshape(-1, classes, classes)
        likelihood = local[self.cells, :, answers.labels]
        copying = self._copying(counted, counted - own, is_start=copied is None)
        if self.classifier is not None:
            share = copying[answers.annotators][:, None]
            said = share * self.classifier[answers.nodes, answers.labels][:, None]
            likelihood = (1 - share) * likelihood + said
            copied = said / likelihood
        logs = np.log(likelihood)
        if self.hints is not None:
            logs += self.hints.log_likelihood(answers, beliefs, counted)
        return Estimate(logs, matrices, copying, copied)

    def _copying(self, counted: AnyArray, copies: AnyArray, *, is_start: bool) -> AnyArray:
        answers, count = self.answers, len(self.answers.names)
        if self.classifier is None:
            return np.zeros(count)
        sizes = np.bincount(answers.annotators, counted.sum(axis=1), count)
        found: AnyArray = _COPY_START * sizes
        if not is_start:
            found = np.bincount(answers.annotators, copies.sum(axis=1), count)
        return np.asarray((found + _COPY_PRIOR[0]) / (sizes + sum(_COPY_PRIOR)))


def shrunk_matrices(counts: AnyArray) -> AnyArray:
    """Return a noise matrix per annotator from counts [annotators, true, answer].

    The posterior mean under a Dirichlet prior around (1 - r) I + r W: r is the annotator's own
    error rate, drawn towards the common one, W how all annotators together confuse classes. The
    strength of the prior is one for all and has the largest marginal likelihood.
    """
    sizes = counts.sum(axis=(1, 2))
    wrong = sizes - np.trace(counts, axis1=1, axis2=2)
    common = wrong.sum() / max(float(sizes.sum()), 1e-12)
    rates = (wrong + _RATE_PRIOR * common) / (sizes + _RATE_PRIOR)
    rates = rates.clip(_LEAST_RATE, 1 - _LEAST_RATE)[:, None, None]
    pooled = counts.sum(axis=0) + 1.0
    np.fill_diagonal(pooled, 0.0)
    pooled /= pooled.sum(axis=1, keepdims=True)
    base = (1 - rates) * np.eye(counts.shape[1]) + rates * pooled
    merits = [evidence(counts, strength * base).sum() for strength in _STRENGTHS]
    posterior = counts + _STRENGTHS[int(np.argmax(merits))] * base
    return np.asarray(posterior / posterior.sum(axis=2, keepdims=True))


def local_matrices(counts: AnyArray, matrices: AnyArray) -> AnyArray:
    """Return a noise matrix per annotator and prototype [annotators, prototypes, true, answer].

    Drawn towards the annotator's own matrix with the strength of largest marginal likelihood;
    where that matrix everywhere explains the answers about as well, it is the result.

    Args:
        counts: By annotator and prototype [annotators, prototypes, true, answer].
        matrices: Of each annotator [annotators, true, answer].
    """
    base = matrices[:, None]
    if counts.shape[1] == 1:
        return np.asarray(base)
    alike = (counts * np.log(base)).sum(axis=(1, 2, 3))
    merits = np.stack(
        [evidence(counts, strength * base).sum(axis=1) for strength in _LOCAL_STRENGTHS]
    )  # [strengths, annotators]
    strengths = _LOCAL_STRENGTHS[merits.argmax(axis=0)][:, None, None, None]
    posterior = counts + strengths * base
    local = posterior / posterior.sum(axis=3, keepdims=True)
    is_local = (merits.max(axis=0) > alike + _LEAST_GAIN)[:, None, None, None]
    return np.where(is_local, local, base)


def evidence(counts: AnyArray, prior: AnyArray) -> AnyArray:
    """Return the log marginal likelihood of matrices under Dirichlet-multinomial rows [...]."""
    whole = gammaln(prior.sum(axis=-1)) - gammaln(prior.sum(axis=-1) + counts.sum(axis=-1))
    parts = gammaln(counts + prior) - gammaln(prior)
    return np.asarray(whole.sum(axis=-1) + parts.sum(axis=(-1, -2)))
