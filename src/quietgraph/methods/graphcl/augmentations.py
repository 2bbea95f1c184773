"""The four changes of a graph that GraphCL knows: edges, nodes, a grown region, hidden features."""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.embed import Propagation, ViewRates, draw_view
from quietgraph.graph import CSR
from quietgraph.types import Mask

AUGMENTATIONS = ("edge", "node", "subgraph", "mask")


@dataclass(frozen=True, eq=False)
class Augmented:
    """A changed graph: its operator, its nodes and the feature rows that are shown."""

    operator: CSR
    nodes: Tensor  # [nodes] of 0 or 1
    shown: Tensor | None = None  # [nodes] of 0 or 1; None = all


def augment(
    structure: Propagation, kind: str, rate: float, *, generator: torch.Generator
) -> Augmented:
    """Return a random change of the graph, one of `AUGMENTATIONS`.

    "edge" drops rate / 2 of the edges and adds as many spare pairs, "node" drops a share of the
    nodes, "subgraph" keeps the rest as a grown region, "mask" hides the features of a share.
    """
    num_nodes, values = structure.num_nodes, structure.weights.values
    if kind == "edge":
        rates = ViewRates(edge_drop=rate / 2, edge_add=rate / 2)
        view = draw_view(structure, 0, rates, generator=generator)
        return Augmented(view.operator, values.new_ones(num_nodes))
    if kind == "subgraph":
        wanted = num_nodes - int(rate * num_nodes)
        kept = grow_region(structure.weights, wanted, generator=generator)
    else:
        kept = torch.rand(num_nodes, generator=generator) >= rate
    if kind == "mask":
        return Augmented(structure.operator(), values.new_ones(num_nodes), kept.to(values))
    return Augmented(_induced(structure, kept.to(values.device)), kept.to(values))


def grow_region(adjacency: CSR, wanted: int, *, generator: torch.Generator) -> Mask:
    """Return a set of `wanted` nodes grown from a random one over the edges [nodes] bool.

    In each round a random half of the nodes that border on the region join it; where there are
    none, a random node starts afresh.
    """
    inside = torch.zeros(adjacency.shape[0], dtype=torch.bool)
    border, size = inside.clone(), 0
    pointer, columns = adjacency.row_pointer.cpu(), adjacency.columns.cpu()
    while size < wanted:
        outside = border.nonzero().squeeze(1)
        joining = min((len(outside) + 1) // 2, wanted - size)
        if joining == 0:
            outside, joining = (~inside).nonzero().squeeze(1), 1
        joined = outside[torch.randperm(len(outside), generator=generator)[:joining]]
        inside[joined] = True
        border[_neighbours(pointer, columns, joined)] = True
        border &= ~inside
        size += joining
    return inside


def _neighbours(pointer: Tensor, columns: Tensor, nodes: Tensor) -> Tensor:
    """Return the columns of some rows, one after the other, repeated where rows share them."""
    starts, counts = pointer[nodes].long(), (pointer[nodes + 1] - pointer[nodes]).long()
    first = counts.cumsum(0) - counts
    steps = torch.arange(int(counts.sum())) - torch.repeat_interleave(first, counts)
    return columns[torch.repeat_interleave(starts, counts) + steps].long()


def _induced(structure: Propagation, nodes: Mask) -> CSR:
    """Return the operator over what joins two of these nodes; the others get rows of zeros."""
    weights, present = structure.weights, structure.everything()
    gone = ~(nodes[weights.rows] & nodes[weights.columns.long()])
    present[structure.edge_of_entry[gone]] = 0
    return structure.operator(present)
