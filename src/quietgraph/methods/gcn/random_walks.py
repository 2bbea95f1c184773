"""Supports: the nodes that short random walks from a node visit most often."""

import torch
from torch import Tensor

from quietgraph.graph import CSR


def walk_supports(
    adjacency: CSR,
    starts: Tensor,
    *,
    walks: int,
    length: int,
    size: int,
    generator: torch.Generator,
) -> CSR:
    """Return, for every start, the nodes visited most often, with their visits [starts, nodes].

    A start is not its own support, and one without neighbours has none.

    Args:
        adjacency: Symmetric weights; a step follows an edge in proportion to its weight.
        starts: Node indices [starts].
        walks: Walks from every start.
        length: Steps of a walk.
        size: Most nodes in a support.
        generator: CPU generator of the steps.
    """
    num_nodes = adjacency.shape[1]
    places = starts.repeat_interleave(walks)
    origins = torch.arange(len(starts), device=starts.device).repeat_interleave(walks)
    ends = adjacency.values.double().cumsum(0)
    visits = []
    for _ in range(length):
        draws = torch.rand(len(places), generator=generator, dtype=torch.float64)
        places = _step(adjacency, ends, places, draws.to(starts.device))
        visits.append(origins * num_nodes + places)
    cells, counts = torch.unique(torch.cat(visits), return_counts=True)
    origin, node = cells // num_nodes, cells % num_nodes
    others = node != starts[origin]
    return _largest(origin[others], node[others], counts[others], (len(starts), num_nodes), size)


def _step(adjacency: CSR, ends: Tensor, places: Tensor, draws: Tensor) -> Tensor:
    """Return the next node of each walker; one without neighbours stays."""
    if not len(ends):
        return places
    first = adjacency.row_pointer[places].long()
    last = adjacency.row_pointer[places + 1].long()
    before = torch.where(first > 0, ends[first - 1], torch.zeros_like(draws))
    goal = before + draws * (ends[last - 1] - before)
    entry = torch.searchsorted(ends, goal, right=True).clamp(first, (last - 1).clamp_min(first))
    moves = last > first
    return torch.where(moves, adjacency.columns[entry.clamp_max(len(ends) - 1)].long(), places)


def _largest(
    rows: Tensor, columns: Tensor, counts: Tensor, shape: tuple[int, int], size: int
) -> CSR:
    """Return the `size` largest counts of each row; the cells come sorted by row and column."""
    order = torch.argsort(counts, descending=True, stable=True)
    order = order[torch.argsort(rows[order], stable=True)]
    per_row = torch.bincount(rows, minlength=shape[0])
    starts = per_row.cumsum(0) - per_row
    rank = torch.empty_like(rows)
    rank[order] = torch.arange(len(rows), device=rows.device) - starts[rows[order]]
    kept = rank < size
    pointer = torch.zeros(shape[0] + 1, dtype=torch.int32, device=rows.device)
    pointer[1:] = torch.bincount(rows[kept], minlength=shape[0]).cumsum(0)
    return CSR(pointer, columns[kept].int(), counts[kept].float(), shape)
