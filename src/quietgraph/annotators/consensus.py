"""One label per node from several annotators and the graph: the model of noisy labels with one noise matrix each.

Annotator a says k of node i of true class c with probability (1 - s_a) T_a[c, k] + s_a p_i[k]. T_a is the annotator's
noise matrix, drawn to the one that all share; p_i is what a classifier says that reads smoothed attributes and has not
seen the answers on node i; s_a is how often the annotator answers as it does, from the same attributes, so that the
answer tells nothing of its own. All of it follows by EM as in Dawid and Skene (1979), with p_i as each node's prior.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import gammaln, log_softmax, logsumexp, softmax

from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.classify.smoothing import (
    count_columns,
    is_heterophilous,
    leading_directions,
    own_attributes,
    smooth_attributes,
)
from quietgraph.data.annotations import Annotations
from quietgraph.data.data import Data
from quietgraph.data.splits import stratified_folds
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, FloatArray, IntArray, Labels

_KAPPAS = 2.0 ** np.arange(1, 10)
_DIRECTIONS, _FOLDS, _STEPS = 256, 5, 100
_ROUNDS = (False, False, True, True)  # whether annotators may copy the classifier, which learns anew in each
_COPIES = (1.0, 9.0)  # answers that are copied and that are not, beforehand
_FIRST_RATE = 0.3
_FEWEST = 20  # nodes from which a classifier is asked
_POWERS = np.arange(0, 17) / 8  # of the classifier's probabilities
_LEAST = 1e-12


@dataclass(frozen=True, eq=False)
class AnswerModel:
    """How annotators answer.

    Attributes:
        matrices: P(answer | true class) of each annotator [annotators, true class, answer].
        copying: Share of the answers of each annotator that follow the classifier [annotators].
        log_likelihood: Log P(answers on a node | true class), verified labels being certain [nodes, classes].
        posterior: Of the true class [nodes, classes].
    """

    matrices: FloatArray
    copying: FloatArray
    log_likelihood: FloatArray
    posterior: FloatArray


@dataclass(frozen=True, eq=False)
class Consensus:
    """What annotators and graph say together.

    Attributes:
        codes: Likeliest class, the label of the data where nobody answered, -1 unknown [nodes].
        probabilities: Of the true class, 0 without an answer [nodes, classes].
        weights: How much each label counts: the fourth power of its probability, 1 without an answer [nodes].
        matrices: P(answer | true class) of each annotator [annotators, true class, answer].
        copying: Share of the answers of each annotator that follow attributes as a classifier does [annotators].
        likelihood: P(answers on a node | true class) up to a factor, NaN without an answer [nodes, classes].
    """

    codes: Labels
    probabilities: FloatArray
    weights: FloatArray
    matrices: FloatArray
    copying: FloatArray
    likelihood: FloatArray


def find_consensus(data: Data, *, seed: int) -> Consensus:
    """Return the consensus of the annotators of the data.

    Args:
        data: With annotations.
        seed: Of the folds.
    """
    answers = data.annotations
    if answers is None:
        raise TypeError("data without annotations have no consensus")
    asked = np.flatnonzero(answers.answered.numpy())
    place = np.full(answers.num_nodes, UNKNOWN)
    place[asked] = np.arange(len(asked))
    certain = np.where(data.verified.numpy(), data.codes.numpy(), UNKNOWN)[asked]
    about = replace(answers, nodes=place[answers.nodes], num_nodes=len(asked))
    found = fit_answers(about, certain, _space(data)[torch.from_numpy(asked)], seed=seed)
    codes, every = data.codes.clone(), np.zeros((len(place), len(answers.classes)))
    codes[torch.from_numpy(asked)] = torch.from_numpy(found.posterior.argmax(axis=1))
    every[asked] = found.posterior
    weights = np.where(place == UNKNOWN, 1.0, every.max(axis=1)) ** 4
    likelihood = np.full_like(every, np.nan)
    likelihood[asked] = _scaled(found.log_likelihood)
    return Consensus(codes, every, weights, found.matrices, found.copying, likelihood)


def fit_answers(answers: Annotations, certain: IntArray, rows: Embeddings, *, seed: int) -> AnswerModel:
    """Return how annotators answer.

    Args:
        answers: About some nodes, all of which have one.
        certain: Verified class of each of these nodes, -1 without one [nodes].
        rows: Unit rows of the same nodes that saw no answer [nodes, dim].
        seed: Of the folds.
    """
    classes = len(answers.classes)
    start = np.tile(symmetric(classes, _FIRST_RATE), (len(answers.names), 1, 1))
    prior = np.zeros((len(rows), classes))
    if len(rows) < _FEWEST:  # EM would follow chance
        return run_em(answers, certain, prior, start, steps=1)
    found = run_em(answers, certain, prior, start)
    for may_copy in _ROUNDS:
        found = run_em(answers, certain, _log_prior(found, rows, seed), found.matrices, may_copy=may_copy)
    return found


def run_em(
    answers: Annotations,
    certain: IntArray,
    log_prior: FloatArray,
    matrices: FloatArray,
    *,
    may_copy: bool = False,
    steps: int = _STEPS,
) -> AnswerModel:
    """Return how annotators answer, by EM in which every node has its own prior [nodes, classes].

    Where they may copy, an answer can follow the prior.
    """
    who, nodes, codes, classifier = answers.annotators, answers.nodes, answers.codes, softmax(log_prior, axis=1)
    sizes, known = np.bincount(who, minlength=len(matrices)), _certain_logs(certain, log_prior.shape[1])
    copying = np.full(len(sizes), _COPIES[0] / sum(_COPIES) if may_copy else 0.0)
    for _ in range(steps):
        share = copying[who][:, None]
        said = share * classifier[nodes, codes][:, None]
        answer = (1 - share) * matrices[who, :, codes] + said  # [answers, classes]
        logs = known.copy()
        np.add.at(logs, nodes, np.log(np.maximum(answer, _LEAST)))
        posterior = softmax(log_prior + logs, axis=1)
        counts = np.zeros_like(matrices)  # by annotator, answer, true class
        np.add.at(counts, (who, codes), posterior[nodes])
        before, matrices = matrices, shrunk_matrices(counts.transpose(0, 2, 1))
        if may_copy:
            copied = np.bincount(who, (posterior[nodes] * said / answer).sum(axis=1), len(sizes))
            copying = (copied + _COPIES[0]) / (sizes + sum(_COPIES))
        if np.abs(matrices - before).max() < 1e-4:
            break
    return AnswerModel(matrices, copying, logs, posterior)


def shrunk_matrices(counts: FloatArray) -> FloatArray:
    """Return the noise matrix of each annotator, drawn to the one that all share [annotators, classes, classes].

    Posterior mean under a Dirichlet prior around the shared matrix, itself drawn to the symmetric one of its rate. The
    strength of the prior is one for all and has the largest marginal likelihood.

    Args:
        counts: Expected answers [annotators, true class, answer].
    """
    total = counts.sum(axis=0)
    rate = float(np.clip(1 - np.trace(total) / max(total.sum(), 1e-9), 0.01, 0.9))
    shared = total + 10.0 * symmetric(len(total), rate)
    shared = shared / shared.sum(axis=1, keepdims=True)
    found = (
        counts
        + _KAPPAS[int(np.argmax([dirichlet_evidence(counts, kappa * shared).sum() for kappa in _KAPPAS]))] * shared
    )
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def dirichlet_evidence(counts: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the log Dirichlet-multinomial probability of rows of counts [..., rows, columns], by matrix [...]."""
    rows = gammaln(alpha.sum(axis=-1)) - gammaln((alpha + counts).sum(axis=-1))
    return np.asarray((rows + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)).sum(axis=-1))


