"""SUGRL: margins between nodes, their neighbourhoods and negatives, without augmentation."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.encoder import glorot
from quietgraph.embed.operator import drop_entries, normalised_adjacency, scaled, walk_matrix
from quietgraph.embed.sparse import multiply, project
from quietgraph.embed.train import Schedule, train
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_on_embeddings, probe_param
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_POSITIVE_DROPOUT = 0.2  # on the rows that make up a structural positive
_NEIGHBOURS = 5  # sampled for a neighbour positive
_TINY = 1e-12  # under a square root, which has no slope at 0


class DenseEncoder(nn.Module):
    """The unit rows of A h, h = W1 relu(W0 X + b0) + b1 or one such layer; h is blind to the edges."""

    def __init__(self, widths: Sequence[int], how: "SUGRL") -> None:
        super().__init__()
        draws = torch_generator(how.seed, "encoder")
        self.weights = nn.ParameterList(glorot(*sizes, generator=draws) for sizes in pairwise(widths))
        self.biases = nn.ParameterList(torch.zeros(width) for width in widths[1:])
        self.kind, self.norm, self.smooth = how.propagation, how.feature_norm, how.smooth_features

    def forward(self, graph: Graph) -> Embeddings:
        """Return the embeddings of every node [nodes, dim]."""
        return F.normalize(multiply(self.operator(graph), self.rows(self.features(graph))), dim=1)

    def operator(self, graph: Graph) -> CSR:
        """Return the operator that averages over a node and its neighbours."""
        return normalised_adjacency(graph) if self.kind == "symmetric" else walk_matrix(graph)

    def features(self, graph: Graph) -> Features:
        """Return what the first layer reads [nodes, features]."""
        features = scaled(graph, self.norm)
        if not self.smooth:
            return features
        return multiply(self.operator(graph), features.to_dense() if isinstance(features, CSR) else features)

    def rows(self, features: Features) -> Tensor:
        """Return h [nodes, dim]."""
        values = project(features, self.weights[0]) + self.biases[0]
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            values = values.relu() @ weight + bias
        return values


def margin_losses(
    anchors: Tensor, structural: Tensor, neighbours: Tensor, negatives: list[Tensor], *, margin: float, slack: float
) -> dict[str, Tensor]:
    """Return three costs: negatives nearer than margin + the two positives, or too far away.

    With distances d+ to the structural and dn to the neighbour positive and d- to a negative: "structure" sums
    max(0, d+ - d- + margin) over negatives, "neighbours" the same with dn, and "bound" averages
    max(0, d- - d+ - margin - slack) over negatives with d+ held constant; each is a mean over nodes. Anchors, their
    propagated versions and the means of sampled neighbours are [nodes, dim], negatives permutations of the nodes.
    """
    near, beside = _distance(anchors, structural), _distance(anchors, neighbours)
    far = torch.stack([_distance(anchors, anchors.index_select(0, order)) for order in negatives])
    return {
        "structure": (near - far + margin).relu().mean(dim=1).sum(),
        "neighbours": (beside - far + margin).relu().mean(dim=1).sum(),
        "bound": (far - near.detach() - margin - slack).relu().mean(),
    }


def sample_neighbours(adjacency: CSR, count: int, *, generator: torch.Generator) -> CSR:
    """Return the operator that averages `count` random neighbours, drawn with replacement."""
    num_nodes, device = adjacency.shape[0], adjacency.values.device
    draws = torch.rand(num_nodes, count, generator=generator).to(device)
    places = (draws * adjacency.row_counts[:, None]).long() + adjacency.row_pointer[:-1, None]
    columns = adjacency.columns[places.reshape(-1)]
    pointer = torch.arange(0, num_nodes * count + 1, count, device=device).to(columns.dtype)
    return CSR(pointer, columns, torch.full((num_nodes * count,), 1 / count, device=device), adjacency.shape)


def _distance(first: Tensor, second: Tensor) -> Tensor:
    return (first - second).square().sum(dim=1).add(_TINY).sqrt()


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SUGRL(NodeClassifier):
    """Margins to propagated and neighbouring nodes, no augmentation (SUGRL, Mo et al., AAAI 2022).

    Neighbours are drawn at random instead of in the published code's fixed pattern.
    """

    takes_weights = True
    hidden: int = param(512, "width of the hidden layer, 0 for none", low=0)
    dim: int = param(128, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    smooth_features: bool = param(False, "features averaged over neighbours beforehand")
    propagation: str = param("symmetric", "normalisation of the adjacency", choices=("symmetric", "row"))
    dropout: float = param(0.3, "fraction of feature entries dropped", low=0, high=0.99)
    margin: float = param(0.8, "how much nearer positives must be (alpha)", low=0)
    slack: float = param(0.2, "how much farther negatives may be (beta)", low=0)
    negatives: int = param(4, "negative nodes per node and step", low=1)
    structure_weight: float = param(10.0, "weight of the propagated positive (w1)", low=0)
    neighbour_weight: float = param(10.0, "weight of the neighbours (w2)", low=0)
    bound_weight: float = param(1.0, "weight of the upper bound (w3)", low=0)
    bound: str = param("sum", "upper bound over nodes", choices=("sum", "mean"))
    epochs: int = param(500, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-5, "weight decay of Adam", low=0)
    classifier: str = probe_param()

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        widths = [features, self.hidden, self.dim] if self.hidden else [features, self.dim]
        return ProbedEncoder(DenseEncoder(widths, self), Probe(self.classifier, self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        encoder = cast("DenseEncoder", network.encoder)
        features, operator = encoder.features(graph), encoder.operator(graph)
        neighbour_draws, negative_draws = (torch_generator(self.seed, name) for name in ("neighbours", "strangers"))
        bound_weight = self.bound_weight * (graph.num_nodes if self.bound == "sum" else 1)

        def losses(_: int) -> dict[str, Tensor]:
            anchors = encoder.rows(drop_entries(features, self.dropout, training=True))
            structural = multiply(operator, F.dropout(anchors, _POSITIVE_DROPOUT))
            beside = multiply(sample_neighbours(operator, _NEIGHBOURS, generator=neighbour_draws), anchors)
            orders = (torch.randperm(graph.num_nodes, generator=negative_draws) for _ in range(self.negatives))
            negatives = [order.to(graph.device) for order in orders]
            costs = margin_losses(anchors, structural, beside, negatives, margin=self.margin, slack=self.slack)
            total = self.structure_weight * costs["structure"] + self.neighbour_weight * costs["neighbours"]
            return {"loss": total + bound_weight * costs["bound"], **costs}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        history = train(encoder, losses, schedule, on_epoch=observed.on_epoch, what="learning embeddings")
        return fit_on_embeddings(network, graph, observed, seed=self.seed, history=history)
