"""CGNN: contrast of views, and labels that neighbours outvote are replaced."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import drop_entries, scaled
from quietgraph.embed.sparse import entry_products, multiply
from quietgraph.embed.train import Losses
from quietgraph.embed.views import ViewRates
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Observed
from quietgraph.methods.consistency.network import ContrastedClassifier, ContrastedGCN, draw_nodes, draw_views
from quietgraph.methods.supervised import known_or_predicted, look
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Labels, Scores


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CGNN(ContrastedClassifier):
    """Contrast of views, and labels cleaned by the neighbours' vote (Yuan et al., ICASSP 2023).

    Cross-entropy of one view on the cleaned labels plus lambda times InfoNCE between the projections of both views.
    Our reading of the abstract: the projection is contrasted, 500 nodes an epoch instead of all, and cleaning starts
    from the observed labels each epoch, so that mistakes do not pile up.
    """

    convolves = True
    edge_drop: float = param(0.5, "fraction of edges dropped in a view", low=0, high=1)
    feature_drop: float = param(0.5, "fraction of feature entries dropped in a view", low=0, high=0.99)
    contrast_weight: float = param(1.0, "weight of the contrast (lambda)", low=0)
    clean_from: int = param(100, "first epoch with cleaned labels", low=0)
    agreement: float = param(0.8, "least similarity of neighbours, and fraction of such ones (omega)", low=0, high=1)

    def _losses(self, network: ContrastedGCN, graph: Graph, observed: Observed) -> Losses:
        features, draws = scaled(graph, self.feature_norm), torch_generator(self.seed, "views")
        near = graph.adjacency.take_rows(observed.train.nonzero().squeeze(1))

        def losses(epoch: int) -> dict[str, Tensor]:
            targets = observed.codes[observed.train]
            if epoch >= self.clean_from:
                targets = cleaned_labels(observed, look(network, graph)[0], near, above=self.agreement)
            pair = draw_views(graph, ViewRates(self.edge_drop), draws)
            hidden = [network.hidden(view, drop_entries(features, self.feature_drop, training=True)) for view in pair]
            labels = F.cross_entropy(network.classify(pair[0].operator, hidden[0])[observed.train], targets)
            nodes = draw_nodes(graph, self.anchors, draws)
            projected = [network.projection(one[nodes]) for one in hidden]
            contrast = info_nce(*projected, temperature=self.temperature, intra_view=True)
            return {"loss": labels + self.contrast_weight * contrast, "labels": labels, "contrast": contrast}

        return losses


def cleaned_labels(observed: Observed, scores: Scores, near: CSR, *, above: float) -> Labels:
    """Return the training labels, replaced where like-minded neighbours vote for another class [training nodes].

    Neighbours vote with their training label where they have one, else with their predicted class. The vote counts
    where more than a fraction `above` of the neighbours have predictions whose cosine with the node's own is larger
    than `above`. A verified label stays. Row k of `near` holds the neighbours of the k-th training node.
    """
    labels = observed.codes[observed.train]
    votes = multiply(near, known_or_predicted(observed, scores))
    outvoted = votes.amax(dim=1) > votes.gather(1, labels[:, None]).squeeze(1)
    probabilities = F.normalize(scores.softmax(dim=1), dim=1)
    cosines = entry_products(near, probabilities[observed.train], probabilities)
    alike = torch.zeros_like(votes[:, 0]).index_add_(0, near.rows, (cosines > above).to(votes))
    replaced = outvoted & (alike > above * near.row_counts) & ~observed.certain
    return torch.where(replaced, votes.argmax(dim=1), labels)
