"""Which nodes a path leads to from a labelled node; several processes look at a range of rows."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.large_matrix import empty_numbers
from quietgraph.embed.scale.node_rows import node_rows, row_ranges
from quietgraph.graph import CSR
from quietgraph.types import UNKNOWN, AnyArray, Labels, Mask

_ENTRIES: Final = 2**20  # edges that are joined at once, and nodes that are told at once


def count_unreached(adjacency: CSR, labels: Labels) -> int:
    """Return the number of nodes to which no path leads from a labelled node."""
    return len(labels) - int(torch.count_nonzero(reached_nodes(adjacency, labels)))


def reached_nodes(adjacency: CSR, labels: Labels) -> Mask:
    """Return the nodes to which a path leads from a labelled node, these included [nodes].

    Every process finds the components that its own rows join; what one process has reached is
    told to the others until nobody reaches more. It needs 6 bytes a node, of large graphs in files.

    Args:
        adjacency: Symmetric.
        labels: Observed labels as class codes, -1 unknown [nodes].
    """
    nodes = node_rows(adjacency.shape[0])
    component = torch.from_numpy(_components(adjacency, nodes.own))
    reached, inside = (torch.from_numpy(empty_numbers(len(labels), "bool")) for _ in range(2))
    for rows in row_ranges(len(labels), _ENTRIES):
        reached[rows] = (labels[rows] != UNKNOWN).cpu()
    is_more = True
    while is_more:
        inside.fill_(False)
        for rows in row_ranges(len(component), _ENTRIES):
            inside[component[rows][reached[rows]].long()] = True
        is_more = False
        for rows in row_ranges(len(component), _ENTRIES):
            found: Tensor = inside[component[rows].long()].to(torch.int32)
            told = nodes.world.total(found) > 0
            is_more = is_more or not torch.equal(told, reached[rows])
            reached[rows] = told
    return reached


def _components(adjacency: CSR, own: slice) -> AnyArray:
    """Return the component of each node in the graph of the edges of some rows [nodes].

    A component is named by its first node; rows are joined block by block.
    """
    size = adjacency.shape[0]
    parent = empty_numbers(size, "int32" if size < 2**31 else "int64")
    for rows in row_ranges(size, _ENTRIES):
        parent[rows] = np.arange(rows.start, rows.stop)
    for start, stop in _blocks(adjacency.row_pointer.cpu().numpy(), own):
        ends = adjacency.row_pointer[start : stop + 1].cpu().numpy()
        near = adjacency.columns[int(ends[0]) : int(ends[-1])].cpu().numpy()
        _join(parent, np.repeat(parent[start:stop], np.diff(ends)), near.astype(parent.dtype))
    for rows in row_ranges(size, _ENTRIES):
        parent[rows] = _roots(parent, parent[rows])
    return parent


def _blocks(pointer: AnyArray, own: slice) -> Iterator[tuple[int, int]]:
    """Yield ranges of rows of not many entries, one row at least."""
    start = own.start
    while start < own.stop:
        most = min(int(pointer[start]) + _ENTRIES, int(pointer[-1]))
        wanted = np.asarray(most, dtype=pointer.dtype)  # of another type the pointer is copied
        stop = max(start + 1, int(np.searchsorted(pointer, wanted, side="right")) - 1)
        yield start, min(stop, own.stop)
        start = stop


def _join(parent: AnyArray, first: AnyArray, second: AnyArray) -> None:
    """Join the components of both ends of edges: the later root gets the earlier one as parent."""
    while len(first):
        first, second = _roots(parent, first), _roots(parent, second)
        low, high = np.minimum(first, second), np.maximum(first, second)
        apart = low < high
        first, second = low[apart], high[apart]
        np.minimum.at(parent, second, first)  # of several the earliest, or a star takes long
        above = parent[second]
        while not np.array_equal(above, parent[above]):  # or a path would
            parent[second] = above = parent[above]


def _roots(parent: AnyArray, nodes: AnyArray) -> AnyArray:
    """Return the root above each node [nodes]."""
    above = parent[nodes]
    while not np.array_equal(above, nodes):
        nodes, above = above, parent[above]
    return nodes
