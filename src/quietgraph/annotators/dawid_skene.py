"""Dawid and Skene's EM, in which every node may have its own prior of the true class."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import logsumexp, softmax

from quietgraph.annotators.answer_model import AnswerModel
from quietgraph.data.annotations import Annotations
from quietgraph.types import AnyArray

_MOST_STEPS: Final = 100
_TOLERANCE: Final = 1e-4  # largest change of a posterior at which the steps end
_WEIGHTS: Final = np.arange(0, 17) / 8  # of the prior of each node


@dataclass(frozen=True, eq=False)
class CrowdFit:
    """What the answers of annotators say.

    Attributes:
        posterior: Of the true class; rows without an answer are the prior [nodes, classes].
        evidence: log P(all answers on a node | class) [nodes, classes].
        matrices: Noise matrix of each annotator [annotators, true, answer].
        copying: Fraction of answers of each annotator that follow the classifier [annotators].
        steps: Of EM.
    """

    posterior: AnyArray
    evidence: AnyArray
    matrices: AnyArray
    copying: AnyArray
    steps: int


def dawid_skene(
    answers: Annotations,
    log_prior: AnyArray | None = None,
    *,
    prototypes: AnyArray | None = None,
    classifier: AnyArray | None = None,
    trusted: AnyArray | None = None,
    anchors: AnyArray | None = None,
    start: AnyArray | None = None,
    most_steps: int = _MOST_STEPS,
) -> CrowdFit:
    """Return posteriors of the true classes and the annotators' noise matrices by EM.

    Args:
        answers: Of all annotators.
        log_prior: Of the true class of every node, but for a constant per row [nodes, classes];
            without it one prior for all nodes, estimated along.
        prototypes: Cluster of every node, for noise that differs between clusters [nodes].
        classifier: Probabilities that annotators may repeat [nodes, classes].
        trusted: Answers to learn the noise matrices from [answers]; all without it.
        anchors: Counts of what annotators did elsewhere [annotators, true, answer].
        start: First posterior [nodes, classes]; without it the fraction of votes.
        most_steps: Of EM; one step weighs the votes by the agreement with the others.
    """
    if prototypes is None:
        prototypes = np.zeros(answers.num_nodes, dtype=np.int64)
    model = AnswerModel(answers, prototypes, classifier, trusted, anchors)
    gather = sum_per_node(answers)
    posterior = _votes(answers, log_prior) if start is None else start
    answered, copied = np.unique(answers.nodes), None
    steps, change = 0, np.inf
    while steps < most_steps and change > _TOLERANCE:
        estimate = model.estimate(posterior, copied)
        prior, copied = log_prior, estimate.copied
        if prior is None:
            prior = np.log(posterior[answered].mean(axis=0) + 1e-3)[None]
        found = np.asarray(gather @ estimate.logs)
        before, posterior = posterior, softmax(found + prior, axis=1)
        steps, change = steps + 1, float(np.abs(posterior - before).max())
    return CrowdFit(posterior, found, estimate.matrices, estimate.copying, steps)


def prior_weight(evidence: AnyArray, log_prior: AnyArray) -> float:
    """Return the weight w of a prior under which the answers are likeliest.

    Maximises the sum over nodes of log sum_k softmax(w log_prior)_k P(answers | k): below 1 where
    the prior is overconfident, 0 where it carries no information.

    Args:
        evidence: log P(answers | class) of nodes with answers [nodes, classes].
        log_prior: Of the same nodes [nodes, classes].
    """
    merits = [
        logsumexp(evidence + weight * log_prior, axis=1) - logsumexp(weight * log_prior, axis=1)
        for weight in _WEIGHTS
    ]
    return float(_WEIGHTS[int(np.argmax([merit.sum() for merit in merits]))])


def sum_per_node(answers: Annotations) -> object:
    """Return what sums rows of answers into rows of nodes [nodes, answers]."""
    places = (answers.nodes, np.arange(len(answers)))
    return csr_matrix((np.ones(len(answers)), places), shape=(answers.num_nodes, len(answers)))


def _votes(answers: Annotations, log_prior: AnyArray | None) -> AnyArray:
    votes = answers.votes() + 1e-2
    if log_prior is not None:
        votes = votes * softmax(log_prior, axis=1) + 1e-12
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))
