"""One label per node from several annotators and the graph, estimated together."""

from dataclasses import dataclass, replace
from typing import Final

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
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask

_ROUNDS: Final = 3
_FEWEST_LABELS: Final = 10  # from which a classifier is asked
_FEWEST_VERIFIED: Final = 20  # labels from which a classifier learns from these alone
_OTHERS: Final = 0.03  # weight of a label that nobody verified, beside verified ones
_CERTAIN: Final = 1e3  # log odds of a verified label
_ANCHORS: Final = 100.0  # answers that the classifier's word on an annotator counts as
_FIRST_RATE: Final = 0.3
_FLOOR: Final = 1e-4  # of a classifier's probability
_PER_PROTOTYPE: Final = 60  # answered nodes
_MOST_PROTOTYPES: Final = 20


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
    posterior: AnyArray
    matrices: AnyArray
    copying: AnyArray
    prior: AnyArray
    weight: float
    checked: AnyArray

    @property
    def labels(self) -> Labels:
        """Likeliest class, -1 without an answer [nodes]."""
        best = torch.from_numpy(self.posterior.argmax(axis=1))
        return torch.where(self.answers.answered, best, torch.full_like(best, UNKNOWN))

    @property
    def confidence(self) -> AnyArray:
        """Probability of the likeliest class, 1 without an answer [nodes]."""
        answered = self.answers.answered.numpy()
        return np.where(answered, self.posterior.max(axis=1), 1.0)


def find_consensus(observation: Observation, *, seed: int, rounds: int = _ROUNDS) -> Consensus:
    """Return the consensus of the annotators of an observation.

    EM of Dawid and Skene in which the prior of every node is what classifiers say that have not
    seen the node's own label (see `OutOfFoldPrior`). They learn from the consensus, and the
    consensus is found anew, a few rounds. Verified labels are certain, and where annotators do not
    check each other, the first classifiers learn from these above all.

    Args:
        observation: With annotations.
        seed: For projections and clusters.
        rounds: How often the classifiers learn.
    """
    answers = _answers(observation)
    certain, checked = _certain(observation), _checked(observation)
    known = answers.answered | observation.known
    is_small = int(known.sum()) < _FEWEST_LABELS  # EM would follow chance
    fit = dawid_skene(
        answers,
        certain if certain.any() else None,
        trusted=checked,
        anchors=_anchors(answers, checked, None),
        most_steps=1 if is_small else 100,
    )
    found = _Round(fit, np.zeros(certain.shape), 0.0)
    rounds = 0 if is_small else rounds
    step = _Step.of(observation, known, seed) if rounds else None
    for place in range(rounds):
        labels = torch.from_numpy(found.fit.posterior.argmax(axis=1))
        labels = torch.where(answers.answered, labels, observation.codes)
        if step is None or int(labels[known].min()) == int(labels[known].max()):
            break
        found = step(found.fit, labels, is_first=place == 0)
    there = answers.answered.numpy()[:, None]
    fit, posterior = found.fit, found.fit.posterior * there
    prior = found.probabilities * there
    return Consensus(answers, posterior, fit.matrices, fit.copying, prior, found.weight, checked)


@dataclass(frozen=True, eq=False)
class _Round:
    """What a round found: annotators, probabilities of the classifiers and their weight."""

    fit: CrowdFit
    probabilities: AnyArray
    weight: float


@dataclass(frozen=True, eq=False)
class _Step:
    """Classifiers learn from the consensus, and the consensus is found anew with them."""

    answers: Annotations
    certain: AnyArray  # log odds that hold verified labels fast [nodes, classes]
    checked: AnyArray  # [answers]
    teachers: AnyArray | None  # 1 for verified labels that teach first [nodes]
    known: Mask
    classifier: OutOfFoldPrior
    prototypes: AnyArray | None

    @classmethod
    def of(cls, observation: Observation, known: Mask, seed: int) -> "_Step":
        answers, graph = _answers(observation), observation.graph
        return cls(
            answers,
            _certain(observation),
            _checked(observation),
            _teachers(observation),
            known,
            OutOfFoldPrior(graph, known, seed=seed),
            _prototypes(graph, answers, seed),
        )

    def __call__(self, fit: CrowdFit, labels: Labels, *, is_first: bool) -> _Round:
        counts, is_taught = None, self.teachers is not None
        if self.teachers is not None:
            others = _OTHERS if is_first else fit.posterior.max(axis=1)
            counts = np.maximum(self.teachers, others)
        probabilities = self.classifier(labels, self.certain.shape[1], counts)
        logs = np.log(np.maximum(probabilities, _FLOOR)) * self.answers.answered.numpy()[:, None]
        weight, known = 1.0, self.known.numpy()
        if not (is_taught and is_first):
            weight = prior_weight((fit.evidence + self.certain)[known], logs[known])
        prior = weight * logs + self.certain
        again = dawid_skene(
            self.answers,
            prior,
            prototypes=self.prototypes,
            classifier=softmax(weight * logs, axis=1),
            start=softmax(prior, axis=1) if is_taught and is_first else fit.posterior,
            trusted=None if is_taught else self.checked,
            anchors=None if is_taught else _anchors(self.answers, self.checked, probabilities),
        )
        return _Round(again, probabilities, weight)


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


def _answers(observation: Observation) -> Annotations:
    if observation.annotations is None:
        raise TypeError("an observation without annotations has no consensus")
    return observation.annotations


def _checked(observation: Observation) -> AnyArray:
    """Return the answers on nodes that have another one, or a verified label [answers] bool."""
    answers = _answers(observation)
    several = np.bincount(answers.nodes, minlength=answers.num_nodes) > 1
    checked: AnyArray = (several | observation.verified.numpy())[answers.nodes]
    return checked


def _anchors(answers: Annotations, trusted: AnyArray, probabilities: AnyArray | None) -> AnyArray:
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


def _teachers(observation: Observation) -> AnyArray | None:
    """Return 1 for verified labels, 0 for others, where these alone teach the first classifier.

    A classifier that learns from one annotator repeats his mistakes and cannot find them; one that
    learns from verified labels can. Where annotators check each other, all labels teach.
    """
    verified = (observation.verified & observation.known).numpy()
    seen = np.unique(observation.codes.numpy()[verified])
    answers = _answers(observation)
    several = np.bincount(answers.nodes, minlength=answers.num_nodes) > 1
    alone = ~several[answers.nodes]
    if verified.sum() < _FEWEST_VERIFIED or len(seen) < 2 or alone.mean() <= 0.5:
        return None
    return np.asarray(verified, dtype=np.float64)


def _certain(observation: Observation) -> AnyArray:
    """Return log odds that hold verified labels fast, 0 elsewhere [nodes, classes]."""
    verified = (observation.verified & observation.known).numpy()
    logs = np.zeros((len(verified), len(observation.classes)))
    logs[verified] = -_CERTAIN
    logs[verified, observation.codes.numpy()[verified]] = 0.0
    return logs


def _prototypes(graph: Graph, answers: Annotations, seed: int) -> AnyArray | None:
    """Return clusters of nodes by smoothed attributes [nodes]; None for too few answers."""
    count = min(int(answers.answered.sum()) // _PER_PROTOTYPE, _MOST_PROTOTYPES)
    if count < 2:
        return None
    rows = attribute_views(graph, seed=seed)[1]
    draws = torch_generator(seed, "prototypes of annotators")
    return start_clusters(rows, count, generator=draws).assignments.numpy()
