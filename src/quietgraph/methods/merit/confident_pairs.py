"""Confident nodes and pairs of Sel-CL: labels that their neighbours confirm.

Everything here is on labelled nodes alone, so m x m is as large as a matrix gets.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.types import Embeddings, Labels, Mask, Scalar

_HIGHEST, _LOWEST = 0.99, 0.01  # fractions of a vote are kept between these


@dataclass(frozen=True, eq=False)
class Confident:
    """Labelled nodes whose labels are trusted, and pairs that belong together."""

    nodes: Mask  # [labelled]
    pairs: Tensor  # [labelled, labelled] bool, symmetric, no node with itself


def confident_pairs(
    unit: Embeddings,
    labels: Labels,
    *,
    certain: Mask,
    neighbours: int,
    confident_quantile: float,
    pair_quantile: float,
) -> Confident:
    """Return the trusted nodes and pairs among labelled nodes.

    A pair is trusted when its observed labels are equal and both nodes are trusted, or they are as
    similar as the `pair_quantile` quantile of such pairs.

    Args:
        unit: Embeddings of unit length [labelled, dim].
        labels: Observed labels [labelled].
        certain: Labels that are trusted in any case [labelled].
        neighbours: Nodes that vote on a label; fewer where classes are small.
        confident_quantile: Quantile over classes of confirmed labels that is every class's quota.
        pair_quantile: See above.
    """
    similarity = unit @ unit.T
    nodes = confident_nodes(similarity, labels, neighbours, confident_quantile) | certain
    equal = labels[:, None] == labels[None, :]
    equal.fill_diagonal_(False)
    inside = equal & nodes[:, None] & nodes[None, :]
    found = similarity[inside]
    if len(found) == 0:
        return Confident(nodes, inside)
    place = max(1, math.ceil(pair_quantile * len(found)))
    return Confident(nodes, inside | (equal & (similarity >= found.kthvalue(place).values)))


def confident_nodes(similarity: Tensor, labels: Labels, neighbours: int, quantile: float) -> Mask:
    """Return, for each class, as many nodes as the quota, those that two votes confirm most.

    The first vote uses the observed labels, the second the outcome of the first; no node votes on
    itself. Ties in the second vote go to the larger fraction in the first.
    """
    codes, labels = torch.unique(labels, return_inverse=True)
    classes = len(codes)
    near = _nearest(similarity, min(neighbours, max(1, len(labels) // classes // 2)))
    first = F.one_hot(labels, classes).float()[near].mean(dim=1)
    second = F.one_hot(first.argmax(dim=1), classes).float()[near].mean(dim=1)
    own = labels[:, None]
    doubt = -second.gather(1, own).clamp(_LOWEST, _HIGHEST).log()
    doubt = (doubt - 1e-3 * first.gather(1, own)).squeeze(1)
    confirmed = torch.bincount(labels[second.argmax(dim=1) == labels], minlength=classes)
    quota = max(1, int(confirmed.double().quantile(quantile)))
    order = doubt.argsort(stable=True)
    order = order[labels[order].argsort(stable=True)]  # by class, least doubt first
    sizes = torch.bincount(labels, minlength=classes)
    starts = torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    rank = torch.arange(len(labels), device=labels.device) - starts
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    chosen[order[rank < quota]] = True
    return chosen


def pair_contrast(
    first: Embeddings, second: Embeddings, pairs: Tensor, *, temperature: float
) -> Scalar:
    """Cost of not recognising a node's other view and its partners in both views.

    Mean over nodes in both views of the mean over positives of -log softmax(cos / temperature)
    over all other rows; a node without a partner keeps its other view.
    """
    rows = F.normalize(torch.cat([first, second]), dim=1)
    itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
    other_view = itself.roll(len(first), dims=1)
    positive = (pairs.repeat(2, 2) | other_view).to(rows)
    logits = (rows @ rows.T / temperature).masked_fill(itself, -torch.inf)
    log_chances = logits.log_softmax(dim=1).masked_fill(itself, 0)
    return -((positive * log_chances).sum(dim=1) / positive.sum(dim=1)).mean()


def _nearest(similarity: Tensor, count: int) -> Tensor:
    others = similarity.clone().fill_diagonal_(-torch.inf)
    nearest: Tensor = others.topk(min(count, len(similarity) - 1), dim=1).indices
    return nearest
