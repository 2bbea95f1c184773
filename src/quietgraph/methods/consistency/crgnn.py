"""CRGNN: labels count where two views agree, and two spaces give the same similarity."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import View, ViewRates, info_nce
from quietgraph.embed.weighted import entry_products
from quietgraph.graph import CSR, Features
from quietgraph.methods.base.task import Task
from quietgraph.methods.consistency.contrasted_gcn import (
    ContrastedBackbone,
    ContrastedGCN,
    ViewPairs,
)
from quietgraph.methods.gcn.backbone import LONG_ROWS
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Mask, Scalar, Scores


@final
@dataclass(kw_only=True, eq=False)
class CRGNN(ContrastedBackbone):
    """Contrast of views and neighbours, dynamic cross-entropy, consistency (Li et al., 2024).

    Our reading of the abstract and of partial re-implementations: the neighbour contrast and
    the pairwise form of the consistency are our design.
    """

    citation: ClassVar[str] = (
        "Li et al.: Contrastive learning of graphs under label noise. Neural Networks 172, 2024."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16}
    cora_seconds: ClassVar[float] = 12
    presets: ClassVar[Presets] = {
        "amazon-computers": {"learning_rate": 5e-3, "weight_decay": 5e-3},
        **dict.fromkeys(("blogcatalog", "flickr"), LONG_ROWS),
    }
    convolve: ClassVar[bool] = False

    edge_drop: float = param(0.3, "fraction of edges dropped in a view", low=0, high=1)
    feature_mask: float = param(0.3, "fraction of feature columns masked in a view", low=0, high=1)
    contrast_weight: float = param(0.2, "weight of both contrasts (alpha)", low=0)
    consistency_weight: float = param(0.2, "weight of the consistency (beta)", low=0)
    confidence: float = param(0.8, "least similarity of predictions that counts", low=0, high=1)

    def _rates(self) -> ViewRates:
        return ViewRates(self.edge_drop, self.feature_mask)

    def _losses(
        self, task: Task, features: Features, module: ContrastedGCN, views: ViewPairs
    ) -> Callable[[int], dict[str, Tensor]]:
        draws = torch_generator(task.seed, "pairs")
        targets, certain = task.labels[task.train], task.is_verified(task.train)

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            hidden = [module.hidden(view.operator, masked(features, view)) for view in views.draw()]
            scores = [module.classify(views.whole, one) for one in hidden]
            spaces = [F.normalize(module.projection(one), dim=1) for one in hidden]
            anchors = views.anchors()
            near = task.graph.adjacency.take_rows(anchors)
            contrast = info_nce(
                spaces[0][anchors], spaces[1][anchors], temperature=self.temperature
            )
            closer = neighbour_gain(spaces, anchors, near, temperature=self.temperature)
            first, second = (one[task.train] for one in scores)
            labels = agreed_cross_entropy(first, second, targets, certain=certain)
            pairs = _pairs(anchors, near, draws)
            apart = space_consistency(spaces, scores, pairs, confidence=self.confidence)
            # The contrast with neighbours as positives has the denominators of the plain one.
            both = 2 * contrast - closer
            loss = labels + self.contrast_weight * both + self.consistency_weight * apart
            return {"loss": loss, "labels": labels, "contrast": both, "consistency": apart}

        return losses


def masked(features: Features, view: View) -> Features:
    """Return the features with the columns that the view leaves."""
    if view.feature_mask is None:
        return features
    if isinstance(features, CSR):
        return features.with_values(features.values * view.feature_mask[features.columns])
    return features * view.feature_mask


def neighbour_gain(
    spaces: list[Embeddings], anchors: Tensor, near: CSR, *, temperature: float
) -> Scalar:
    """Return by how much the contrast falls when neighbours are positives too.

    With s(a, b) = exp(a . b / temperature), the mean over anchors i and both directions of
    log [s(u_i, v_i) + sum_{j in N(i)} (s(u_i, u_j) + s(u_i, v_j))] / (2 |N(i)| + 1)
    less log s(u_i, v_i).

    Args:
        spaces: Unit rows of the two views [nodes, dim].
        anchors: Nodes i.
        near: Row k holds the neighbours of anchors[k].
        temperature: Smaller is sharper; above 0.
    """
    gains = []
    for here, there in (spaces, spaces[::-1]):
        own = here[anchors]
        others = [entry_products(near, own, side) for side in (here, there)]
        # All cosines less 1, so that no power overflows.
        positive = ((own * there[anchors]).sum(dim=1) - 1) / temperature
        similarity = sum(((cosine - 1) / temperature).exp() for cosine in others)
        total = positive.exp().index_add(0, near.rows, torch.as_tensor(similarity))
        count = 2 * near.row_counts + 1
        gains.append((total / count).clamp_min(1e-30).log() - positive)
    return torch.stack(gains).mean()


def agreed_cross_entropy(
    first: Scores, second: Scores, targets: Labels, *, certain: Mask
) -> Scalar:
    """Return the mean cross-entropy of both views over nodes on whose class they agree, or 0.

    Nodes whose label is certain [nodes] count in any case.
    """
    agreed = ((first.argmax(dim=1) == second.argmax(dim=1)) | certain).float()
    costs = [F.cross_entropy(one, targets, reduction="none") for one in (first, second)]
    return (agreed * (costs[0] + costs[1]) / 2).sum() / agreed.sum().clamp_min(1)


def space_consistency(
    spaces: list[Embeddings], scores: list[Scores], pairs: Tensor, *, confidence: float
) -> Scalar:
    """Cost of node pairs that are alike in the contrasted space but not in their predictions.

    Mean over pairs (i, j) of the squared difference between (1 + cos(u_i, v_j)) / 2 and the
    probability that i and j have one class, which counts 0 below `confidence`.
    """
    left, right = pairs
    alike = (1 + (spaces[0][left] * spaces[1][right]).sum(dim=1)) / 2
    probabilities = [one.softmax(dim=1) for one in scores]
    same = (probabilities[0][left] * probabilities[1][right]).sum(dim=1)
    return (alike - torch.where(same < confidence, 0, same)).square().mean()


def _pairs(anchors: Tensor, near: CSR, draws: torch.Generator) -> Tensor:
    """Return the anchors' edges and as many random pairs as there are anchors [2, pairs]."""
    partners = torch.randint(near.shape[1], (len(anchors),), generator=draws).to(anchors.device)
    left = torch.cat([anchors[near.rows], anchors])
    return torch.stack([left, torch.cat([near.columns.long(), partners])])
