"""Which nodes a path leads to from a labelled node; several processes look at a range of rows."""

from typing import Final

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import CSR
from quietgraph.types import UNKNOWN, Labels, Mask

_ENTRIES: Final = 2**24  # edges that are joined at once, some 0.5 GB


def count_unreached(adjacency: CSR, labels: Labels) -> int:
    """Return the number of nodes to which no path leads from a labelled node."""
    return int((~reached_nodes(adjacency, labels)).sum())


def reached_nodes(adjacency: CSR, labels: Labels) -> Mask:
    """Return the nodes to which a path leads from a labelled node, these included [nodes].

    Every process finds the components that its own rows join; what one process has reached is
    told to the others until nobody reaches more.

    Args:
        adjacency: Symmetric.
        labels: Observed labels as class codes, -1 unknown [nodes].
    """
    nodes = node_rows(adjacency.shape[0])
    component = _components(adjacency, nodes.own)
    reached = (labels != UNKNOWN).cpu()
    while True:
        inside = torch.zeros(int(component.max()) + 1, dtype=torch.bool)
        inside[component[reached].long()] = True
        more = nodes.world.total(inside[component.long()].to(torch.int32)) > 0
        if torch.equal(more, reached):
            return reached
        reached = more


def _components(adjacency: CSR, own: slice) -> Tensor:
    """Return the component of each node in the graph of the edges of some rows [nodes] int32.

    Rows are joined block by block: SciPy copies what it is given three times, as 64-bit numbers.
    """
    pointer, columns = adjacency.row_pointer.cpu().numpy(), adjacency.columns
    component = np.arange(adjacency.shape[0], dtype=np.int32)
    start = own.start
    while start < own.stop:
        most = int(pointer[start]) + _ENTRIES
        stop = max(start + 1, int(np.searchsorted(pointer, most, side="right")) - 1)
        stop = min(stop, own.stop)
        degrees = np.diff(pointer[start : stop + 1])
        near = columns[int(pointer[start]) : int(pointer[stop])].cpu().numpy()
        ends = np.repeat(component[start:stop], degrees), component[near]
        size = int(component.max()) + 1
        ones = np.ones(len(near), dtype=np.int8)
        edges = scipy.sparse.coo_matrix((ones, ends), shape=(size, size))
        joined = connected_components(edges, directed=True, connection="weak")[1]
        component, start = joined[component], stop
    return torch.from_numpy(component)
