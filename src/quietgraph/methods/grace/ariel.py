"""ARIEL: contrast on sampled subgraphs, with an adversarial view and a bound on similarity."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import scaled
from quietgraph.embed.train import Schedule, train
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.grace.encoder import ACTIVATIONS, GraceEncoder, ProjectionHead
from quietgraph.methods.probe import Probe, ProbedEncoder, fit_on_embeddings, probe_param
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scalar

_EDGE_FRACTION = 0.2  # most changed pairs, per edge
_FEATURE_LIMIT = 0.04  # most change of a feature entry, in mean entries
_TOLERANCE = 1e-3  # of the number of changed pairs
_HALVINGS = 60


def attack(
    features: Tensor,
    adjacency: Tensor,
    cost: Callable[[Tensor, Tensor], Scalar],
    how: "ARIEL",
    *,
    unit: float,
    generator: torch.Generator,
) -> tuple[Tensor, Tensor]:
    """Return features and adjacency that raise the cost of features and normalised adjacency, by gradient ascent.

    Every pair of nodes may flip with a probability S, and every feature may move. S climbs the gradient within [0, 1]
    and a total of a fifth of the edges, its steps shrinking with their root; features climb its sign in steps relative
    to a unit. In the end each pair flips with its probability. Rows are dense [nodes, features], as is the symmetric
    adjacency without self-loops [nodes, nodes].
    """
    flip = torch.where(adjacency > 0, -adjacency, 1.0).fill_diagonal_(0)
    most = _EDGE_FRACTION * float((adjacency > 0).sum()) / 2
    chances, moves, limit = torch.zeros_like(adjacency), torch.zeros_like(features), _FEATURE_LIMIT * unit
    for step in range(1, how.attack_steps + 1):
        rows, edges = (features + moves).requires_grad_(), (adjacency + chances * flip).requires_grad_()
        by_rows, by_edges = torch.autograd.grad(cost(rows, normalise_dense(edges)), (rows, edges))
        by_flips = by_edges * flip
        chances = project_total(chances + how.edge_step / step**0.5 * (by_flips + by_flips.T), most)
        moves = (moves + how.feature_step * unit * by_rows.sign()).clamp(-limit, limit)
    draws = torch.rand(chances.shape, generator=generator).to(chances)
    upper = torch.triu(draws < chances, diagonal=1).to(chances)
    return features + moves, adjacency + (upper + upper.T) * flip


def project_total(probabilities: Tensor, most: float) -> Tensor:
    """Return the nearest matrix with entries in [0, 1] and pairs summing to at most `most`.

    A symmetric matrix counts every pair twice. The nearest one is a common shift, then a clamp; the shift is found by
    bisection.
    """
    raised = probabilities[probabilities > 0]  # the others stay 0, whatever the shift
    if float(raised.clamp_max(1).sum()) / 2 <= most:
        return probabilities.clamp(0, 1)
    low, high = 0.0, float(raised.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        spare = most - float((raised - middle).clamp(0, 1).sum()) / 2
        low, high = (middle, high) if spare < 0 else (low, middle)
        if 0 <= spare < _TOLERANCE:
            break
    return (probabilities - high).clamp(0, 1)


def similarity_excess(first: Embeddings, second: Embeddings, clean: Embeddings, *, temperature: float) -> Scalar:
    """Return how much more alike two views are than each is to the clean graph.

    With e(a, b) = exp(cos(a, b) / temperature) row by row, the mean of
    max(0, 2 e(first, second) - e(first, clean) - e(second, clean)), the last two held constant.
    """
    pairs = (first, second), (first, clean), (second, clean)
    views, *held = ((F.cosine_similarity(*pair) / temperature).exp() for pair in pairs)
    return (2 * views - (held[0] + held[1]).detach()).relu().mean()


def normalise_dense(adjacency: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 of a small dense adjacency [nodes, nodes]."""
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype, device=adjacency.device)
    scale = looped.sum(dim=1).rsqrt()
    return looped * scale[:, None] * scale


