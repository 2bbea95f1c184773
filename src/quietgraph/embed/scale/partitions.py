"""A graph in partitions: which nodes are trained on together, and the subgraph among them.

METIS (the package `pymetis`) or streaming finds small clusters that cut few edges, and a partition
is made of many clusters from all over the graph: nodes of one cluster are similar, and a contrast
among them alone would push apart what belongs together.
"""

import importlib.util
import math
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.distributed import ALONE, World
from quietgraph.embed.scale.streaming import cut_by_streaming
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import derive_seed, torch_generator

WHOLE_UP_TO = 200_000  # nodes: a step on all of them holds 12 KB a node, 2.4 GB, at width 256
NODES_PER_PARTITION = 50_000  # a step holds 0.6 GB; smaller ones cut more edges, no faster
PARTITIONS_HELP = "partitions to train in; 0 chooses by size, 1 is the whole graph"
PARTITIONERS: Final = ("auto", "metis", "streaming", "random")
PARTITIONER_HELP: Final = (
    "what cuts the graph into partitions: METIS, a streaming pass, chance; auto: METIS where it is "
    "installed and the graph has at most 30 million edges, else streaming"
)
_METIS_UP_TO: Final = 60_000_000  # stored entries, two an edge: METIS works in one process
_CLUSTERS = 128  # of a partition; fewer lose fewer edges, but accuracy with them
_NODES_PER_CLUSTER = 20  # at least
_AT_ONCE = 2**20  # nodes assigned at a time


@dataclass(frozen=True, eq=False)
class Plan:
    """Which partitions each step trains on, and which of them this process does.

    Partitions are assigned to slots. A step takes one partition of every slot, in an order that is
    drawn anew in every epoch; slots are assigned to the processes. So a step is the same whether
    one process does all its partitions or each process does one.
    """

    sizes: tuple[int, ...]  # nodes of each partition; every node is in one
    partitions: dict[int, Tensor]  # node indices of those of this process, ascending int32
    per_step: int  # number of slots
    world: World
    seed: int

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return len(self.sizes) // self.per_step

    @property
    def num_nodes(self) -> int:
        """Nodes of all partitions."""
        return sum(self.sizes)

    def nodes(self, partition: int) -> Tensor:
        """Return the nodes of a partition of this process, ascending [nodes] int64."""
        return self.partitions[partition].long()

    def group(self, epoch: int, step: int) -> list[int]:
        """Return the partitions of a step, slot by slot."""
        return [self._order(epoch, slot)[step] for slot in range(self.per_step)]

    def slot(self, partition: int) -> int:
        """Return the slot of a partition."""
        return partition % self.per_step

    def is_ours(self, partition: int) -> bool:
        """Whether this process trains on the partition."""
        return _is_ours(partition, self.per_step, self.world)

    def ours(self) -> list[int]:
        """Return all partitions of this process."""
        return [number for number in range(len(self.sizes)) if self.is_ours(number)]

    def _order(self, epoch: int, slot: int) -> list[int]:
        if self.steps == 1:
            return [slot]
        draws = torch_generator(self.seed, "order of parts", epoch, slot)
        order = torch.randperm(self.steps, generator=draws)
        return (order * self.per_step + slot).tolist()


