"""What neighbours, attributes and similar nodes say of each node, and whether labels were read off attributes."""

import torch
import torch.nn.functional as F
from scipy.stats import binomtest

from quietgraph.annotators.consensus import unit_attributes
from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.classify.smoothing import own_attributes, smooth_attributes
from quietgraph.data.splits import stratified_folds
from quietgraph.graph import CSR, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Probabilities

_MOST_NODES = 200_000  # of a graph whose attributes are looked at
_MOST_LABELS = 20_000  # to learn from, and among which the nearest are searched
_NEAREST, _BLOCK, _FOLDS = 10, 1024, 5
_PENALTY = 0.5
_SIGNIFICANCE = 0.01


def attribute_spaces(graph: Graph, *, seed: int) -> dict[str, Embeddings]:
    """Return unit rows of `own` and `smooth` attributes; none of a very large graph."""
    kinds = {"own": own_attributes, "smooth": smooth_attributes} if graph.num_nodes <= _MOST_NODES else {}
    return {
        name: unit_attributes(graph, make, generator=torch_generator(seed, name, "attributes"))
        for name, make in kinds.items()
    }


def attribute_votes(rows: Embeddings, codes: Labels, classes: int, *, seed: int) -> Probabilities:
    """Return probabilities of labels by a logistic regression on rows [nodes, classes].

    Those of labelled nodes are out of fold.
    """
    fold_of = stratified_folds(codes, _FOLDS, generator=torch_generator(seed, "folds of attributes"))
    found = torch.zeros(len(rows), classes, dtype=torch.float64)
    for fold in (UNKNOWN, *range(_FOLDS)):
        seen = ((codes != UNKNOWN) & (fold_of != fold)).nonzero().squeeze(1)
        if len(seen) > _MOST_LABELS:
            draws = torch_generator(seed, "labels to learn from", fold)
            seen = seen[torch.randperm(len(seen), generator=draws)[:_MOST_LABELS]]
        asked = fold_of == fold
        if asked.any() and len(seen):
            reading = F.one_hot(codes[seen], classes).to(rows.dtype)
            weight, bias = fit_forward_logistic(rows[seen], reading, penalty=_PENALTY)
            found[asked] = (rows[asked] @ weight + bias).double().softmax(dim=1)
    return found


def neighbour_votes(adjacency: CSR, codes: Labels, classes: int) -> Probabilities:
    """Return the share of each class among labelled neighbours by edge weight, NaN without one [nodes, classes]."""
    said = codes[adjacency.columns.long()]
    known = said != UNKNOWN
    votes = torch.zeros(adjacency.shape[0] * classes, dtype=torch.float64)
    votes.index_add_(0, (adjacency.rows * classes + said)[known], adjacency.values.double()[known])
    votes = votes.view(-1, classes)
    return votes / votes.sum(dim=1, keepdim=True)


def nearest_votes(embeddings: Embeddings, codes: Labels, classes: int, *, seed: int) -> Probabilities:
    """Return the share of each class among the ten nearest labelled nodes by cosine [nodes, classes].

    NaN for nodes without a label; no node votes for itself; of very many labelled nodes some are drawn.
    """
    asked = voters = (codes != UNKNOWN).nonzero().squeeze(1)
    if len(voters) > _MOST_LABELS:
        voters = voters[torch.randperm(len(voters), generator=torch_generator(seed, "voters"))[:_MOST_LABELS]]
    count, votes = min(_NEAREST, len(voters) - 1), F.one_hot(codes[voters], classes).double()
    rows, found = F.normalize(embeddings[voters], dim=1), torch.full((len(codes), classes), torch.nan).double()
    for block in asked.split(_BLOCK):
        near = F.normalize(embeddings[block], dim=1) @ rows.T
        near[block[:, None] == voters] = -torch.inf
        found[block] = votes[near.topk(count, dim=1).indices].mean(dim=1)
    return found


def follow_attributes(own: Probabilities, smooth: Probabilities, codes: Labels) -> bool:
    """Return whether own attributes predict the labels better than those of the neighbourhood do.

    Noise that depends on the class alone is as hard to predict for any reader; where the own attributes win, the labels
    follow them, errors included. By a one-sided McNemar test of the labelled nodes.
    """
    known = codes != UNKNOWN
    by_own, by_smooth = (rows[known].argmax(dim=1) == codes[known] for rows in (own, smooth))
    won, lost = int((by_own & ~by_smooth).sum()), int((by_smooth & ~by_own).sum())
    return won + lost > 0 and float(binomtest(won, won + lost, alternative="greater").pvalue) < _SIGNIFICANCE
