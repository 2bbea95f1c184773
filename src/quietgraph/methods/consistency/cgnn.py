"""CGNN: contrast of views, and labels that neighbours outvote are replaced."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import ViewRates, info_nce
from quietgraph.embed.weighted import entry_products
from quietgraph.graph import CSR, Features
from quietgraph.methods.base.neighbour_votes import known_or_predicted, neighbour_votes
from quietgraph.methods.base.supervised import drop_features
from quietgraph.methods.base.task import Task
from quietgraph.methods.consistency.contrasted_gcn import (
    ContrastedBackbone,
    ContrastedGCN,
    ViewPairs,
)
from quietgraph.methods.gcn.backbone import LONG_ROWS
from quietgraph.params import Presets, Settings, param
from quietgraph.types import UNKNOWN, Labels, Scores


@final
@dataclass(kw_only=True, eq=False)
class CGNN(ContrastedBackbone):
    """Contrastive training and labels cleaned by the neighbours' vote (Yuan et al., 2023).

    Our reading of the abstract: contrast of a projection, and cleaning that starts from the
    observed labels each epoch, so that mistakes do not pile up.
    """

    citation: ClassVar[str] = "Yuan et al.: Learning on graphs under label noise. ICASSP 2023."
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16}
    cora_seconds: ClassVar[float] = 8
    presets: ClassVar[Presets] = {
        "amazon-computers": {"learning_rate": 5e-3, "weight_decay": 5e-3},
        **dict.fromkeys(("blogcatalog", "flickr"), LONG_ROWS),
    }
    convolve: ClassVar[bool] = True

    edge_drop: float = param(0.5, "fraction of edges dropped in a view", low=0, high=1)
    feature_drop: float = param(
        0.5, "fraction of feature entries dropped in a view", low=0, high=0.99
    )
    contrast_weight: float = param(1.0, "weight of the contrast", low=0)
    clean_from: int = param(100, "first epoch with cleaned labels", low=0)
    agreement: float = param(
        0.8, "least similarity of a neighbour, and fraction of such neighbours", low=0, high=1
    )

    def _rates(self) -> ViewRates:
        return ViewRates(self.edge_drop)

    def _losses(
        self, task: Task, features: Features, module: ContrastedGCN, views: ViewPairs
    ) -> Callable[[int], dict[str, Tensor]]:
        near = task.graph.adjacency.take_rows(task.train.nonzero().squeeze(1))

        def losses(epoch: int) -> dict[str, Tensor]:
            targets = task.labels[task.train]
            if epoch >= self.clean_from:
                now = _look(module, views.whole, features)
                cleaned = cleaned_labels(task.train_labels, now, near, above=self.agreement)
                targets = torch.where(task.is_verified(task.train), targets, cleaned)
            pair = views.draw()
            hidden = [
                module.hidden(
                    view.operator, drop_features(features, self.feature_drop, training=True)
                )
                for view in pair
            ]
            scores = module.classify(pair[0].operator, hidden[0])[task.train]
            labels = F.cross_entropy(scores, targets)
            anchors = views.anchors()
            contrast = info_nce(
                *(module.projection(one[anchors]) for one in hidden), temperature=self.temperature
            )
            loss = labels + self.contrast_weight * contrast
            return {"loss": loss, "labels": labels, "contrast": contrast}

        return losses


def cleaned_labels(train_labels: Labels, scores: Scores, near: CSR, *, above: float) -> Labels:
    """Return the training labels, replaced where like-minded neighbours vote for another class.

    Neighbours vote with their label where they have one, else with their predicted class. The
    vote counts where more than a fraction `above` of the neighbours have predictions whose cosine
    with the node's own is larger than `above`.

    Args:
        train_labels: Class codes, -1 outside training [nodes].
        scores: What the model says now [nodes, classes].
        near: Row k holds the neighbours of the k-th training node.
        above: Threshold of similarity, and of the fraction of like neighbours.
    """
    nodes = (train_labels != UNKNOWN).nonzero().squeeze(1)
    observed = train_labels[nodes]
    votes = neighbour_votes(near, known_or_predicted(train_labels, scores))
    winner = votes.argmax(dim=1)
    outvoted = votes.max(dim=1).values > votes.gather(1, observed[:, None]).squeeze(1)
    probabilities = F.normalize(scores.softmax(dim=1), dim=1)
    cosine = entry_products(near, probabilities[nodes], probabilities)
    alike = torch.zeros_like(votes[:, 0]).index_add_(0, near.rows, (cosine > above).to(votes))
    return torch.where(outvoted & (alike > above * near.row_counts), winner, observed)


def _look(module: ContrastedGCN, operator: CSR, features: Features) -> Scores:
    """Return the scores as they are now, without dropout or gradient."""
    module.eval()
    with torch.no_grad():
        scores = module.classify(operator, module.hidden(operator, features))
    module.train()
    return scores
