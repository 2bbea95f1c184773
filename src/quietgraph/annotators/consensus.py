"""One label per node from several annotators and the graph, estimated together."""

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import torch
from scipy.special import softmax

from quietgraph.annotators.dawid_skene import CrowdFit, dawid_skene, prior_weight
from quietgraph.annotators.out_of_fold_prior import OutOfFoldPrior, attribute_views
from quietgraph.classify.label_issues.noise import estimate_noise, symmetric_noise
from quietgraph.data.annotations import Annotations
from quietgraph.data.observation import Observation
from quietgraph.embed.clusters import start_clusters
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels

_ROUNDS: Final = 3
_FEWEST_LABELS: Final = 10  # from which a classifier is asked
_CERTAIN: Final = 1e3  # log odds of a verified label
_ANCHORS: Final = 100.0  # answers that the classifier's word on an annotator counts as
_FIRST_RATE: Final = 0.3
_FLOOR: Final = 1e-4  # of a classifier's probability
_PER_PROTOTYPE: Final = 60  # answered nodes
_MOST_PROTOTYPES: Final = 20
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class Consensus:
    """What annotators and graph say together.

    Attributes:
        answers: Of the annotators.
        posterior: Of the true class, 0 without an answer [nodes, classes].
        matrices: Noise matrix of each annotator [annotators, true, answer].
        copying: Fraction of answers of each annotator that follow the classifier [annotators].
        prior: Out-of-fold probabilities of the classifier, 0 without an answer [nodes, classes].
        weight: Of the classifier beside the answers.
        checked: Answers on nodes that have another one, or a verified label [answers] bool.
    """

    answers: Annotations
    posterior: _Array
    matrices: _Array
    copying: _Array
    prior: _Array
    weight: float
    checked: _Array

    @property
    def labels(self) -> Labels:
        """Likeliest class, -1 without an answer [nodes]."""
        best = torch.from_numpy(self.posterior.argmax(axis=1))
        return torch.where(self.answers.answered, best, torch.full_like(best, UNKNOWN))


def find_consensus(observation: Observation, *, seed: int, rounds: int = _ROUNDS) -> Consensus:
    """Return the consensus of the annotators of an observation.

    EM of Dawid and Skene in which the prior of every node is what classifiers say that have not
    seen the node's own label (see `OutOfFoldPrior`). They learn from the consensus, and the
    consensus is found anew, a few rounds. Verified labels are certain.

    Args:
        observation: With annotations.
        seed: For projections and clusters.
        rounds: How often the classifiers learn.
    """
    answers = _answers(observation)
    graph, classes = observation.graph, len(observation.classes)
    certain, answered = _certain(observation), answers.answered
    known = answered | observation.known
    probabilities, weight = np.zeros((graph.num_nodes, classes)), 0.0
    is_small = int(known.sum()) < _FEWEST_LABELS  # EM would follow chance
    rounds, steps = (0, 1) if is_small else (rounds, 100)
    trusted = _trusted(observation)
    fit = dawid_skene(
        answers,
        certain if certain.any() else None,
        trusted=trusted,
        anchors=_anchors(answers, trusted, None),
        most_steps=steps,
    )
    classifier = OutOfFoldPrior(graph, known, seed=seed) if rounds else None
    prototypes = _prototypes(graph, answers, seed) if rounds else None
    for _ in range(rounds):
        best = torch.from_numpy(fit.posterior.argmax(axis=1))
        labels = torch.where(answered, best, observation.codes)
        if classifier is None or int(labels[known].min()) == int(labels[known].max()):
            break
        probabilities = classifier(labels, classes)
        logs = np.log(np.maximum(probabilities, _FLOOR)) * answered.numpy()[:, None]
        weight = prior_weight((fit.evidence + certain)[known.numpy()], logs[known.numpy()])
        fit = dawid_skene(
            answers,
            weight * logs + certain,
            prototypes=prototypes,
            classifier=softmax(weight * logs, axis=1),
            start=fit.posterior,
            trusted=trusted,
            anchors=_anchors(answers, trusted, probabilities),
        )
    return _result(answers, fit, probabilities, weight, trusted)


