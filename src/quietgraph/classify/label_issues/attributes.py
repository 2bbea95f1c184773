"""Auxiliary classifiers on attributes, for labelled nodes they did not see.

They share nothing with the fitted method but the graph, so that their errors are others. One reads
attributes averaged over neighbourhoods, one the node's own attributes, which tell more where
neighbours differ.
"""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.label_issues.out_of_fold import out_of_fold
from quietgraph.classify.logistic import logistic_path, narrow_rows
from quietgraph.classify.smoothing import attribute_directions, attributes_of
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels, Probabilities, Scores

_PENALTIES: Final = {"attributes": 2.0, "own": 0.5}
_TOLERANCE: Final = 1e-4  # of the gradient: probabilities to two digits
MOST_COLUMNS: Final = 256  # of the smoothed attributes that are kept
_MOST_LABELS: Final = 20_000  # to learn from, a sample where there are more


def attribute_probabilities(
    graph: Graph, labels: Labels, num_classes: int, *, seed: int, nodes: Tensor | None = None
) -> dict[str, Probabilities]:
    """Return out-of-fold probabilities by smoothed `attributes` and by the `own` ones.

    Rows of nodes without a label are 0.

    Args:
        graph: With attributes.
        labels: Observed labels as class codes, -1 unknown [nodes].
        num_classes: Number of classes.
        seed: For folds, samples and projections.
        nodes: Which nodes of the graph the labels are of; all without it.
    """
    own, smooth = attributes_of(graph, seed=seed, most_columns=MOST_COLUMNS)
    mean, directions = attribute_directions(graph, smooth, MOST_COLUMNS, seed=seed)
    known = (labels != UNKNOWN).nonzero().squeeze(1).to(own.device)
    labelled = known if nodes is None else nodes[known]
    smooth = F.normalize((smooth[labelled] - mean) @ directions, dim=1)
    return {
        name: logistic_out_of_fold(rows, labels, num_classes, _PENALTIES[name], seed=seed)
        for name, rows in {"attributes": smooth, "own": own[labelled]}.items()
    }


def logistic_out_of_fold(
    rows: Tensor, labels: Labels, num_classes: int, penalty: float, *, seed: int
) -> Probabilities:
    """Return out-of-fold probabilities of a logistic regression [nodes, classes].

    They are 0 without a label.

    Args:
        rows: Features of the nodes with a label, in their order [labelled nodes, columns].
        labels: Observed labels as class codes, -1 unknown [nodes].
        num_classes: Number of classes.
        penalty: L2 penalty.
        seed: For folds and samples.
    """
    sample = torch_generator(seed, "labels to learn from")
    # Narrow rows are shared by all folds.
    points = torch.from_numpy(narrow_rows(rows.double().cpu().numpy()))

    def learn(seen: Labels) -> Scores:
        known = (seen != UNKNOWN).nonzero().squeeze(1)
        if len(known) > _MOST_LABELS:
            known = known[torch.randperm(len(known), generator=sample)[:_MOST_LABELS]]
        given = (points[known], seen[known], num_classes, (penalty,))
        weight, bias = logistic_path(*given, tolerance=_TOLERANCE)[penalty]
        return points @ weight + bias

    known = labels != UNKNOWN
    draws = torch_generator(seed, "folds")
    found = torch.zeros(len(labels), num_classes, dtype=torch.float64)
    found[known] = out_of_fold(labels[known], learn, num_classes, generator=draws)
    return found
