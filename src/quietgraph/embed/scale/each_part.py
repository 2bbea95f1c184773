"""Training of any method in parts: every step is the method's own loss on one subgraph."""

from collections.abc import Callable, Mapping

from torch import Tensor

from quietgraph.embed.scale.distributed import ALONE
from quietgraph.embed.scale.parts import Plan, count_parts, induced_graph, make_plan
from quietgraph.graph import Graph
from quietgraph.rng import derive_seed

Losses = Callable[[int], Mapping[str, Tensor]]  # of an epoch


def plan_parts(graph: Graph, wanted: int, *, seed: int) -> Plan | None:
    """Return the parts to train in, one a step; None for the whole graph."""
    count = count_parts(graph.num_nodes, wanted)
    return None if count == 1 else make_plan(graph, count, lanes=1, world=ALONE, seed=seed)


class EachPart:
    """The losses of a method on one part after the other; what it prepares of a part is kept."""

    def __init__(
        self, graph: Graph, plan: Plan, prepare: Callable[[Graph, Tensor, int], Losses]
    ) -> None:
        """Args: the graph, its parts, and what gives the losses of a subgraph.

        `prepare` is given the subgraph, its nodes in the graph and a seed of its own.
        """
        self.graph, self.plan, self.prepare = graph, plan, prepare
        self.steps = plan.steps
        self.sum = 0.0  # of the losses in this epoch so far
        self.known: dict[int, Losses] = {}

    def losses(self, epoch: int, step: int) -> Mapping[str, Tensor]:
        """Return the losses of the step's part."""
        (part,) = self.plan.group(epoch, step)
        if part not in self.known:
            self.known[part] = self._prepare(part)
        values = self.known[part](epoch)
        self.sum = float(values["loss"].detach()) + (self.sum if step else 0.0)
        return values

    def score(self) -> float:
        """Return minus the sum of the losses of the last epoch: the lowest loss is the best."""
        return -self.sum

    def _prepare(self, part: int) -> Losses:
        nodes = self.plan.parts[part].to(self.graph.device)
        seed = derive_seed(self.plan.seed, "part", part)
        return self.prepare(induced_graph(self.graph, nodes), nodes, seed)
