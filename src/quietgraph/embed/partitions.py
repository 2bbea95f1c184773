"""A large graph in partitions: which nodes are trained on together, and the subgraph among them.

METIS (the package `pymetis`) finds small clusters that cut few edges, and a partition is made of many clusters from
all over the graph: nodes of one cluster are similar, and a contrast among them alone would push apart what belongs
together.
"""

import importlib.util
import math
from dataclasses import replace
from typing import Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.graph import CSR, Graph
from quietgraph.rng import derive_seed, torch_generator

WHOLE_UP_TO: Final = 200_000  # nodes: a step on all of them holds 12 KB a node, 2.4 GB, at width 256
_NODES_PER_PARTITION = 50_000  # a step holds 0.6 GB; smaller ones cut more edges, no faster
_CLUSTERS = 128  # of a partition; fewer lose fewer edges, but accuracy with them
_NODES_PER_CLUSTER = 20  # at least
_METIS_UP_TO = 60_000_000  # stored entries, two an edge: METIS is slow above


def partition_nodes(graph: Graph, *, seed: int, multiple_of: int = 1, whole_up_to: int = WHOLE_UP_TO) -> list[Tensor]:
    """Return the nodes of each partition, ascending; one of all nodes where a step can hold them.

    Args:
        graph: Cut by METIS where that is installed and the graph is not too large for it, else by chance.
        seed: Of METIS, and of which clusters make a partition.
        multiple_of: The number of partitions is a multiple of this.
        whole_up_to: Nodes up to which the graph is one partition.
    """
    size = graph.num_nodes
    wanted = 1 if size <= whole_up_to else math.ceil(size / min(_NODES_PER_PARTITION, whole_up_to))
    count = math.ceil(wanted / multiple_of) * multiple_of
    if count == 1:
        return [torch.arange(size, device=graph.device)]
    draws, adjacency = torch_generator(seed, "parts"), graph.adjacency
    owner = torch.randperm(size, generator=draws) % count
    if importlib.util.find_spec("pymetis") is not None and adjacency.num_entries <= _METIS_UP_TO:
        clusters = count * min(_CLUSTERS, max(1, size // (count * _NODES_PER_CLUSTER)))
        cut = (torch.randperm(clusters, generator=draws) % count)[_metis(adjacency, clusters, seed)]
        if int(torch.bincount(cut, minlength=count).min()) > 1:  # else the graph has very many components
            owner = cut
    order = owner.argsort(stable=True).to(graph.device)
    return list(order.split(torch.bincount(owner, minlength=count).tolist()))


def induced_graph(graph: Graph, nodes: Tensor) -> Graph:
    """Return the subgraph among some nodes, given in ascending order; of all, the graph itself."""
    if len(nodes) == graph.num_nodes:
        return graph
    rows, kept = graph.adjacency.take_rows(nodes), nodes.to(graph.adjacency.columns.dtype)
    columns = torch.searchsorted(kept, rows.columns, out_int32=kept.dtype == torch.int32).clamp_max_(len(nodes) - 1)
    inside = kept[columns.long()] == rows.columns
    before = torch.zeros(len(columns) + 1, dtype=torch.int64, device=nodes.device)
    before[1:] = inside.cumsum(0)
    pointer = before[rows.row_pointer.long()].to(rows.row_pointer.dtype)
    adjacency = CSR(pointer, columns[inside], rows.values[inside], (len(nodes), len(nodes)))
    features = graph.features
    taken = features.take_rows(nodes) if isinstance(features, CSR) else features[nodes]
    return replace(graph, features=taken, adjacency=adjacency)


def _metis(adjacency: CSR, count: int, seed: int) -> Tensor:
    """Return the METIS cluster of each node [nodes]."""
    import pymetis

    pointer, columns = (part.cpu().numpy().astype(np.int32) for part in (adjacency.row_pointer, adjacency.columns))
    options = pymetis.Options(seed=derive_seed(seed, "metis") % 2**31)
    _, owner = pymetis.part_graph(count, pymetis.CSRAdjacency(pointer, columns), options=options, recursive=False)
    return torch.tensor(owner, dtype=torch.int64)
