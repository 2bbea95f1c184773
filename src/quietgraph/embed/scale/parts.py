"""A graph in parts: which nodes are trained on together, and the subgraph among them.

METIS (the package `pymetis`) finds small pieces that cut few edges, and a part is many pieces from
all over the graph: nodes of one piece are much alike, and a contrast among them alone would push
apart what belongs together. Without METIS the nodes are dealt at random.
"""

import importlib.util
import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.distributed import World
from quietgraph.errors import InvalidParameterError
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import derive_seed, torch_generator

WHOLE_UP_TO = 200_000  # nodes: a step on all of them holds 12 KB a node, 2.4 GB, at width 256
NODES_PER_PART = 50_000  # a step holds 0.6 GB; smaller parts cut more edges and are no faster
_PIECES = 128  # of a part; fewer lose fewer edges, but accuracy with them
_NODES_PER_PIECE = 20  # at least


@dataclass(frozen=True, eq=False)
class Plan:
    """Which parts each step trains on, and which of them this process does.

    Parts are dealt to lanes. A step takes one part of every lane, in an order that is drawn anew
    in every epoch; lanes are dealt to the processes. So a step is the same whether one process
    does all its parts or each process does one.
    """

    parts: tuple[Tensor, ...]  # node indices, ascending; every node is in one part
    lanes: int
    world: World
    seed: int

    @property
    def steps(self) -> int:
        """Steps of an epoch."""
        return len(self.parts) // self.lanes

    @property
    def num_nodes(self) -> int:
        """Nodes of all parts."""
        return sum(len(part) for part in self.parts)

    def group(self, epoch: int, step: int) -> list[int]:
        """Return the parts of a step, lane by lane."""
        return [self._order(epoch, lane)[step] for lane in range(self.lanes)]

    def is_ours(self, part: int) -> bool:
        """Whether this process trains on the part."""
        return (part % self.lanes) % self.world.size == self.world.rank

    def ours(self) -> list[int]:
        """Return all parts of this process."""
        return [part for part in range(len(self.parts)) if self.is_ours(part)]

    def _order(self, epoch: int, lane: int) -> list[int]:
        draws = torch_generator(self.seed, "order of parts", epoch, lane)
        order = torch.randperm(self.steps, generator=draws)
        return (order * self.lanes + lane).tolist()


def count_parts(num_nodes: int, wanted: int = 0, *, lanes: int = 1) -> int:
    """Return how many parts a graph is trained in: a multiple of the lanes.

    Args:
        num_nodes: Size of the graph.
        wanted: 0 chooses by size: the whole graph up to 200,000 nodes, else parts of 50,000.
        lanes: Parts per step.
    """
    if wanted == 0:
        wanted = 1 if num_nodes <= WHOLE_UP_TO else math.ceil(num_nodes / NODES_PER_PART)
    count = math.ceil(wanted / lanes) * lanes
    if count > max(1, num_nodes // 2):
        raise InvalidParameterError(
            f"parts must leave at least two nodes to each, got {count} parts for {num_nodes:,} "
            "nodes. Ask for fewer parts or workers."
        )
    return count


def count_lanes(parts_per_step: int, world: World) -> int:
    """Return how many parts a step takes: as many as asked for, and as many from every process."""
    return math.ceil(parts_per_step / world.size) * world.size


def describe_parts(num_nodes: int, wanted: int, *, lanes: int = 1) -> str:
    """Return in one line how a graph is trained, and why."""
    count = count_parts(num_nodes, wanted, lanes=lanes)
    why = "as asked for"
    if wanted == 0 and count == lanes > 1:
        why = "one for each place in a step"
    elif wanted == 0:
        side = "up to" if num_nodes <= WHOLE_UP_TO else "above"
        why = f"chosen for {num_nodes:,} nodes, {side} {WHOLE_UP_TO:,}"
    if count == 1:
        return f"training on the whole graph in every step ({why})"
    way = "by METIS" if has_metis() else "at random: METIS comes with quietgraph[scale]"
    size = f"of about {num_nodes // count:,} nodes, {lanes} in a step"
    return f"training in {count} parts {size} ({why}; cut {way})"


def make_plan(graph: Graph, count: int, *, lanes: int, world: World, seed: int) -> Plan:
    """Return the plan for a graph; in a world of several processes the first one cuts."""
    owner = None
    if world.is_first:
        owner = cut_nodes(graph.adjacency, count, seed=seed)
    owner = world.agree(owner)
    order = torch.argsort(owner, stable=True)
    parts = torch.split(order, torch.bincount(owner, minlength=count).tolist())
    return Plan(tuple(parts), lanes, world, seed)


def cut_nodes(adjacency: CSR, count: int, *, seed: int) -> Tensor:
    """Return the part of each node, parts of nearly equal size [nodes] int64."""
    num_nodes = adjacency.shape[0]
    if count == 1:
        return torch.zeros(num_nodes, dtype=torch.int64)
    draws = torch_generator(seed, "parts")
    if has_metis() and adjacency.num_entries < 2**31:  # METIS counts in 32 bits
        pieces = count * min(_PIECES, max(1, num_nodes // (count * _NODES_PER_PIECE)))
        dealt = torch.randperm(pieces, generator=draws) % count
        owner = dealt[_cut_by_metis(adjacency, pieces, seed)]
        # METIS may leave pieces empty where the graph falls apart by itself.
        if int(torch.bincount(owner, minlength=count).min()) > 1:
            return owner
    return torch.randperm(num_nodes, generator=draws) % count


def has_metis() -> bool:
    """Whether METIS is installed."""
    return importlib.util.find_spec("pymetis") is not None


def _cut_by_metis(adjacency: CSR, count: int, seed: int) -> Tensor:
    import pymetis  # noqa: PLC0415  (an extra)

    pointer, columns = (
        np.ascontiguousarray(part.cpu().numpy(), dtype=np.int32)
        for part in (adjacency.row_pointer, adjacency.columns)
    )
    options = pymetis.Options(seed=derive_seed(seed, "metis") % 2**31)
    graph = pymetis.CSRAdjacency(pointer, columns)
    _, owner = pymetis.part_graph(count, graph, options=options, recursive=False)
    return torch.tensor(owner, dtype=torch.int64)


def induced_graph(graph: Graph, nodes: Tensor) -> Graph:
    """Return the subgraph among some nodes, given in ascending order."""
    rows = graph.adjacency.take_rows(nodes)
    position = torch.full((graph.num_nodes,), -1, dtype=rows.columns.dtype, device=nodes.device)
    position[nodes] = torch.arange(len(nodes), dtype=position.dtype, device=nodes.device)
    columns = position[rows.columns.long()]
    inside = columns >= 0
    kept = torch.zeros(len(columns) + 1, dtype=torch.int64, device=nodes.device)
    kept[1:] = inside.cumsum(0)
    pointer = kept[rows.row_pointer.long()].to(rows.row_pointer.dtype)
    size = (len(nodes), len(nodes))
    adjacency = CSR(pointer, columns[inside], rows.values[inside], size)
    return replace(graph, features=take_features(graph.features, nodes), adjacency=adjacency)


def take_features(features: Features, nodes: Tensor) -> Features:
    """Return the feature rows of some nodes [nodes, features]."""
    return features.take_rows(nodes) if isinstance(features, CSR) else features[nodes]
