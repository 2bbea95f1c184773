"""Tables about annotators: how good each is, who disagrees, the consensus of nodes."""

from typing import Final

import numpy as np
import pandas as pd
from scipy.stats import beta

from quietgraph.annotators.consensus import Consensus
from quietgraph.data.annotations import Annotations
from quietgraph.types import UNKNOWN, AnyArray

_PRIOR: Final = 2.0  # answers of the common accuracy that every annotator starts with
_LEVEL: Final = 0.95
_RANDOM: Final = 0.2  # kappa below which answers are as good as random
_MOST_COMPARED: Final = 100  # annotators


def annotator_table(consensus: Consensus) -> pd.DataFrame:
    """Return the annotators, best first.

    Columns: annotator, answers, checked (answers on nodes that others answered too, or with a
    verified label), accuracy (estimated on these), accuracy_low and accuracy_high (95 % interval),
    kappa (accuracy beyond what the same answers in random order would reach: 0 random, 1 perfect),
    copies_classifier (fraction of answers that follow attributes as the classifier does), is_random
    (kappa is surely below 0.2). Of an annotator whom nobody checks nothing is said: NaN.
    """
    answers, posterior = consensus.answers, consensus.posterior
    right, who = posterior[answers.nodes, answers.labels], answers.annotators
    count, checked = len(answers.names), consensus.checked
    sizes = np.bincount(who, checked, count)
    sums = np.bincount(who, right * checked, count)
    doubts = np.bincount(who, right * (1 - right) * checked, count)
    common = sums.sum() / max(float(sizes.sum()), 1.0)
    accuracy = (sums + _PRIOR * common) / (sizes + _PRIOR)
    # Sampling of the nodes, and that no true label is known.
    variance = accuracy * (1 - accuracy) / (sizes + _PRIOR + 1) + doubts / np.square(sizes + _PRIOR)
    low, high = _interval(accuracy, variance)
    chance = _chance(consensus)
    kappa, upper = ((value - chance) / (1 - chance) for value in (accuracy, high))
    unknown = sizes == 0
    quality = {"accuracy": accuracy, "accuracy_low": low, "accuracy_high": high, "kappa": kappa}
    table = pd.DataFrame(
        {
            "annotator": answers.names,
            "answers": answers.counts,
            "checked": sizes.astype(int),
            **{name: np.where(unknown, np.nan, value) for name, value in quality.items()},
            "copies_classifier": np.where(unknown, np.nan, consensus.copying),
            "is_random": (upper < _RANDOM) & ~unknown,
        }
    )
    return table.sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)


def disagreement_table(answers: Annotations) -> pd.DataFrame:
    """Return every pair of annotators with nodes in common, most disagreement first.

    Columns: first, second, nodes (that both answered), disagree (fraction), most_often (the
    commonest pair of different answers) and times. Of more than 100 annotators those with the
    most answers are compared.
    """
    chosen = np.sort(np.argsort(-answers.counts, kind="stable")[:_MOST_COMPARED])
    given = np.full((len(chosen), answers.num_nodes), UNKNOWN)
    place = np.full(len(answers.names), UNKNOWN)
    place[chosen] = np.arange(len(chosen))
    kept = place[answers.annotators] >= 0
    given[place[answers.annotators[kept]], answers.nodes[kept]] = answers.labels[kept]
    rows = [
        _compare(answers, given, int(one), int(two), chosen)
        for one in range(len(chosen))
        for two in range(one + 1, len(chosen))
    ]
    names = ["first", "second", "nodes", "disagree", "most_often", "times"]
    table = pd.DataFrame([row for row in rows if row is not None], columns=names)
    return table.sort_values("disagree", ascending=False, kind="stable", ignore_index=True)


def consensus_table(consensus: Consensus, node_ids: object) -> pd.DataFrame:
    """Return the nodes with answers, least certain first.

    Columns: node, consensus, probability, majority, classifier (its likeliest class without the
    answers on the node), answers (how many), agree (fraction of them), given (who said what).
    """
    answers = consensus.answers
    nodes = np.flatnonzero(answers.answered.numpy())
    best = consensus.posterior[nodes].argmax(axis=1)
    votes = answers.votes()[nodes]
    asked = consensus.prior[nodes].sum(axis=1) > 0
    classifier = answers.classes[consensus.prior[nodes].argmax(axis=1)].astype(object)
    classifier[~asked] = None
    table = pd.DataFrame(
        {
            "node": np.asarray(node_ids)[nodes],
            "consensus": answers.classes[best],
            "probability": consensus.posterior[nodes].max(axis=1),
            "majority": answers.classes[answers.majority().numpy()[nodes]],
            "classifier": classifier,
            "answers": votes.sum(axis=1).astype(int),
            "agree": votes[np.arange(len(nodes)), best] / votes.sum(axis=1),
            "given": answers.in_words()[nodes],
        }
    )
    return table.sort_values("probability", kind="stable", ignore_index=True)


def _interval(mean: AnyArray, variance: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Return the interval of a Beta distribution with this mean and variance."""
    mean = mean.clip(1e-6, 1 - 1e-6)
    total = np.maximum(mean * (1 - mean) / np.maximum(variance, 1e-12) - 1, 0.5)
    low, high = beta.interval(_LEVEL, mean * total, (1 - mean) * total)
    return np.asarray(low), np.asarray(high)


def _chance(consensus: Consensus) -> AnyArray:
    """Return the accuracy of each annotator's answers in random order [annotators]."""
    answers, classes = consensus.answers, len(consensus.answers.classes)
    named = np.zeros((len(answers.names), classes))
    true = np.zeros_like(named)
    np.add.at(named, (answers.annotators, answers.labels), 1)
    np.add.at(true, answers.annotators, consensus.posterior[answers.nodes])
    sizes = np.maximum(named.sum(axis=1, keepdims=True), 1)
    return np.asarray((named / sizes * true / sizes).sum(axis=1).clip(max=0.999))


def _compare(
    answers: Annotations, given: AnyArray, one: int, two: int, chosen: AnyArray
) -> tuple[object, ...] | None:
    both = (given[one] != UNKNOWN) & (given[two] != UNKNOWN)
    if not both.any():
        return None
    first, second = given[one][both], given[two][both]
    differs, words, times = first != second, "", 0
    if differs.any():
        pairs, counts = np.unique(
            np.stack([first[differs], second[differs]]), axis=1, return_counts=True
        )
        mine, theirs = answers.classes[pairs[:, int(counts.argmax())]]
        words, times = f"{mine} / {theirs}", int(counts.max())
    names = (answers.names[chosen[one]], answers.names[chosen[two]])
    return (*names, int(both.sum()), float(differs.mean()), words, times)
