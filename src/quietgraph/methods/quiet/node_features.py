"""Features of the nodes of a graph for `quiet`: of large graphs in blocks of rows.

Candidates of a large graph learn from its labelled nodes and a sample of the others, whose
features are small enough to be held; the scores of all nodes are then computed block by block.
"""

from collections.abc import Callable
from copy import copy
from typing import Final

import torch
from torch import Tensor

from quietgraph.classify import SelfTraining
from quietgraph.classify.smoothing import similarity_along_edges
from quietgraph.embed.scale.node_sample import sample_nodes
from quietgraph.graph import Graph
from quietgraph.methods.base.task import Task
from quietgraph.methods.low_rank.large_features import in_blocks
from quietgraph.methods.quiet.features import (
    each_row,
    features_by_kind,
    is_large,
    project_clusters,
    project_own,
)
from quietgraph.methods.quiet.neighbour_rows import neighbour_rows
from quietgraph.methods.quiet.random_views import propagated, random_views
from quietgraph.rng import torch_generator
from quietgraph.types import Scores

_MOST_LABELS: Final = 50_000  # of a large graph that candidates learn from


class NodeFeatures:
    """What all features are made from: a few matrices of one row per node.

    Args:
        rows: Of `base_rows`.
        graph: With attributes.
        state: Of `prepare_features`.
    """

    def __init__(self, rows: dict[str, Tensor], graph: Graph, state: dict[str, Tensor]) -> None:
        self.graph, self.state, self.seed, self._rows = graph, state, int(state["seed"]), rows
        self._projected: Tensor | None = None
        self._propagated: Tensor | None = None
        self._neighbours: Tensor | None = None
        self._whole = None if is_large(graph.num_nodes) else LearningRows(self, slice(None))

    def to_learn_from(self, task: Task) -> tuple["LearningRows", Task]:
        """Return the features that candidates learn from, and the task on these nodes alone."""
        if self._whole is not None:
            return self._whole, task
        known = (task.train | task.validation).nonzero().squeeze(1)
        if len(known) > _MOST_LABELS:
            draws = torch_generator(self.seed, "labels to learn from")
            known = known[torch.randperm(len(known), generator=draws)[:_MOST_LABELS]]
        others = sample_nodes(self.graph.num_nodes, self.seed, device=known.device)
        nodes = torch.unique(torch.cat([known, others]))
        return LearningRows(self, nodes), task.on(nodes)

    def scored(
        self, score: Callable[[dict[str, Tensor]], Scores], asked: Tensor | None = None
    ) -> Scores:
        """Return what a function of features by kind gives for all nodes [nodes, classes].

        Args:
            score: The function.
            asked: The nodes of a large graph that are enough.
        """
        if self._whole is not None:
            return score(self._whole)
        if asked is None:
            return in_blocks(lambda rows: score(LearningRows(self, rows)), self.graph.num_nodes)
        return in_blocks(lambda rows: score(LearningRows(self, asked[rows])), len(asked))

    def rows(self, nodes: slice | Tensor) -> dict[str, Tensor]:
        """Return the rows of some nodes that `features_by_kind` takes."""
        return {name: matrix[nodes] for name, matrix in self._rows.items()}

    def projected(self, nodes: slice | Tensor) -> Tensor:
        """Return the kind `projected` of some nodes [rows, columns]."""
        own = self._rows["own"]
        if is_large(len(own)):
            return project_own(own[nodes], self.state)
        if self._projected is None:
            self._projected = project_own(own, self.state)
        return self._projected[nodes]

    def _every_projected(self) -> Tensor:
        """Return the kind `projected` of all nodes; of a large graph in blocks."""
        own = self._rows["own"]
        if is_large(len(own)):
            return each_row(lambda rows: project_own(rows, self.state), own)
        return self.projected(slice(None))

    def propagated(self, nodes: slice | Tensor) -> Tensor:
        """Return the kind `propagated` of some nodes [rows, columns]."""
        if self._propagated is None:
            large = is_large(self.graph.num_nodes)
            self._propagated = propagated(self.graph, self._every_projected(), in_blocks=large)
        return self._propagated[nodes]

    def neighbours(self, nodes: slice | Tensor) -> Tensor:
        """Return the kind `neighbours` of some nodes [rows, columns]."""
        if self._neighbours is None:
            large = is_large(self.graph.num_nodes)
            self._neighbours = neighbour_rows(self.graph, self._every_projected(), in_blocks=large)
        return self._neighbours[nodes]

    def random_views(self, nodes: slice | Tensor) -> Tensor:
        """Return random propagations of some nodes [views, rows, columns]."""
        if isinstance(nodes, Tensor):
            return random_views(self.graph, self._every_projected(), self.seed, nodes)
        return self.graph.once(
            ("random propagations", self.seed),
            lambda: random_views(self.graph, self._every_projected(), self.seed),
        )

    def neighbour_similarity(self) -> float:
        """Return the mean cosine of neighbours' own attributes less their mean."""
        own, mean = self._rows["own"], self.state["own_mean"]
        return similarity_along_edges(self.graph, own, seed=self.seed, mean=mean)


class LearningRows(dict[str, Tensor]):
    """Features by kind of some nodes [nodes, columns].

    Projected and propagated attributes, which only perceptrons read, and those of neighbours, which
    count on heterophilous graphs, are made when they are first asked for.
    """

    def __init__(self, source: NodeFeatures, nodes: slice | Tensor) -> None:
        super().__init__(features_by_kind(source.rows(nodes), source.state))
        self.source, self.nodes = source, nodes
        self._views: Tensor | None = None
        self._self_training: dict[str, SelfTraining] = {}

    def without_embeddings(self) -> "LearningRows":
        """Return the same, as it would be had no embeddings been learned."""
        rows = copy(self)
        for kind in ("wide", "both", "clusters", "joint clusters"):
            del rows[kind]
        rows["attribute clusters"] = self["attribute clusters"]
        return rows

    def __missing__(self, kind: str) -> Tensor:
        if kind == "attribute clusters":  # not kept: what is there is learned from
            return project_clusters(self["attributes"], self.source.state)
        if kind == "projected":
            self[kind] = self.source.projected(self.nodes)
        elif kind == "propagated":
            self[kind] = self.source.propagated(self.nodes)
        elif kind == "neighbours":
            self[kind] = self.source.neighbours(self.nodes)
        elif kind == "hops":
            self[kind] = torch.cat([self["projected"], self["neighbours"]], dim=1)
        else:
            raise KeyError(kind)
        return self[kind]

    def random_views(self) -> Tensor:
        """Return random propagations of these nodes [views, nodes, columns]."""
        if self._views is None:
            self._views = self.source.random_views(self.nodes)
        return self._views

    def self_training(self, kind: str) -> SelfTraining:
        """Return ridge regressions on one kind of features, factorised for all fits and folds."""
        if kind not in self._self_training:
            self._self_training[kind] = SelfTraining.of(self[kind])
        return self._self_training[kind]
