"""A second opinion on labels: a plain classifier on smoothed attributes, for nodes it did not see.

It shares nothing with the method that was fitted but the graph, so that its errors are others.
"""

from typing import Final

import torch
import torch.nn.functional as F

from quietgraph.classify.label_issues.out_of_fold import out_of_fold
from quietgraph.classify.logistic import logistic_path
from quietgraph.classify.smoothing import attributes_of, leading_directions
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels, Probabilities, Scores

_STRENGTH: Final = 2.0  # of the penalty
_DIRECTIONS: Final = 256  # of the smoothed attributes that are kept
_MOST_LABELS: Final = 20_000  # to learn from, a sample where there are more


def attribute_opinion(
    graph: Graph, labels: Labels, num_classes: int, *, seed: int
) -> Probabilities:
    """Return, for each labelled node, the chances of its classes without its own label.

    Rows of nodes without a label are 0.

    Args:
        graph: With attributes.
        labels: Given labels as class codes, -1 unknown [nodes].
        num_classes: Number of classes.
        seed: For folds, samples and projections.
    """
    smoothed = attributes_of(graph, seed=seed, most_columns=_DIRECTIONS)[1]
    rows = smoothed - smoothed.mean(dim=0)
    draws = torch_generator(seed, "attribute directions")
    rows = F.normalize(rows @ leading_directions(rows, _DIRECTIONS, generator=draws), dim=1)
    sample = torch_generator(seed, "labels to learn from")

    def learn(seen: Labels) -> Scores:
        known = (seen != UNKNOWN).nonzero().squeeze(1)
        if len(known) > _MOST_LABELS:
            known = known[torch.randperm(len(known), generator=sample)[:_MOST_LABELS]]
        path = logistic_path(rows[known], seen[known], num_classes, (_STRENGTH,))
        weight, bias = path[_STRENGTH]
        return rows @ weight + bias

    return out_of_fold(labels, learn, num_classes, generator=torch_generator(seed, "folds"))
