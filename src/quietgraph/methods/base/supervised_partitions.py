"""A graph convolution network on a large graph: trained in partitions, applied in blocks."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from quietgraph.embed import History, Schedule, normalise_rows, normalised_adjacency, train
from quietgraph.embed.scale.block_inference import BlockOperator, convolve_in_blocks
from quietgraph.embed.scale.each_partition import PartitionLosses
from quietgraph.embed.scale.partitions import Plan, induced_graph
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.supervised import GCNClassifier, label_loss, validation_score
from quietgraph.methods.base.task import Task
from quietgraph.types import Embeddings, Labels, Mask, Scores


def train_gcn_in_partitions(
    module: GCNClassifier, task: Task, plan: Plan, schedule: Schedule, *, feature_norm: str
) -> History:
    """Train on the labels of one partition after the other; keep the epoch of the best validation.

    Validation nodes are scored inside their partitions too, so an epoch never sees the whole graph.
    """

    def prepare(part: Graph, nodes: Tensor, seed: int) -> Callable[[int], dict[str, Tensor]]:  # noqa: ARG001
        operator, train_nodes = normalised_adjacency(part), task.train[nodes]
        targets = task.labels[nodes][train_nodes]
        weights = None if task.weights is None else task.weights[nodes][train_nodes]

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            features = normalise_rows(part.features, feature_norm)
            return {"loss": label_loss(module(operator, features)[train_nodes], targets, weights)}

        return losses

    taught = _partitions_with(plan, task.train)
    validation = _Validation(module, task, _partitions_with(plan, task.validation), feature_norm)
    return train(
        module,
        PartitionLosses(task.graph, taught, prepare),
        replace(schedule, steps=taught.steps),
        score=validation.score,
    )


def forward_in_blocks(
    module: GCNClassifier, graph: Graph, *, feature_norm: str
) -> tuple[Embeddings, Scores]:
    """Return hidden layer and scores of all nodes on the whole graph, without dropout."""
    operator = BlockOperator(graph.adjacency)
    with torch.no_grad():
        hidden = convolve_in_blocks(
            operator,
            graph.features,
            module.first.weight,
            norm=feature_norm,
            activate=lambda rows: (rows + module.first.bias).relu(),
        )
        projected = hidden @ module.second.weight
        return hidden, operator.spread(projected) + module.second.bias


class _Validation:
    """Scores a network on the validation nodes of all partitions."""

    def __init__(self, module: GCNClassifier, task: Task, plan: Plan, feature_norm: str) -> None:
        self.module, self.task, self.norm = module, task, feature_norm
        device = task.graph.device
        self.seen = [self._prepare(plan.nodes(number).to(device)) for number in plan.ours()]

    def score(self) -> float:
        """Return validation accuracy, ties broken by the loss."""
        found = [
            self.module(operator, normalise_rows(features, self.norm))[held_out]
            for operator, features, held_out, _ in self.seen
        ]
        scores, labels = torch.cat(found), torch.cat([wanted for *_, wanted in self.seen])
        return validation_score(scores, labels, torch.ones_like(labels, dtype=torch.bool))

    def _prepare(self, nodes: Tensor) -> tuple[CSR, Features, Mask, Labels]:
        part, held_out = induced_graph(self.task.graph, nodes), self.task.validation[nodes]
        wanted = self.task.labels[nodes][held_out]
        return normalised_adjacency(part), part.features, held_out, wanted


def _partitions_with(plan: Plan, marked: Mask) -> Plan:
    """Return the plan of the partitions that hold any of the marked nodes."""
    every = (plan.partitions[number] for number in plan.ours())
    held = [nodes for nodes in every if bool(marked[nodes.to(marked.device)].any())]
    sizes = tuple(len(nodes) for nodes in held)
    return replace(plan, sizes=sizes, partitions=dict(enumerate(held)))
