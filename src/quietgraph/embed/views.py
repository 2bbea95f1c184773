"""Augmented views of a graph: dropped nodes, dropped and added edges, masked features."""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.embed.propagation import Propagation
from quietgraph.graph import CSR, Graph

_SPARE_POOL = 4  # spare pairs kept for every edge that a view adds, so that views differ


@dataclass(frozen=True)
class ViewRates:
    """How much a view changes; every rate is a probability."""

    edge_drop: float = 0.0
    feature_mask: float = 0.0
    node_drop: float = 0.0
    edge_add: float = 0.0


@dataclass(frozen=True, eq=False)
class View:
    """A graph as an encoder sees it: an operator and the feature columns that are left."""

    operator: CSR
    feature_mask: Tensor | None = None  # [features] of 0 or 1


def spare_pairs(graph: Graph, count: int, *, generator: torch.Generator) -> Tensor:
    """Return up to `count` random node pairs that are no edges [2, pairs], smaller index first."""
    draws = torch.randint(graph.num_nodes, (2, count), generator=generator)
    low, high = draws.min(dim=0).values, draws.max(dim=0).values
    ids = torch.unique((low * graph.num_nodes + high)[low != high])
    rows, columns = graph.edge_index.cpu()
    taken = rows * graph.num_nodes + columns
    ids = ids[~torch.isin(ids, taken)]
    return torch.stack([ids // graph.num_nodes, ids % graph.num_nodes])


def view_structure(graph: Graph, rates: list[ViewRates], generator: torch.Generator) -> Propagation:
    """Return the structure all views of a training share, with room for edges to add."""
    most = max(rate.edge_add for rate in rates)
    if most == 0:
        return Propagation.of(graph)
    pool = round(_SPARE_POOL * most * graph.num_edges)
    return Propagation.of(graph, spare_pairs=spare_pairs(graph, pool, generator=generator))


def draw_view(
    structure: Propagation, num_features: int, rates: ViewRates, *, generator: torch.Generator
) -> View:
    """Return a random view; the structure is shared, only values change."""
    device = structure.weights.values.device
    present = _edge_draws(structure, rates, generator)
    if rates.node_drop > 0:
        kept = torch.rand(structure.num_nodes, generator=generator) >= rates.node_drop
        present = _without_nodes(structure, present, kept)
    mask = None
    if rates.feature_mask > 0:
        draws = torch.rand(num_features, generator=generator) >= rates.feature_mask
        mask = draws.to(device, structure.weights.values.dtype)
    return View(structure.operator(present.to(device)), mask)


def _edge_draws(structure: Propagation, rates: ViewRates, generator: torch.Generator) -> Tensor:
    present = structure.everything().cpu()
    edges = structure.num_edges
    if rates.edge_drop > 0:
        present[:edges] = (torch.rand(edges, generator=generator) >= rates.edge_drop).to(present)
    if rates.edge_add > 0 and structure.num_spare > 0:
        probability = min(1.0, rates.edge_add * edges / structure.num_spare)
        draws = torch.rand(structure.num_spare, generator=generator) < probability
        present[edges : edges + structure.num_spare] = draws.to(present)
    return present


def _without_nodes(structure: Propagation, present: Tensor, kept: Tensor) -> Tensor:
    """A dropped node keeps no edge and no self-loop, so its features reach nobody."""
    rows, columns = structure.weights.rows.cpu(), structure.weights.columns.long().cpu()
    touched = ~(kept[rows] & kept[columns])
    gone = torch.zeros_like(present, dtype=torch.bool)
    gone[structure.edge_of_entry.cpu()[touched]] = True
    return present.masked_fill(gone, 0)