@final
@dataclass(kw_only=True, eq=False, repr=False)
class ARIEL(NodeClassifier):
    """Contrast of subgraphs with an adversarial view (ARIEL, Feng et al., WWW 2022).

    Epochs are the published 300 on Cora and 200 on CiteSeer; elsewhere 300 instead of 1000 to 2000. The attack on
    features is scaled by the mean size of their entries: the published steps are for words of size 1.
    """

    takes_weights = True
    hidden: int = param(256, "width of the hidden layer", low=1)
    dim: int = param(128, "width of the embeddings", low=1)
    head: int = param(128, "width inside the projection head", low=1)
    activation: str = param("relu", "activation of both layers", choices=ACTIVATIONS)
    feature_norm: str = param("none", "scaling of feature rows", choices=("l2", "l1", "none"))
    sample: int = param(500, "nodes of the subgraph of a step", low=2)
    temperature: float = param(0.4, "temperature of the contrast between views", low=1e-3)
    edge_drop_1: float = param(0.2, "fraction of edges dropped in view 1", low=0, high=1)
    edge_drop_2: float = param(0.4, "fraction of edges dropped in view 2", low=0, high=1)
    feature_mask_1: float = param(0.3, "fraction of feature columns masked in view 1", low=0, high=1)
    feature_mask_2: float = param(0.4, "fraction of feature columns masked in view 2", low=0, high=1)
    attack_weight: float = param(0.5, "weight of the adversarial view (epsilon)", low=0)
    attack_steps: int = param(5, "steps of the attack", low=1)
    edge_step: float = param(200.0, "step size of the attack on edges (alpha)", low=0)
    feature_step: float = param(0.01, "step size of the attack on features (beta)", low=0)
    excess_weight: float = param(0.0, "weight of the information regulariser (lambda)", low=0)
    epochs: int = param(300, "training epochs, a step each", low=1)
    learning_rate: float = param(5e-4, "step size of Adam", low=0)
    weight_decay: float = param(1e-5, "weight decay of Adam", low=0)
    classifier: str = probe_param()

    def _network(self, features: int, classes: int) -> ProbedEncoder:
        sizes = (features, self.hidden, self.dim)
        encoder = GraceEncoder(*sizes, norm=self.feature_norm, seed=self.seed, activation=self.activation)
        return ProbedEncoder(encoder, Probe(self.classifier, self.dim, classes))

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes).to(graph.device)
        encoder = cast("GraceEncoder", network.encoder)
        head = ProjectionHead(self.dim, self.head, seed=self.seed).to(graph.device)
        networks, features = nn.ModuleList([encoder, head]), scaled(graph, self.feature_norm)
        values = features.values if isinstance(features, CSR) else features[features != 0]
        unit = float(values.abs().mean()) if len(values) else 0.0
        names = ("subgraphs", "views", "attack")
        node_draws, view_draws, attack_draws = (torch_generator(self.seed, name) for name in names)

        def project(rows: Tensor, operator: Tensor, mask: Tensor | None = None) -> Tensor:
            return head(encoder.rows(rows, operator, mask))

        def view(rows: Tensor, adjacency: Tensor, drop: float, mask: float) -> Tensor:
            kept = torch.triu(torch.rand(adjacency.shape, generator=view_draws) >= drop, diagonal=1)
            shown = torch.rand(rows.shape[1], generator=view_draws) >= mask
            return project(rows, normalise_dense(adjacency * (kept | kept.T).to(adjacency)), shown.to(rows))

        def alike(first: Tensor, second: Tensor) -> Scalar:
            return info_nce(first, second, temperature=self.temperature, intra_view=True)

        def losses(_: int) -> dict[str, Tensor]:
            nodes = torch.randperm(graph.num_nodes, generator=node_draws)[: self.sample].to(graph.device)
            rows = features.take_rows(nodes).to_dense() if isinstance(features, CSR) else features[nodes]
            picks = nodes.cpu().numpy()
            adjacency = torch.from_numpy(graph.adjacency.to_scipy()[picks][:, picks].toarray()).to(rows)
            first = view(rows, adjacency, self.edge_drop_1, self.feature_mask_1)
            second = view(rows, adjacency, self.edge_drop_2, self.feature_mask_2)
            costs = {"contrast": alike(first, second)}
            if self.excess_weight > 0:
                clean = project(rows, normalise_dense(adjacency))
                excess = similarity_excess(first, second, clean, temperature=self.temperature)
                costs["excess"] = self.excess_weight * excess
            if self.attack_weight > 0:  # against view 1, the networks held fixed
                fixed = first.detach()
                networks.eval().requires_grad_(False)
                given = rows, adjacency, lambda *seen: alike(fixed, project(*seen)), self
                found, flipped = attack(*given, unit=unit, generator=attack_draws)
                networks.train().requires_grad_(True)
                costs["adversarial"] = self.attack_weight * alike(first, project(found, normalise_dense(flipped)))
            return {"loss": torch.stack([*costs.values()]).sum(), **costs}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay)
        history = train(networks, losses, schedule, on_epoch=observed.on_epoch, what="learning embeddings")
        return fit_on_embeddings(network, graph, observed, seed=self.seed, history=history)
