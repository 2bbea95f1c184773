"""The partitions of a plan as a training reads them, and the random streams of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch

from quietgraph.embed.propagation import Propagation, normalise_rows
from quietgraph.embed.scale.partitions import Plan, induced_graph, take_features
from quietgraph.embed.views import View, ViewRates, view_structure
from quietgraph.graph import Features, Graph
from quietgraph.rng import torch_generator


@dataclass(frozen=True, eq=False)
class Partition:
    """What training needs of one partition."""

    number: int
    features: Features  # rows scaled
    structure: Propagation

    @cached_property
    def whole(self) -> View:
        """The partition unchanged."""
        return View(self.structure.operator())


class PartitionLoader:
    """Reads partitions: of several, structures are kept and features are read each time."""

    def __init__(self, graph: Graph, plan: Plan, rates: list[ViewRates], feature_norm: str) -> None:
        self.graph, self.plan, self.rates, self.feature_norm = graph, plan, rates, feature_norm
        self.is_whole = len(plan.sizes) == 1
        self.structures: dict[int, Propagation] = {}
        self.only: Partition | None = None  # kept where there is no other
        self.streams = {
            name: torch_generator(plan.seed, name) for name in ("views", "anchors", "clusters")
        }

    def load(self, number: int) -> Partition:
        """Return a partition."""
        if self.only is not None:
            return self.only
        graph, nodes = self.graph, self.plan.nodes(number).to(self.graph.device)
        if number not in self.structures:
            inside = induced_graph(graph, nodes)
            draws = torch_generator(self.plan.seed, *self._purpose("spare pairs", number))
            self.structures[number] = view_structure(inside, self.rates, draws)
        rows = graph.features if self.is_whole else take_features(graph.features, nodes)
        features = normalise_rows(rows, self.feature_norm)
        partition = Partition(number, features, self.structures[number])
        if self.is_whole:
            self.only = partition
        return partition

    def stream(self, name: str, number: int, epoch: int) -> torch.Generator:
        """Return the random stream of a partition in an epoch, whichever process trains on it."""
        if self.is_whole:
            return self.streams[name]
        return torch_generator(self.plan.seed, *self._purpose(name, number), epoch)

    def _purpose(self, name: str, number: int) -> Iterator[str | int]:
        yield name
        if not self.is_whole:
            yield number
