"""GraphCL for nodes: every node against the summaries of two augmented graphs."""

from dataclasses import dataclass
from typing import cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.encoder import glorot, leaky
from quietgraph.embed.operator import Structure, normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.embed.train import Schedule, train
from quietgraph.embed.views import ViewRates, draw_view, view_structure
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_on_embeddings, probe_param
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Mask

AUGMENTATIONS = ("edge", "node", "subgraph", "mask")


class OneLayerEncoder(nn.Module):
    """H = PReLU(A X W + b)."""

    def __init__(self, features: int, dim: int, *, norm: str, seed: int) -> None:
        super().__init__()
        self.weight = glorot(features, dim, generator=torch_generator(seed, "encoder"))
        self.bias, self.slope = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.full((1,), 0.25))
        self.norm = norm

    def forward(self, graph: Graph) -> Embeddings:
        """Return the embeddings of every node [nodes, dim]."""
        return self.spread(project(scaled(graph, self.norm), self.weight), normalised_adjacency(graph))

    def spread(self, projected: Tensor, operator: CSR) -> Embeddings:
        """Return the embeddings of projected features through an operator [nodes, dim]."""
        return leaky(propagate(operator, projected) + self.bias, self.slope)


class Discriminator(nn.Module):
    """How well a node fits summaries: the bilinear scores h B c + b, summed over the summaries c."""

    def __init__(self, dim: int, *, seed: int) -> None:
        super().__init__()
        table = torch.empty(1, dim, dim)
        self.weight = nn.Parameter(nn.init.xavier_uniform_(table, generator=torch_generator(seed, "head")))
        self.bias = nn.Parameter(torch.zeros(()))

    def forward(self, rows: Embeddings, summaries: list[Tensor]) -> Tensor:
        """Return the sum of the scores with all summaries [nodes]."""
        total = torch.stack(summaries).sum(dim=0)  # the score is linear in the summary
        return rows @ (self.weight[0] @ total) + len(summaries) * self.bias


def augment(
    structure: Structure, kind: str, rate: float, *, generator: torch.Generator
) -> tuple[CSR, Tensor, Tensor | None]:
    """Return operator, nodes and shown feature rows (none: all) of a randomly changed graph; rows are 0 or 1 [nodes].

    "edge" drops rate / 2 of the edges and adds as many spare pairs, "node" drops a share of the nodes, "subgraph" keeps
    the rest as a grown region, "mask" hides the features of a share.
    """
    num_nodes, weights = structure.num_nodes, structure.weights
    every = weights.values.new_ones(num_nodes)
    if kind == "edge":
        rates = ViewRates(edge_drop=rate / 2, edge_add=rate / 2)
        return draw_view(structure, 0, rates, generator=generator).operator, every, None
    if kind == "subgraph":
        kept = grow_region(weights, num_nodes - int(rate * num_nodes), generator=generator)
    else:
        kept = torch.rand(num_nodes, generator=generator) >= rate
    kept = kept.to(every.device)
    if kind == "mask":
        return structure.operator(), every, kept.to(every)
    present, joined = structure.everything(), kept[weights.rows] & kept[weights.columns.long()]
    present[structure.pair_of_entry[~joined]] = 0
    return structure.operator(present), kept.to(every), None


def grow_region(adjacency: CSR, wanted: int, *, generator: torch.Generator) -> Mask:
    """Return a set of `wanted` nodes grown from a random one over the edges [nodes] bool.

    In each round a random half of the nodes that border on the region join it; where there are none, a random node
    starts afresh.
    """
    inside = torch.zeros(adjacency.shape[0], dtype=torch.bool)
    border, adjacency, size = inside.clone(), adjacency.to(inside.device), 0
    while size < wanted:
        outside = border.nonzero().squeeze(1)
        joining = min((len(outside) + 1) // 2, wanted - size)
        if joining == 0:
            outside, joining = (~inside).nonzero().squeeze(1), 1
        joined = outside[torch.randperm(len(outside), generator=generator)[:joining]]
        inside[joined] = True
        border[adjacency.take_rows(joined).columns.long()] = True
        border &= ~inside
        size += joining
    return inside


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GraphCL(NodeClassifier):
    """Nodes against summaries of two changed graphs (GraphCL for nodes, You et al., NeurIPS 2020).

    One logistic regression reads the embeddings, instead of the mean of fifty.
    """

    takes_weights = True
    dim: int = param(512, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    augmentation: str = param("edge", "what changes in a view", choices=AUGMENTATIONS)
    rate: float = param(0.2, "how much of it changes", low=0, high=0.9)
    epochs: int = param(10_000, "most training epochs, a step each", low=1)
    patience: int | None = param(20, "epochs without a lower loss before stopping", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(0.0, "weight decay of Adam", low=0)
    classifier: str = probe_param()

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        encoder = OneLayerEncoder(features, self.dim, norm=self.feature_norm, seed=self.seed)
        return ProbedEncoder(encoder, Probe(self.classifier, self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        encoder = cast("OneLayerEncoder", network.encoder)
        head = Discriminator(self.dim, seed=self.seed).to(graph.device)
        networks = nn.ModuleList([encoder, head])
        added = ViewRates(edge_add=self.rate / 2 if self.augmentation == "edge" else 0.0)
        names = ("spare pairs", "views", "nodes")
        spare_draws, view_draws, draws = (torch_generator(self.seed, name) for name in names)
        structure, loss = view_structure(graph, [added], generator=spare_draws), 0.0
        views = [augment(structure, self.augmentation, self.rate, generator=view_draws) for _ in range(2)]
        whole, features = structure.operator(), scaled(graph, self.feature_norm)

        def losses(_: int) -> dict[str, Tensor]:
            nonlocal loss
            projected, summaries = project(features, encoder.weight), []
            for operator, nodes, shown in views:  # a hidden feature row is a projected row of zeros
                rows = encoder.spread(projected if shown is None else projected * shown[:, None], operator)
                summaries.append((nodes @ rows / nodes.sum().clamp_min(1)).sigmoid())
            order = torch.randperm(graph.num_nodes, generator=draws).to(graph.device)
            real = head(encoder.spread(projected, whole), summaries)
            fake = head(encoder.spread(projected.index_select(0, order), whole), summaries)
            cost = (F.softplus(-real) + F.softplus(fake)).mean() / 2
            loss = float(cost.detach())
            return {"loss": cost}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        history = train(  # the epoch of the lowest loss is kept
            networks, losses, schedule, score=lambda: -loss, on_epoch=observed.on_epoch, what="learning embeddings"
        )
        return fit_on_embeddings(network, graph, observed, seed=self.seed, history=history)