def resolve_annotations(
    observation: Observation, *, seed: int
) -> tuple[Observation, Consensus | None]:
    """Return an observation whose annotated nodes have consensus labels, and the consensus.

    An observation without annotations stays as it is.
    """
    if observation.annotations is None:
        return observation, None
    consensus = find_consensus(observation, seed=seed)
    return with_consensus(observation, consensus), consensus


def with_consensus(observation: Observation, consensus: Consensus) -> Observation:
    """Return the observation with consensus labels in place of the majority's."""
    codes = torch.where(consensus.answers.answered, consensus.labels, observation.codes)
    return replace(observation, codes=codes)


def _result(
    answers: Annotations, fit: CrowdFit, probabilities: _Array, weight: float, checked: _Array
) -> Consensus:
    there = answers.answered.numpy()[:, None]
    posterior, prior = fit.posterior * there, probabilities * there
    return Consensus(answers, posterior, fit.matrices, fit.copying, prior, weight, checked)


def _answers(observation: Observation) -> Annotations:
    if observation.annotations is None:
        raise TypeError("an observation without annotations has no consensus")
    return observation.annotations


def _trusted(observation: Observation) -> _Array:
    """Return the answers on nodes that have another one, or a verified label [answers] bool."""
    answers = _answers(observation)
    several = np.bincount(answers.nodes, minlength=answers.num_nodes) > 1
    trusted: _Array = (several | observation.verified.numpy())[answers.nodes]
    return trusted


def _anchors(answers: Annotations, trusted: _Array, probabilities: _Array | None) -> _Array:
    """Return counts that stand for answers that nobody else checks [annotators, true, answer].

    One answer to a node cannot be told from an error by answers alone: the classifier's confident
    nodes show how often its annotator errs; before there is a classifier, a guess does. Nodes that
    a person checks are often the hardest ones, so these alone would say too little good.
    """
    classes = len(answers.classes)
    counts = np.zeros((len(answers.names), classes, classes))
    known = np.bincount(answers.annotators, trusted, len(counts))
    weights = _ANCHORS * (1 - known / np.maximum(answers.counts, 1))
    for who in np.flatnonzero(weights):
        mine = answers.annotators == who
        if not mine.any():
            continue
        matrix = symmetric_noise(_FIRST_RATE, classes).numpy()
        if probabilities is not None:
            labels = torch.full((answers.num_nodes,), UNKNOWN)
            labels[torch.from_numpy(answers.nodes[mine])] = torch.from_numpy(answers.labels[mine])
            matrix = estimate_noise(torch.from_numpy(probabilities), labels).transition.numpy()
        shares = np.bincount(answers.labels[mine], minlength=classes) / mine.sum()
        counts[who] = weights[who] * shares[:, None] * matrix
    return counts


def _certain(observation: Observation) -> _Array:
    """Return log odds that hold verified labels fast, 0 elsewhere [nodes, classes]."""
    verified = (observation.verified & observation.known).numpy()
    logs = np.zeros((len(verified), len(observation.classes)))
    logs[verified] = -_CERTAIN
    logs[verified, observation.codes.numpy()[verified]] = 0.0
    return logs


def _prototypes(graph: Graph, answers: Annotations, seed: int) -> _Array | None:
    """Return clusters of nodes by smoothed attributes [nodes]; None for too few answers."""
    count = min(int(answers.answered.sum()) // _PER_PROTOTYPE, _MOST_PROTOTYPES)
    if count < 2:
        return None
    rows = attribute_views(graph, seed=seed)[1]
    draws = torch_generator(seed, "prototypes of annotators")
    return start_clusters(rows, count, generator=draws).assignments.numpy()
