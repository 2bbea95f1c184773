"""How good each annotator is, and who disagrees with whom."""

import numpy as np
import pandas as pd
from scipy.stats import beta

from quietgraph.annotators.consensus import Consensus
from quietgraph.data.annotations import Annotations

_PRIOR = 2.0  # answers of the common accuracy that every annotator starts with
_RANDOM = 0.2  # kappa below which answers are as good as random
_MOST_COMPARED = 100  # annotators, those with the most answers


def annotator_table(answers: Annotations, consensus: Consensus) -> pd.DataFrame:
    """Return the annotators, best first.

    Columns: annotator, answers, accuracy (expected, with its 95 % interval in accuracy_low and accuracy_high), kappa
    (accuracy beyond that of the same answers in random order: 0 random, 1 perfect), copies_classifier (share of answers
    that follow attributes as a classifier does), is_random (kappa is surely below 0.2).
    """
    who, count = answers.annotators, len(answers.names)
    right = consensus.probabilities[answers.nodes, answers.codes]
    sizes, sums = np.bincount(who, minlength=count), np.bincount(who, right, count)
    accuracy = (sums + _PRIOR * right.mean()) / (sizes + _PRIOR)
    # Of the sampling of nodes, and because no true label is known.
    doubt = np.bincount(who, right * (1 - right), count) / np.square(sizes + _PRIOR)
    variance = np.maximum(accuracy * (1 - accuracy) / (sizes + _PRIOR + 1) + doubt, 1e-12)
    total = np.maximum(accuracy * (1 - accuracy) / variance - 1, 0.5)
    low, high = beta.interval(0.95, accuracy * total, (1 - accuracy) * total)
    named, true = np.zeros((2, count, len(answers.classes)))
    np.add.at(named, (who, answers.codes), 1.0)
    np.add.at(true, who, consensus.probabilities[answers.nodes])
    chance = (named * true).sum(axis=1) / np.square(np.maximum(sizes, 1))
    columns = {
        "annotator": answers.names,
        "answers": sizes,
        "accuracy": accuracy,
        "accuracy_low": low,
        "accuracy_high": high,
        "kappa": (accuracy - chance) / np.maximum(1 - chance, 1e-9),
        "copies_classifier": consensus.copying,
        "is_random": (high - chance) / np.maximum(1 - chance, 1e-9) < _RANDOM,
    }
    return pd.DataFrame(columns).sort_values("accuracy", ascending=False, kind="stable", ignore_index=True)


def disagreement_table(answers: Annotations) -> pd.DataFrame:
    """Return every pair of annotators with nodes in common, most disagreement first.

    Columns: first, second, nodes (that both answered), disagree (share), most_often (the commonest pair of different
    answers) and times.
    """
    sizes = np.bincount(answers.annotators, minlength=len(answers.names))
    compared = np.isin(answers.annotators, np.argsort(-sizes, kind="stable")[:_MOST_COMPARED])
    given, rows = answers.to_frame(np.arange(answers.num_nodes))[compared].astype({"label": str}), []
    pairs = given.merge(given, on="node").query("annotator_x < annotator_y")
    for (one, two), both in pairs.groupby(["annotator_x", "annotator_y"]):
        differ = both[both["label_x"] != both["label_y"]]
        often = (differ["label_x"] + " / " + differ["label_y"]).value_counts()
        most = (often.index[0], int(often.iloc[0])) if len(often) else ("", 0)
        rows.append((one, two, len(both), len(differ) / len(both), *most))
    table = pd.DataFrame(rows, columns=["first", "second", "nodes", "disagree", "most_often", "times"])
    return table.sort_values("disagree", ascending=False, kind="stable", ignore_index=True)
