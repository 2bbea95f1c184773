"""SFA: contrast between views whose leading directions are weakened at random."""

from dataclasses import dataclass
from typing import cast, final

import torch
from torch import Tensor, nn

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import Structure, scaled
from quietgraph.embed.train import Schedule, train
from quietgraph.embed.views import ViewRates, draw_view
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.grace.encoder import GraceEncoder, ProjectionHead
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_on_embeddings, probe_param
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings


def weaken_leading(embeddings: Embeddings, nodes: Tensor, *, steps: int, generator: torch.Generator) -> Embeddings:
    """Return some rows without their part along one random direction that leans to the leading ones.

    With r ~ N(0, I) and `steps` times r <- H^T H r over all rows H [nodes, dim]: H - H r r^T / |r|^2 at these nodes.
    The direction is a constant to the gradient; no step changes nothing.
    """
    rows = embeddings[nodes]
    if steps == 0:
        return rows
    direction = torch.randn(embeddings.shape[1], generator=generator).to(embeddings)
    fixed = embeddings.detach()
    for _ in range(steps):
        direction = fixed.T @ (fixed @ direction)
        direction = direction / direction.norm().clamp_min(1e-12)
    return rows - (rows @ direction)[:, None] * direction


@final
@dataclass(kw_only=True, eq=False, repr=False)
class SFA(NodeClassifier):
    """Contrast with spectral feature augmentation (Zhang et al., AAAI 2023).

    A step contrasts 700 nodes instead of all. The published settings are not available: widths, rates and temperatures
    are those of the authors' sibling COSTA, step size, epochs and the temperature on CiteSeer are ours.
    """

    takes_weights = True
    hidden: int = param(256, "width of the hidden layers", low=1)
    dim: int = param(256, "width of the embeddings", low=1)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    power_steps: int = param(1, "power iterations of the augmentation, 0 for none (GRACE)", low=0)
    temperature: float = param(0.4, "temperature of the contrast between views", low=1e-3)
    anchors: int = param(700, "nodes contrasted in a step", low=2)
    edge_drop_1: float = param(0.2, "fraction of edges dropped in view 1", low=0, high=1)
    edge_drop_2: float = param(0.4, "fraction of edges dropped in view 2", low=0, high=1)
    feature_mask_1: float = param(0.3, "fraction of feature columns masked in view 1", low=0, high=1)
    feature_mask_2: float = param(0.4, "fraction of feature columns masked in view 2", low=0, high=1)
    epochs: int = param(200, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-4, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)
    classifier: str = probe_param()

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        encoder = GraceEncoder(features, self.hidden, self.dim, norm=self.feature_norm, seed=self.seed)
        return ProbedEncoder(encoder, Probe(self.classifier, self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        encoder = cast("GraceEncoder", network.encoder)
        head = ProjectionHead(self.dim, self.hidden, seed=self.seed).to(graph.device)
        structure, features = Structure.of(graph), scaled(graph, self.feature_norm)
        rates = ViewRates(self.edge_drop_1, self.feature_mask_1), ViewRates(self.edge_drop_2, self.feature_mask_2)
        names = ("views", "anchors", "spectral")
        view_draws, anchor_draws, spectral_draws = (torch_generator(self.seed, name) for name in names)

        def losses(_: int) -> dict[str, Tensor]:
            nodes = torch.arange(graph.num_nodes)
            if graph.num_nodes > self.anchors:
                nodes = torch.randperm(graph.num_nodes, generator=anchor_draws)[: self.anchors]
            seen = []
            for rate in rates:
                view = draw_view(structure, graph.num_features, rate, generator=view_draws)
                rows = encoder.rows(features, view.operator, view.feature_mask)
                seen.append(head(weaken_leading(rows, nodes, steps=self.power_steps, generator=spectral_draws)))
            return {"loss": info_nce(*seen, temperature=self.temperature)}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        networks = nn.ModuleList([encoder, head])
        history = train(networks, losses, schedule, on_epoch=observed.on_epoch, what="learning embeddings")
        return fit_on_embeddings(network, graph, observed, seed=self.seed, history=history)
