"""CRGNN: labels count where two views agree, and two spaces give the same similarity."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import entry_products
from quietgraph.embed.train import Losses
from quietgraph.embed.views import ViewRates
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Observed
from quietgraph.methods.consistency.network import ContrastedClassifier, ContrastedGCN, draw_nodes, draw_views
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Mask, Scalar, Scores


@final
@dataclass(kw_only=True, eq=False, repr=False)
class CRGNN(ContrastedClassifier):
    """Contrast of views and neighbours, dynamic cross-entropy, consistency (Li et al., Neural Networks 172, 2024).

    alpha (InfoNCE of two views + the same with neighbours as positives too) + `agreed_cross_entropy` of both views
    + beta `space_consistency`. Our reading of the abstract: the form of the neighbour contrast, pairs of nodes for the
    consistency, a linear head on the last convolution, and 500 nodes contrasted an epoch instead of all.
    """

    edge_drop: float = param(0.3, "fraction of edges dropped in a view", low=0, high=1)
    feature_mask: float = param(0.3, "fraction of feature columns masked in a view", low=0, high=1)
    contrast_weight: float = param(0.2, "weight of both contrasts (alpha)", low=0)
    consistency_weight: float = param(0.2, "weight of the consistency (beta)", low=0)
    confidence: float = param(0.8, "least similarity of predictions that counts", low=0, high=1)

    def _losses(self, network: ContrastedGCN, graph: Graph, observed: Observed) -> Losses:
        rates, features = ViewRates(self.edge_drop, self.feature_mask), scaled(graph, self.feature_norm)
        draws, pair_draws = torch_generator(self.seed, "views"), torch_generator(self.seed, "pairs")
        taught, targets = observed.train, observed.codes[observed.train]

        def losses(_: int) -> dict[str, Tensor]:
            hidden = [network.hidden(view, features) for view in draw_views(graph, rates, draws)]
            scores = [network.classify(normalised_adjacency(graph), one) for one in hidden]
            spaces = [F.normalize(network.projection(one), dim=1) for one in hidden]
            nodes = draw_nodes(graph, self.anchors, draws)
            near = graph.adjacency.take_rows(nodes)
            plain = info_nce(*(one[nodes] for one in spaces), temperature=self.temperature, intra_view=True)
            # The contrast with neighbours as positives has the denominators of the plain one.
            contrast = 2 * plain - neighbour_gain(spaces, nodes, near, temperature=self.temperature)
            labels = agreed_cross_entropy(scores[0][taught], scores[1][taught], targets, certain=observed.certain)
            strangers = torch.randint(graph.num_nodes, (len(nodes),), generator=pair_draws).to(graph.device)
            left, right = torch.cat([nodes[near.rows], nodes]), torch.cat([near.columns.long(), strangers])
            consistency = space_consistency(spaces, scores, left, right, confidence=self.confidence)
            loss = labels + self.contrast_weight * contrast + self.consistency_weight * consistency
            return {"loss": loss, "labels": labels, "contrast": contrast, "consistency": consistency}

        return losses


def neighbour_gain(spaces: list[Embeddings], nodes: Tensor, near: CSR, *, temperature: float) -> Scalar:
    """Return by how much the contrast falls when neighbours are positives too.

    With s(a, b) = exp(a . b / temperature), the mean over nodes i and both directions of
    log [s(u_i, v_i) + sum_{j in N(i)} (s(u_i, u_j) + s(u_i, v_j))] / (2 |N(i)| + 1) - log s(u_i, v_i).
    Spaces are unit rows of the two views [nodes of the graph, dim]; row k of `near` holds the neighbours of nodes[k].
    """
    gains = []
    for here, there in (spaces, spaces[::-1]):
        own = here[nodes]
        # All cosines less 1, so that no power overflows.
        positive = ((own * there[nodes]).sum(dim=1) - 1) / temperature
        inside, across = (((entry_products(near, own, side) - 1) / temperature).exp() for side in (here, there))
        total = positive.exp().index_add(0, near.rows, inside + across)
        gains.append((total / (2 * near.row_counts + 1)).clamp_min(1e-30).log() - positive)
    return torch.stack(gains).mean()


def agreed_cross_entropy(first: Scores, second: Scores, targets: Labels, *, certain: Mask) -> Scalar:
    """Return the mean cross-entropy of both views over nodes on whose class they agree, or 0.

    Nodes whose label is certain [nodes] count in any case.
    """
    agreed = ((first.argmax(dim=1) == second.argmax(dim=1)) | certain).float()
    costs = [F.cross_entropy(one, targets, reduction="none") for one in (first, second)]
    return (agreed * (costs[0] + costs[1]) / 2).sum() / agreed.sum().clamp_min(1)


def space_consistency(
    spaces: list[Embeddings], scores: list[Scores], left: Tensor, right: Tensor, *, confidence: float
) -> Scalar:
    """Return the cost of node pairs that are alike in the contrasted space but not in their predictions.

    Mean over pairs (i, j) of the squared difference between (1 + cos(u_i, v_j)) / 2 and the probability that i and j
    have one class, which counts 0 below `confidence`.
    """
    alike = (1 + (spaces[0][left] * spaces[1][right]).sum(dim=1)) / 2
    same = (scores[0].softmax(dim=1)[left] * scores[1].softmax(dim=1)[right]).sum(dim=1)
    return (alike - torch.where(same < confidence, 0, same)).square().mean()
