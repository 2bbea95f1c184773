"""Augmented views of a graph: dropped nodes, dropped and added edges, masked feature columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.embed.operator import Structure
from quietgraph.graph import CSR, Graph

_SPARE_POOL = 4  # spare pairs for every edge that a view adds, so that views differ


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

    def masked(self, weight: Tensor) -> Tensor:
        """Return the weights [features, dim] of a layer that reads the columns that are left."""
        return weight if self.feature_mask is None else weight * self.feature_mask[:, None]


def view_structure(graph: Graph, rates: Sequence[ViewRates], *, generator: torch.Generator) -> Structure:
    """Return the structure that all views of a training share, with room for the edges they add."""
    most = max(rate.edge_add for rate in rates)
    if most == 0:
        return Structure.of(graph)
    size = graph.num_nodes
    draws = torch.randint(size, (2, round(_SPARE_POOL * most * graph.num_edges)), generator=generator)
    low, high = draws.min(dim=0).values, draws.max(dim=0).values
    pairs = torch.unique((low * size + high)[low != high])
    rows, columns = graph.edge_index.cpu()
    pairs = pairs[~torch.isin(pairs, rows * size + columns)]
    return Structure.of(graph, spare_pairs=torch.stack([pairs // size, pairs % size]))


def draw_view(structure: Structure, num_features: int, rates: ViewRates, *, generator: torch.Generator) -> View:
    """Return a random view; the structure is shared, only values change. A dropped node keeps no edge, no self-loop."""
    device, edges = structure.weights.values.device, structure.num_edges
    present = structure.everything().cpu()
    if rates.edge_drop > 0:
        present[:edges] = (torch.rand(edges, generator=generator) >= rates.edge_drop).to(present)
    if rates.edge_add > 0 and structure.num_spare > 0:
        draws = torch.rand(structure.num_spare, generator=generator)
        added = draws < min(1.0, rates.edge_add * edges / structure.num_spare)
        present[edges : edges + structure.num_spare] = added.to(present)
    if rates.node_drop > 0:
        kept = torch.rand(structure.num_nodes, generator=generator) >= rates.node_drop
        rows, columns = structure.weights.rows.cpu(), structure.weights.columns.long().cpu()
        present[structure.pair_of_entry.cpu()[~(kept[rows] & kept[columns])]] = 0
    mask = None
    if rates.feature_mask > 0:
        draws = torch.rand(num_features, generator=generator) >= rates.feature_mask
        mask = draws.to(device, structure.weights.values.dtype)
    return View(structure.operator(present.to(device)), mask)
