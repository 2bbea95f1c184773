"""Probabilities for labelled nodes from classifiers that did not see their labels."""

from collections.abc import Callable
from typing import Final, TypeAlias

import torch

from quietgraph.data.folds import stratified_folds
from quietgraph.types import UNKNOWN, Labels, Probabilities, Scores

FOLDS: Final = 5
Learner: TypeAlias = Callable[[Labels], Scores]  # labels to learn from -> scores of all nodes


def out_of_fold(
    labels: Labels,
    learn: Learner,
    num_classes: int,
    *,
    generator: torch.Generator,
    count: int = FOLDS,
) -> Probabilities:
    """Return, for each labelled node, class probabilities without its own label.

    Rows of nodes without a label are 0, and so are those of a fold that would leave fewer than two
    labels to learn from.

    Args:
        labels: Observed labels as class codes, -1 unknown [nodes].
        learn: Fits a classifier to labels of which some are hidden (-1).
        num_classes: Number of classes.
        generator: Draws the folds.
        count: Number of folds.
    """
    found = torch.zeros(len(labels), num_classes, dtype=torch.float64)
    folds = stratified_folds(labels, count, generator=generator)
    for fold in range(count):
        inside = folds == fold
        seen = labels.masked_fill(inside, UNKNOWN)
        if inside.any() and int((seen != UNKNOWN).sum()) >= 2:
            found[inside] = learn(seen).detach().cpu().double().softmax(dim=1)[inside]
    return found
