"""One label per node from several annotators and the graph: the model of noisy labels with one noise matrix each.

Annotator a says k of node i of true class c with probability (1 - s_a) T_a[c, k] + s_a p_i[k]. T_a is the annotator's
noise matrix, drawn to the one that all share; p_i is what a classifier says that reads smoothed attributes and has not
seen the answers on node i; s_a is how often the annotator answers as it does, from the same attributes, so that the
answer tells nothing of its own. All of it follows by EM as in Dawid and Skene (1979), with p_i as each node's prior.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import gammaln, log_softmax, logsumexp, softmax

from quietgraph.classify import smoothing
from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.data.annotations import Annotations
from quietgraph.data.data import Data
from quietgraph.data.splits import stratified_folds
from quietgraph.graph import Graph
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
class Consensus:
    """What annotators and graph say together."""

    codes: Labels  # likeliest class, the label of the data where nobody answered, -1 unknown [nodes]
    probabilities: FloatArray  # of the true class, 0 without an answer [nodes, classes]
    weights: FloatArray  # how much each label counts: fourth power of its probability, 1 without an answer [nodes]
    matrices: FloatArray  # P(answer | true class) of each annotator [annotators, true class, answer]
    copying: FloatArray  # share of the answers of each annotator that follow attributes as a classifier does
    likelihood: FloatArray  # P(answers on a node | true class) up to a factor, NaN without an answer [nodes, classes]


def find_consensus(data: Data, *, seed: int) -> Consensus:
    """Return the consensus of the annotators of the data, which has some; the seed draws folds."""
    answers = data.annotations
    if answers is None:
        raise TypeError("data without annotations have no consensus")
    asked, classes = answers.answered.numpy(), len(answers.classes)
    certain = np.where(data.verified.numpy(), data.codes.numpy(), UNKNOWN)[asked]
    about = replace(answers, nodes=(np.cumsum(asked) - 1)[answers.nodes], num_nodes=len(certain))
    make = (
        smoothing.own_attributes if smoothing.is_heterophilous(data.graph, data.codes) else smoothing.smooth_attributes
    )
    rows = unit_attributes(data.graph, make, generator=torch_generator(0, "attribute directions"))[asked]
    start = np.tile(symmetric(classes, _FIRST_RATE), (len(answers.names), 1, 1))
    is_few = len(rows) < _FEWEST  # EM would follow chance
    found = run_em(about, certain, np.zeros((len(rows), classes)), start, steps=1 if is_few else _STEPS)
    for may_copy in () if is_few else _ROUNDS:
        matrices, _, logs, _ = found
        found = run_em(about, certain, _log_prior(logs, rows, seed), matrices, may_copy=may_copy)
    matrices, copying, logs, posterior = found
    codes, every = data.codes.clone(), np.zeros((len(asked), classes))
    codes[answers.answered] = torch.from_numpy(posterior.argmax(axis=1))
    every[asked], likelihood = posterior, np.full_like(every, np.nan)
    likelihood[asked] = _scaled(logs)
    return Consensus(codes, every, np.where(asked, every.max(axis=1), 1.0) ** 4, matrices, copying, likelihood)


def run_em(
    answers: Annotations,
    certain: IntArray,
    log_prior: FloatArray,
    matrices: FloatArray,
    *,
    may_copy: bool = False,
    steps: int = _STEPS,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return how annotators answer, by EM in which every node has its own prior [nodes, classes].

    Noise matrices [annotators, true class, answer], share of copied answers [annotators], log P(answers on a node |
    true class) and posterior [nodes, classes]. Verified nodes have their class in `certain`, others -1. An answer can
    follow the prior if annotators may copy.
    """
    who, nodes, codes, classifier = answers.annotators, answers.nodes, answers.codes, softmax(log_prior, axis=1)
    wrong = (certain[:, None] != UNKNOWN) & (certain[:, None] != np.arange(log_prior.shape[1]))
    sizes = np.bincount(who, minlength=len(matrices))
    copying = np.full(len(sizes), _COPIES[0] / sum(_COPIES) if may_copy else 0.0)
    for _ in range(steps):
        share = copying[who][:, None]
        said = share * classifier[nodes, codes][:, None]
        answer = (1 - share) * matrices[who, :, codes] + said  # [answers, classes]
        logs = np.where(wrong, -1e3, 0.0)
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
    return matrices, copying, logs, posterior


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
    evidence = dirichlet_evidence(counts, _KAPPAS[:, None, None, None] * shared).sum(axis=1)
    found = counts + _KAPPAS[int(evidence.argmax())] * shared
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def dirichlet_evidence(counts: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the log Dirichlet-multinomial probability of rows of counts [..., rows, columns], by matrix [...]."""
    rows = gammaln(alpha.sum(axis=-1)) - gammaln((alpha + counts).sum(axis=-1))
    return np.asarray((rows + (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)).sum(axis=-1))


def symmetric(classes: int, rate: float) -> FloatArray:
    """Return the noise matrix in which all mistakes are equally likely [classes, classes]."""
    off = rate / (classes - 1)
    return off + (1 - rate - off) * np.eye(classes)


def unit_attributes(
    graph: Graph, make: Callable[[Graph, int], Embeddings], *, generator: torch.Generator
) -> Embeddings:
    """Return unit rows along the leading directions of attributes, made by `own_attributes` or `smooth_attributes`."""
    rows = make(graph, smoothing.count_columns(graph))
    mean, directions = smoothing.leading_directions(rows, _DIRECTIONS, generator=generator)
    return F.normalize((rows - mean) @ directions, dim=1)


def _log_prior(logs: FloatArray, rows: Embeddings, seed: int) -> FloatArray:
    """Return log probabilities by classifiers that did not see the answers on a node [nodes, classes].

    They learn from the answers through the annotators' matrices; a power makes the answers likeliest.
    """
    reading, folds = torch.from_numpy(_scaled(logs)), torch_generator(seed, "folds of answers")
    fold_of = stratified_folds(torch.from_numpy(logs.argmax(axis=1)), _FOLDS, generator=folds)
    prior = np.zeros_like(logs)
    for fold in range(_FOLDS):
        inside = fold_of == fold
        weight, bias = fit_forward_logistic(rows[~inside], reading[~inside])
        prior[inside.numpy()] = (rows[inside] @ weight + bias).double().log_softmax(dim=1).numpy()
    merits = [(logsumexp(logs + power * prior, axis=1) - logsumexp(power * prior, axis=1)).sum() for power in _POWERS]
    return np.asarray(log_softmax(_POWERS[int(np.argmax(merits))] * prior, axis=1))


def _scaled(logs: FloatArray) -> FloatArray:
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