def symmetric(classes: int, rate: float) -> FloatArray:
    """Return the noise matrix in which all mistakes are equally likely [classes, classes]."""
    off = rate / (classes - 1)
    return off + (1 - rate - off) * np.eye(classes)


def _log_prior(found: AnswerModel, rows: Embeddings, seed: int) -> FloatArray:
    """Return log probabilities by classifiers that did not see the answers on a node [nodes, classes].

    They learn from the answers through the annotators' matrices; a power makes the answers likeliest.
    """
    logs = found.log_likelihood
    reading, likeliest = torch.from_numpy(_scaled(logs)), torch.from_numpy(logs.argmax(axis=1))
    fold_of = stratified_folds(likeliest, _FOLDS, generator=torch_generator(seed, "folds of answers"))
    prior = np.zeros_like(logs)
    for fold in range(_FOLDS):
        inside = fold_of == fold
        weight, bias = fit_forward_logistic(rows[~inside], reading[~inside])
        prior[inside.numpy()] = (rows[inside] @ weight + bias).double().log_softmax(dim=1).numpy()
    merits = [(logsumexp(logs + power * prior, axis=1) - logsumexp(power * prior, axis=1)).sum() for power in _POWERS]
    return np.asarray(log_softmax(_POWERS[int(np.argmax(merits))] * prior, axis=1))


def _certain_logs(certain: IntArray, classes: int) -> FloatArray:
    """Return log P(verified label | true class), 0 where nobody has verified one [nodes, classes]."""
    wrong = (certain[:, None] != UNKNOWN) & (certain[:, None] != np.arange(classes))
    return np.where(wrong, -1e3, 0.0)


def _scaled(logs: FloatArray) -> FloatArray:
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))


def _space(data: Data) -> Embeddings:
    """Return unit rows of all nodes that need no label: smoothed attributes, own ones where neighbours differ."""
    graph = data.graph
    make = own_attributes if is_heterophilous(graph, data.codes) else smooth_attributes
    rows = make(graph, count_columns(graph))
    mean, directions = leading_directions(rows, _DIRECTIONS, generator=torch_generator(0, "attribute directions"))
    return F.normalize((rows - mean) @ directions, dim=1)
