"""Which nodes a path leads to from a labelled node; several processes look at a range of rows."""

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import CSR
from quietgraph.types import UNKNOWN, Labels


def count_unreached(adjacency: CSR, labels: Labels) -> int:
    """Return the number of nodes to which no path leads from a labelled node.

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
            return int((~reached).sum())
        reached = more


def _components(adjacency: CSR, own: slice) -> Tensor:
    """Return the component of each node in the graph of the edges of some rows [nodes] int32."""
    pointer = adjacency.row_pointer.cpu().numpy()
    first, last = int(pointer[own.start]), int(pointer[own.stop])
    inside = pointer.clip(first, last) - first
    columns = adjacency.columns[first:last].cpu().numpy()
    ones = np.ones(len(columns), dtype=np.int8)
    edges = scipy.sparse.csr_matrix((ones, columns, inside), shape=adjacency.shape)
    return torch.from_numpy(connected_components(edges, directed=True, connection="weak")[1])
