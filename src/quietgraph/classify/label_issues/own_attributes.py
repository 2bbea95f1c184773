"""Whether observed labels look as if they were read off the nodes' own attributes.

People and language models label a node by what it says, so their errors are predictable from its
attributes: a model repeats them, and the estimated noise is too low. Evidence that does not read
the node itself can show it: the attributes and labels of its neighbours.
"""

from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from scipy.sparse import diags_array
from scipy.stats import binomtest
from torch import Tensor

from quietgraph.classify.label_issues.attributes import MOST_COLUMNS, logistic_out_of_fold
from quietgraph.classify.label_issues.pooling import pool_evidence
from quietgraph.classify.smoothing import (
    HOMOPHILOUS_SIMILARITY,
    attributes_of,
    similarity_along_edges,
)
from quietgraph.embed.propagation import multiply
from quietgraph.embed.scale.partitions import WHOLE_UP_TO
from quietgraph.graph import CSR, Graph
from quietgraph.types import UNKNOWN, Labels, Probabilities

_SIGNIFICANCE: Final = 0.1
_PENALTY: Final = 0.5  # as of own attributes


def labels_follow_attributes(
    graph: Graph,
    votes: dict[str, Probabilities],
    labels: Labels,
    num_classes: int,
    *,
    seed: int,
    nodes: Tensor | None = None,
) -> bool:
    """Return whether wrong labels may follow the nodes' own attributes.

    Two signs are needed. Own attributes count more for the observed labels than attributes and
    labels of the neighbours together; and among labels that the neighbours' attributes contradict,
    a classifier of own attributes sides with the label more often than with the neighbours
    (one-sided sign test). Under noise that depends on the class alone it sides with the neighbours.

    Only where neighbours are alike: elsewhere own attributes are the better evidence of true
    labels too. Graphs above 200,000 nodes are not tested.

    Args:
        graph: With attributes.
        votes: Out-of-fold probabilities by `own` attributes and fractions of labels among
            `neighbours` [nodes, classes].
        labels: Observed labels as class codes, -1 unknown [nodes].
        num_classes: Number of classes.
        seed: Of folds and samples.
        nodes: Which nodes of the graph votes and labels are of; all without it.
    """
    if graph.num_nodes > WHOLE_UP_TO or graph.num_edges == 0:
        return False
    own = attributes_of(graph, seed=seed, most_columns=MOST_COLUMNS)[0]
    if similarity_along_edges(graph, own, seed=seed) <= HOMOPHILOUS_SIMILARITY:
        return False
    rows, has_neighbours = (each.cpu() for each in neighbour_attributes(graph, own))
    if nodes is not None:
        rows, has_neighbours = rows[nodes], has_neighbours[nodes]
    known = torch.where(has_neighbours, labels, UNKNOWN)
    if int((known != UNKNOWN).sum()) < 2 * num_classes:
        return False
    labelled = rows[known != UNKNOWN]
    around = logistic_out_of_fold(labelled, known, num_classes, _PENALTY, seed=seed)
    evidence = {"own": votes["own"], "around": around, "neighbours": votes["neighbours"]}
    weights = pool_evidence(evidence, known).weights
    if weights["own"] <= weights["around"] + weights["neighbours"]:
        return False
    return _own_side_with_labels(votes["own"], around, known)


def neighbour_attributes(graph: Graph, own: Tensor) -> tuple[Tensor, Tensor]:
    """Return the mean attributes one and two hops away without the node's own, in unit rows.

    Also which nodes have neighbours at all.

    Args:
        graph: Whose edges count once, whatever their weight.
        own: Attributes [nodes, columns].
    """
    adjacency = graph.adjacency.to_scipy().astype(np.float32).tocsr()
    adjacency.data[:] = 1.0
    adjacency = (adjacency - diags_array(adjacency.diagonal(), dtype=np.float32)).tocsr()
    adjacency.eliminate_zeros()
    neighbours = CSR.from_scipy(adjacency).to(own.device)
    degrees = multiply(neighbours, own.new_ones(len(own), 1))
    inverse = 1 / degrees.clamp_min(1)
    near = inverse * multiply(neighbours, own)
    back = inverse * multiply(neighbours, inverse)  # how much of two hops leads back to the node
    far = inverse * multiply(neighbours, near) - back * own
    return F.normalize(near + far, dim=1), degrees.squeeze(1) > 0


def _own_side_with_labels(own: Probabilities, around: Probabilities, labels: Labels) -> bool:
    known = labels != UNKNOWN
    observed = labels[known]
    by_own, by_neighbours = own[known].argmax(dim=1), around[known].argmax(dim=1)
    differs = by_neighbours != observed
    for_label = int((differs & (by_own == observed)).sum())
    against = int((differs & (by_own == by_neighbours)).sum())
    if for_label == 0:
        return False
    test = binomtest(for_label, for_label + against, alternative="greater")
    return bool(test.pvalue < _SIGNIFICANCE)
