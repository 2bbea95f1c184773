"""What ARIEL adds to a contrast: a view changed to make it worse, and a bound on similarity."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR, Features
from quietgraph.types import Embeddings, Scalar

Cost: TypeAlias = Callable[[Tensor, Tensor], Scalar]  # of features and normalised adjacency

_TOLERANCE = 1e-3  # of the number of changed pairs
_HALVINGS = 60


@dataclass(frozen=True)
class AttackSettings:
    """How hard an attack tries and how far it may go."""

    steps: int
    edge_step: float  # step size on the changes of node pairs, shrinking with its root
    edge_fraction: float  # most changed pairs, per edge
    feature_step: float
    feature_limit: float  # most change of a feature entry


@dataclass(frozen=True, eq=False)
class Attacked:
    """The changed graph and the cost before and after."""

    features: Tensor  # [nodes, features]
    adjacency: Tensor  # [nodes, nodes]
    cost_before: float
    cost_after: float


def attack(
    features: Tensor,
    adjacency: Tensor,
    cost: Cost,
    settings: AttackSettings,
    *,
    generator: torch.Generator,
) -> Attacked:
    """Return features and edges that raise the cost, by projected gradient ascent.

    Every pair of nodes may flip with a probability S, and every feature may move. S climbs the
    gradient within [0, 1] and a total of `edge_fraction` times the edges; features climb its sign.
    In the end each pair flips with its probability, drawn.

    Args:
        features: Dense rows of a small graph [nodes, features].
        adjacency: Its symmetric adjacency without self-loops [nodes, nodes].
        cost: What to raise, given features and normalised adjacency.
        settings: Steps and limits.
        generator: Source of the final draw.
    """
    flip = torch.where(adjacency > 0, -adjacency, torch.ones_like(adjacency))
    flip.fill_diagonal_(0)
    probabilities, moves, before = _climb(features, adjacency, flip, cost, settings)
    draws = torch.rand(probabilities.shape, generator=generator).to(probabilities)
    upper = torch.triu(draws < probabilities, diagonal=1).to(probabilities)
    moved, flipped = features + moves, adjacency + (upper + upper.T) * flip
    with torch.no_grad():
        after = float(cost(moved, normalise_dense(flipped)))
    return Attacked(moved, flipped, before, after)


def similarity_excess(
    first: Embeddings, second: Embeddings, clean: Embeddings, *, temperature: float
) -> Scalar:
    """Return how much more alike two views are than each is to the clean graph.

    With e(a, b) = exp(cos(a, b) / temperature) row by row, the mean of
    max(0, 2 e(first, second) - e(first, clean) - e(second, clean)), the last two held constant.
    """
    views = [F.normalize(rows, dim=1) for rows in (first, second, clean)]

    def alike(one: Tensor, other: Tensor) -> Tensor:
        return ((one * other).sum(dim=1) / temperature).exp()

    known = alike(views[0], views[2]).detach() + alike(views[1], views[2]).detach()
    return (2 * alike(views[0], views[1]) - known).relu().mean()


def normalise_dense(adjacency: Tensor) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 of a small dense adjacency [nodes, nodes]."""
    looped = adjacency + torch.eye(len(adjacency), dtype=adjacency.dtype, device=adjacency.device)
    scale = looped.sum(dim=1).rsqrt()
    return looped * scale[:, None] * scale


def entry_size(features: Features) -> float:
    """Return the mean magnitude of the entries that are not 0."""
    values = features.values if isinstance(features, CSR) else features[features != 0]
    return float(values.abs().mean()) if len(values) else 0.0


def project_total(probabilities: Tensor, most: float) -> Tensor:
    """Return the nearest matrix with entries in [0, 1] and pairs summing to at most `most`.

    A symmetric matrix counts every pair twice. The nearest one is a common shift, then a clamp;
    the shift is found by bisection.
    """
    raised = probabilities[probabilities > 0]  # the others stay 0, whatever the shift
    if float(raised.clamp_max(1).sum()) / 2 <= most:
        return probabilities.clamp(0, 1)
    low, high = 0.0, float(raised.max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        spare = most - float((raised - middle).clamp(0, 1).sum()) / 2
        if spare < 0:
            low = middle
        else:
            high = middle
            if spare < _TOLERANCE:
                break
    return (probabilities - high).clamp(0, 1)


def _climb(
    features: Tensor, adjacency: Tensor, flip: Tensor, cost: Cost, settings: AttackSettings
) -> tuple[Tensor, Tensor, float]:
    """Return the flip probabilities, the moves of features and the cost before the first step."""
    most = settings.edge_fraction * float((adjacency > 0).sum()) / 2
    limit, costs = settings.feature_limit, []
    probabilities, moves = torch.zeros_like(adjacency), torch.zeros_like(features)
    for step in range(1, settings.steps + 1):
        value, edge_slope, feature_slope = _slopes(
            cost, features + moves, adjacency + probabilities * flip, flip
        )
        costs.append(value)
        probabilities = project_total(
            probabilities + settings.edge_step / step**0.5 * edge_slope, most
        )
        moves = (moves + settings.feature_step * feature_slope.sign()).clamp(-limit, limit)
    return probabilities, moves, costs[0]


def _slopes(
    cost: Cost, features: Tensor, adjacency: Tensor, flip: Tensor
) -> tuple[float, Tensor, Tensor]:
    """Return the cost and its gradients by the flips of pairs and by the features."""
    features, adjacency = features.detach().requires_grad_(), adjacency.detach().requires_grad_()
    with torch.enable_grad():
        value = cost(features, normalise_dense(adjacency))
        by_features, by_edges = torch.autograd.grad(value, (features, adjacency))
    by_flips = by_edges * flip
    return float(value.detach()), by_flips + by_flips.T, by_features
