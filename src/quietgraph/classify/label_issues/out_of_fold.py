"""Probabilities for labelled nodes from classifiers that did not see their labels."""

from collections.abc import Callable
from typing import TypeAlias

import torch

from quietgraph.data.folds import stratified_folds
from quietgraph.types import UNKNOWN, Labels, Probabilities, Scores

Learner: TypeAlias = Callable[[Labels], Scores]  # labels to learn from -> scores of all nodes
Mender: TypeAlias = Callable[[Probabilities, Labels], Labels]  # out-of-fold, given -> better ones


def out_of_fold(
    labels: Labels,
    learn: Learner,
    num_classes: int,
    *,
    generator: torch.Generator,
    count: int = 5,
    repeats: int = 1,
    mend: Mender | None = None,
) -> Probabilities:
    """Return, for each labelled node, the chances of its classes without its own label.

    Rows of nodes without a label are 0, and so are those of a fold that would leave fewer than two
    labels to learn from.

    Args:
        labels: Given labels as class codes, -1 unknown [nodes].
        learn: Fits a classifier to labels of which some are hidden (-1).
        num_classes: Number of classes.
        generator: Draws the folds.
        count: Number of folds.
        repeats: How often the folds are drawn anew; the answers are averaged.
        mend: Betters the labels that a fold learns from, by out-of-fold probabilities within these
            labels alone, so that a node's own label still has no say (count times the work).
    """
    total = torch.zeros(len(labels), num_classes, dtype=torch.float64)
    for _ in range(repeats):
        folds = stratified_folds(labels, count, generator=generator)
        for fold in range(count):
            inside = folds == fold
            seen = labels.masked_fill(inside, UNKNOWN)
            if not inside.any() or int((seen != UNKNOWN).sum()) < 2:
                continue
            if mend is not None:
                within = out_of_fold(seen, learn, num_classes, generator=generator, count=count)
                seen = mend(within, seen)
            total[inside] += learn(seen).detach().cpu().double().softmax(dim=1)[inside]
    return total / repeats