def count_partitions(num_nodes: int, wanted: int = 0, *, per_step: int = 1) -> int:
    """Return how many partitions a graph is trained in: a multiple of those per step.

    Args:
        num_nodes: Size of the graph.
        wanted: 0 chooses by size: the whole graph up to 200,000 nodes, else partitions of 50,000.
        per_step: Partitions per step.
    """
    if wanted == 0:
        wanted = 1 if num_nodes <= WHOLE_UP_TO else math.ceil(num_nodes / NODES_PER_PARTITION)
    count = math.ceil(wanted / per_step) * per_step
    if count > max(1, num_nodes // 2):
        raise InvalidParameterError(
            f"partitions must hold at least two nodes each, got {count} partitions for "
            f"{num_nodes:,} nodes. Ask for fewer partitions or workers."
        )
    return count


def count_per_step(wanted: int, world: World) -> int:
    """Return how many partitions a step takes: as many as asked for, and as many per process."""
    return math.ceil(wanted / world.size) * world.size


def describe_partitions(
    graph: Graph, wanted: int, *, per_step: int = 1, partitioner: str = "auto"
) -> str:
    """Return in one line how a graph is trained, and why."""
    num_nodes, partitioner = graph.num_nodes, choose_partitioner(graph.adjacency, partitioner)
    count = count_partitions(num_nodes, wanted, per_step=per_step)
    why = "as asked for"
    if wanted == 0 and count == per_step > 1:
        why = "one for each place in a step"
    elif wanted == 0:
        side = "up to" if num_nodes <= WHOLE_UP_TO else "above"
        why = f"chosen for {num_nodes:,} nodes, {side} {WHOLE_UP_TO:,}"
    if count == 1:
        return f"training on the whole graph in every step ({why})"
    way = {"metis": "by METIS", "streaming": "by streaming", "random": "at random"}[partitioner]
    size = f"of about {num_nodes // count:,} nodes, {per_step} in a step"
    return f"training in {count} partitions {size} ({why}; cut {way})"


def make_plan(
    graph: Graph,
    count: int,
    *,
    per_step: int = 1,
    world: World = ALONE,
    seed: int,
    partitioner: str = "auto",
) -> Plan:
    """Return the plan for a graph, the same in all processes but for whose nodes are listed."""
    owner = cut_nodes(graph.adjacency, count, seed=seed, world=world, partitioner=partitioner)
    sizes = _sizes(owner, count)
    ours = [number for number in range(count) if _is_ours(number, per_step, world)]
    partitions = dict(zip(ours, _list_nodes(owner, sizes, torch.tensor(ours)), strict=True))
    return Plan(tuple(sizes.tolist()), partitions, per_step, world, seed)


def _list_nodes(owner: Tensor, sizes: Tensor, wanted: Tensor) -> tuple[Tensor, ...]:
    """Return the nodes of some partitions, ascending; nothing else as long as the graph is made.

    Args:
        owner: Partition of each node [nodes].
        sizes: Nodes of each partition [partitions].
        wanted: Which partitions.
    """
    few = sizes[wanted]
    kind = torch.int32 if len(owner) < 2**31 else torch.int64
    listed, place = torch.empty(int(few.sum()), dtype=kind), torch.full_like(sizes, -1)
    place[wanted] = few.cumsum(0) - few  # of the next node of each partition
    for start, block in enumerate(torch.split(owner, _AT_ONCE)):
        found, order = block.long().sort(stable=True)
        counts = torch.bincount(found, minlength=len(sizes))
        before = torch.arange(len(found)) - (counts.cumsum(0) - counts)[found]
        inside = place[found] >= 0
        places = (place[found] + before)[inside]
        listed[places] = (order[inside] + start * _AT_ONCE).to(kind)
        place[wanted] += counts[wanted]
    return torch.split(listed, few.tolist())


def _is_ours(partition: int, per_step: int, world: World) -> bool:
    return (partition % per_step) % world.size == world.rank


def _sizes(owner: Tensor, count: int) -> Tensor:
    """Return how many nodes each partition has [count]; blocks spare a copy in 64 bits."""
    counts = [torch.bincount(block, minlength=count) for block in torch.split(owner, _AT_ONCE)]
    return torch.stack(counts).sum(dim=0)


def choose_partitioner(adjacency: CSR, wanted: str = "auto") -> str:
    """Return what cuts a graph: `metis`, `streaming` or `random`."""
    if wanted == "metis" and not has_metis():
        raise InvalidParameterError(
            "partitioner is metis, which is not installed. Install quietgraph[scale], or choose "
            "streaming."
        )
    if wanted == "metis" and adjacency.num_entries >= 2**31:
        raise InvalidParameterError(
            f"METIS counts in 32 bits, and the graph has {adjacency.num_entries:,} stored entries. "
            "Choose the partitioner streaming."
        )
    if wanted != "auto":
        return wanted
    return "metis" if has_metis() and adjacency.num_entries <= _METIS_UP_TO else "streaming"


def cut_nodes(
    adjacency: CSR, count: int, *, seed: int, world: World = ALONE, partitioner: str = "auto"
) -> Tensor:
    """Return the partition of each node, all of nearly equal size [nodes] int32.

    METIS runs in the first process and holds the whole adjacency; all processes stream together.

    Args:
        adjacency: Of the graph.
        count: Number of partitions.
        seed: Of METIS, and of which clusters make a partition.
        world: The processes that train together; all get the same answer.
        partitioner: One of `PARTITIONERS`.
    """
    num_nodes = adjacency.shape[0]
    if count == 1:
        return torch.zeros(num_nodes, dtype=torch.int32)
    draws, way = torch_generator(seed, "parts"), choose_partitioner(adjacency, partitioner)
    if way != "random":
        clusters = count * min(_CLUSTERS, max(1, num_nodes // (count * _NODES_PER_CLUSTER)))
        partition_of = torch.randperm(clusters, generator=draws).to(torch.int32) % count
        if way == "streaming":
            found = cut_by_streaming(adjacency, clusters, world=world)
        else:
            found = world.agree(cut_by_metis(adjacency, clusters, seed) if world.is_first else None)
        for block in torch.split(found, _AT_ONCE):
            block.copy_(partition_of[block.long()])
        # Clusters may be empty where the graph has many components.
        if int(_sizes(found, count).min()) > 1:
            return found
    return (torch.randperm(num_nodes, generator=draws) % count).to(torch.int32)


def has_metis() -> bool:
    """Whether METIS is installed."""
    return importlib.util.find_spec("pymetis") is not None


def cut_by_metis(adjacency: CSR, count: int, seed: int) -> Tensor:
    """Return the METIS cluster of each node [nodes] int32."""
    import pymetis  # noqa: PLC0415  (an extra)

    pointer, columns = (
        np.ascontiguousarray(index.cpu().numpy(), dtype=np.int32)
        for index in (adjacency.row_pointer, adjacency.columns)
    )
    options = pymetis.Options(seed=derive_seed(seed, "metis") % 2**31)
    graph = pymetis.CSRAdjacency(pointer, columns)
    _, owner = pymetis.part_graph(count, graph, options=options, recursive=False)
    return torch.tensor(owner, dtype=torch.int32)


def induced_graph(graph: Graph, nodes: Tensor) -> Graph:
    """Return the subgraph among some nodes, given in ascending order; of all, the graph itself."""
    if len(nodes) == graph.num_nodes:
        return graph
    rows = graph.adjacency.take_rows(nodes)
    # Searched for, as a table of positions would be as long as the graph.
    kept_nodes = nodes.to(rows.columns.dtype)
    columns = torch.searchsorted(
        kept_nodes, rows.columns, out_int32=rows.columns.dtype == torch.int32
    )
    columns.clamp_max_(len(nodes) - 1)
    inside = kept_nodes[columns.long()] == rows.columns
    kept = torch.zeros(len(columns) + 1, dtype=torch.int64, device=nodes.device)
    kept[1:] = inside.cumsum(0)
    pointer = kept[rows.row_pointer.long()].to(rows.row_pointer.dtype)
    size = (len(nodes), len(nodes))
    adjacency = CSR(pointer, columns[inside], rows.values[inside], size)
    return replace(graph, features=take_features(graph.features, nodes), adjacency=adjacency)


def take_features(features: Features, nodes: Tensor) -> Features:
    """Return the feature rows of some nodes [nodes, features]."""
    return features.take_rows(nodes) if isinstance(features, CSR) else features[nodes]
