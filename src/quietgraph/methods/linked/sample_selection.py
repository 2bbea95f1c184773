"""Sample selection by two peers: clean, correctable and uncertain labels, and their costs."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR
from quietgraph.methods.base.neighbour_votes import neighbour_votes
from quietgraph.types import Labels, Mask, Scalar, Scores


@dataclass(frozen=True, eq=False)
class Selection:
    """The kind of every observed label; the third kind, uncertain, is what is left."""

    clean: Mask
    correctable: Mask
    corrected: Labels  # the class the peers agree on, where correctable
    trust: Tensor  # weight of the corrected label [nodes]

    @property
    def uncertain(self) -> Mask:
        """Labels neither clean nor correctable."""
        return ~(self.clean | self.correctable)


def select_labels(
    first: Scores, second: Scores, labels: Labels, *, certain: Mask, progress: float
) -> Selection:
    """Return the kind of every label by what two peers say of it.

    The labels that cost the peers least are clean: all at first, at the end as many as cost less
    than the mean, and half of them at least. Of the rest, those where both peers predict one
    other class are correctable; the confidence they need falls from 1 to 1 / classes.

    Args:
        first: Scores of one peer [nodes, classes].
        second: Scores of the other [nodes, classes].
        labels: Observed labels [nodes].
        certain: Labels that are clean in any case [nodes].
        progress: Fraction of the training that is done, 0 to 1.
    """
    with torch.no_grad():
        costs = label_costs(first, second, labels)
        count = max(int((1 - 0.5 * progress) * len(labels)), int((costs < costs.mean()).sum()))
        clean = torch.zeros_like(labels, dtype=torch.bool)
        clean[costs.argsort()[:count]] = True
        clean |= certain
        here, there = first.softmax(dim=1).max(dim=1), second.softmax(dim=1).max(dim=1)
        confidence = here.values * there.values
        least = 1 - (1 - min(0.5, 1 / first.shape[1])) * progress
        agreed = (here.indices == there.indices) & (here.indices != labels)
        correctable = ~clean & agreed & (confidence > least)
        return Selection(clean, correctable, here.indices, confidence ** (0.5 - 0.5 * progress))


def selection_cost(
    first: Scores, second: Scores, labels: Labels, selected: Selection, *, uncertain_weight: float
) -> Scalar:
    """Return the mean cost: clean labels as observed, correctable corrected, uncertain less."""
    observed = label_costs(first, second, labels)
    corrected = selected.trust * label_costs(first, second, selected.corrected)
    weight = selected.clean.to(observed) + uncertain_weight * selected.uncertain.to(observed)
    return (weight * observed + selected.correctable.to(observed) * corrected).mean()


def label_costs(first: Scores, second: Scores, labels: Labels) -> Tensor:
    """Return the cross entropy of both peers, added [nodes]."""
    costs = F.cross_entropy(first, labels, reduction="none")
    return costs + F.cross_entropy(second, labels, reduction="none")


def peer_divergence(first: Scores, second: Scores) -> Scalar:
    """Return the mean divergence of the peers' probabilities, both ways."""
    here, there = first.log_softmax(dim=1), second.log_softmax(dim=1)
    return ((here.exp() - there.exp()) * (here - there)).sum(dim=1).mean()


def neighbour_divergence(weights: CSR, scores: Scores) -> Scalar:
    """Return the sum over entries (i, j) of w_ij KL(p_j, held constant || p_i).

    Args:
        weights: What neighbour j counts for node i; rows of zeros count nothing [nodes, nodes].
        scores: Scores of one peer [nodes, classes].
    """
    logs = scores.log_softmax(dim=1)
    fixed = logs.detach()
    negative_entropy = (fixed.exp() * fixed).sum(dim=1, keepdim=True)
    # The sum over j comes first: it is linear in p_j and in the entropy of p_j.
    around = neighbour_votes(weights, torch.cat([fixed.exp(), negative_entropy], dim=1))
    return around[:, -1].sum() - (around[:, :-1] * logs).sum()
