"""The losses of any method in partitions: every step is the method's own loss on one subgraph."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from torch import Tensor

from quietgraph.embed.scale.partitions import Plan, count_partitions, induced_graph, make_plan
from quietgraph.embed.training import Losses
from quietgraph.graph import Graph
from quietgraph.rng import derive_seed

# The losses of a subgraph, given the subgraph, its nodes in the graph and a seed of its own.
Prepare: TypeAlias = Callable[[Graph, Tensor, int], Losses]


def plan_partitions(graph: Graph, wanted: int, *, seed: int) -> Plan:
    """Return the partitions to train in, one a step; 0 chooses their number by size."""
    return make_plan(graph, count_partitions(graph.num_nodes, wanted), seed=seed)


class PartitionLosses:
    """The losses of a method on one partition after the other; each is prepared once.

    A single partition is the graph itself, prepared with the seed of the training.
    """

    def __init__(self, graph: Graph, plan: Plan, prepare: Prepare) -> None:
        self.graph, self.plan, self.prepare = graph, plan, prepare
        self.sum = 0.0  # of the losses in this epoch so far
        self.prepared: dict[int, Losses] = {}

    def __call__(self, number: int) -> Mapping[str, Tensor]:
        """Return the losses of the partition of a step."""
        epoch, step = divmod(number, self.plan.steps)
        (partition,) = self.plan.group(epoch, step)
        if partition not in self.prepared:
            self.prepared[partition] = self._prepare(partition)
        values = self.prepared[partition](epoch)
        self.sum = float(values["loss"].detach()) + (self.sum if step else 0.0)
        return values

    def score(self) -> float:
        """Return minus the sum of the losses of the last epoch: the lowest loss is the best."""
        return -self.sum

    def _prepare(self, partition: int) -> Losses:
        nodes = self.plan.nodes(partition).to(self.graph.device)
        seed = self.plan.seed
        if len(self.plan.sizes) > 1:
            seed = derive_seed(seed, "part", partition)
        return self.prepare(induced_graph(self.graph, nodes), nodes, seed)
