"""Sel-CL on MERIT: labels that their neighbours confirm choose the pairs to draw together.

Everything between labelled nodes is on those of a step alone, so m x m is as large as a matrix gets.
"""

import math
from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.methods.merit.labelled import LabelledSiamese, LabelledTrainer
from quietgraph.params import param
from quietgraph.types import Embeddings, Labels, Mask, Scalar

_HIGHEST, _LOWEST = 0.99, 0.01  # fractions of a vote are kept between these


class _Trainer(LabelledTrainer):
    method: "SelCL"
    nodes: Tensor  # of the latest selection, as the next
    confident: Mask
    pairs: Tensor

    def losses(self, epoch: int) -> dict[str, Tensor]:
        method = self.method
        if epoch % method.refresh == 0:
            self.nodes = self.draw_labelled()
            self.confident, self.pairs = self._select(self.nodes)
        passed = self.siamese.forward(self.siamese.draw_nodes(self.nodes))
        count, labels = len(self.nodes), self.observed.codes[self.nodes]
        first, second = (each[:count] for each in passed.predictions)
        scores = [self.head(each[:count]) for each in passed.embeddings]
        costs = [F.cross_entropy(each[self.confident], labels[self.confident]) for each in scores]
        values = {
            "views": passed.loss(self.siamese.how.cross_view),
            "pairs": method.pair_weight * pair_contrast(first, second, self.pairs, temperature=method.pair_temperature),
            "labels": method.label_weight * (costs[0] + costs[1]) / 2,
            "similarity": method.similarity_weight
            * similarity_cost(scores[0].softmax(dim=1), scores[1].softmax(dim=1), self.pairs),
        }
        return {"loss": torch.stack([*values.values()]).sum(), **values}

    def trusted(self) -> Mask:
        trusted = torch.zeros_like(self.observed.train)
        for nodes in self.labelled.split(1024):
            trusted[nodes[self._select(nodes)[0]]] = True
        return trusted

    @torch.no_grad()
    def _select(self, nodes: Tensor) -> tuple[Mask, Tensor]:
        """Return which of some training nodes are confident [nodes], and the pairs [nodes, nodes]."""
        unit, labels, method = F.normalize(self.siamese.embed(nodes), dim=1), self.observed.codes[nodes], self.method
        similarity = unit @ unit.T
        confident = confident_nodes(similarity, labels, method.neighbours, method.confident_quantile)
        confident |= self.certain[nodes]
        return confident, confident_pairs(similarity, labels, confident, method.pair_quantile)


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SelCL(LabelledSiamese):
    """Selective supervised contrast on MERIT's networks (Sel-CL, Li et al., CVPR 2022).

    The method is one for images; its port to graphs is our reading: MERIT's 300 epochs without labels, then MERIT's
    loss with the confident pairs of Sel-CL among the labelled nodes. There is no queue and no mixup.
    """

    _trainer = _Trainer
    neighbours: int = param(10, "labelled neighbours that vote on a label (k)", low=1)
    confident_quantile: float = param(0.5, "quota: quantile of the classes' confirmed labels (alpha)", low=0, high=1)
    pair_quantile: float = param(0.25, "quantile of confident similarities that admits a pair (beta)", low=0, high=1)
    pair_temperature: float = param(0.5, "temperature of the contrast of pairs", low=1e-3)
    pair_weight: float = param(1.0, "weight of the contrast of pairs", low=0)
    label_weight: float = param(1.0, "weight of confident labels (lambda_c)", low=0)
    similarity_weight: float = param(0.01, "weight of the pairs' classes (lambda_s)", low=0)
    refresh: int = param(5, "epochs between two selections", low=1)


def confident_nodes(similarity: Tensor, labels: Labels, neighbours: int, quantile: float) -> Mask:
    """Return, for each class, as many nodes as the quota, those that two votes confirm most [labelled].

    The first vote uses the observed labels, the second the outcome of the first; no node votes on itself. The quota is
    a quantile over classes of the labels that the second vote confirms. Ties in it go to the larger first share; where
    classes are small, fewer neighbours vote. Similarity is [labelled, labelled], labels are [labelled].
    """
    codes, labels = torch.unique(labels, return_inverse=True)
    count, classes = len(labels), len(codes)
    voters = min(neighbours, max(1, count // classes // 2), count - 1)
    near = similarity.clone().fill_diagonal_(-torch.inf).topk(voters, dim=1).indices
    first = F.one_hot(labels, classes).float()[near].mean(dim=1)
    second = F.one_hot(first.argmax(dim=1), classes).float()[near].mean(dim=1)
    doubts = -second.clamp(_LOWEST, _HIGHEST).log() - 1e-3 * first
    confirmed = torch.bincount(labels[second.argmax(dim=1) == labels], minlength=classes)
    quota = max(1, int(confirmed.double().quantile(quantile)))
    chosen = torch.zeros_like(labels, dtype=torch.bool)
    for code in range(classes):
        own = (labels == code).nonzero().squeeze(1)
        chosen[own[doubts[own, code].argsort(stable=True)[:quota]]] = True
    return chosen


def confident_pairs(similarity: Tensor, labels: Labels, confident: Mask, quantile: float) -> Tensor:
    """Return the pairs that belong together [labelled, labelled] bool, symmetric, no node with itself.

    Their observed labels are equal, and both nodes are confident, or they are as similar as a quantile of such pairs.
    """
    equal = labels[:, None] == labels[None, :]
    equal.fill_diagonal_(False)
    inside = equal & confident[:, None] & confident[None, :]
    found = similarity[inside]
    if len(found) == 0:
        return inside
    place = max(1, math.ceil(quantile * len(found)))
    return inside | (equal & (similarity >= found.kthvalue(place).values))


def pair_contrast(first: Embeddings, second: Embeddings, pairs: Tensor, *, temperature: float) -> Scalar:
    """Return the cost of not recognising a node's other view and its partners in both views.

    Mean over nodes in both views of the mean over positives of -log softmax(cos / temperature) over all other rows; a
    node without a partner keeps its other view.
    """
    rows = F.normalize(torch.cat([first, second]), dim=1)
    itself = torch.eye(len(rows), dtype=torch.bool, device=rows.device)
    positive = (pairs.repeat(2, 2) | itself.roll(len(first), dims=1)).to(rows)
    logits = (rows @ rows.T / temperature).masked_fill(itself, -torch.inf)
    log_chances = logits.log_softmax(dim=1).masked_fill(itself, 0)
    return -((positive * log_chances).sum(dim=1) / positive.sum(dim=1)).mean()


def similarity_cost(first: Tensor, second: Tensor, pairs: Tensor) -> Scalar:
    """Return the cost of pairs that are selected but not of one class, or the reverse, across views.

    Mean over i != j of -s log(p_i . q_j) - (1 - s) log(1 - p_i . q_j), s = selected or not, p and q the probabilities
    of the views [labelled, classes].
    """
    alike = (first @ second.T).clamp(1e-6, 1 - 1e-6)
    others = ~torch.eye(len(alike), dtype=torch.bool, device=alike.device)
    return F.binary_cross_entropy(alike[others], pairs[others].to(alike))
