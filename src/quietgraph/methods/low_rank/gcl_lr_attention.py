"""GCL-LR-Attention: GCL-LRR with low-rank attention before the classifier."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import attention_matrix
from quietgraph.classify.attention import attention_of_gram
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.low_rank.attribute_branch import (
    add_branch,
    branch_features,
    has_branch,
    prepare_branch,
)
from quietgraph.methods.low_rank.contrast import LowRankContrast
from quietgraph.methods.low_rank.large_features import gram_in_blocks, is_large
from quietgraph.params import Settings, param
from quietgraph.types import Embeddings, Scores


@final
@dataclass(kw_only=True, eq=False)
class GCLLRAttention(LowRankContrast):
    """Low-rank contrastive embeddings, attention, linear classifier (GCL-LR-Attention)."""

    citation: ClassVar[str] = (
        "Graph contrastive learning with low-rank regularization and low-rank attention "
        "for noisy node classification."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 11

    smoothing: int | None = param(
        None,
        "propagations that average the features over neighbours; none: 10, on heterophilous "
        "graphs 0",
        low=0,
        after_embedding=True,
    )
    attention: str = param(
        "residual",
        "features: embeddings beside attended ones (residual), or F = K H / lambda_1 alone (plain)",
        choices=("residual", "plain"),
        after_embedding=True,
    )
    attention_weight: float = param(
        2.0, "weight of attended features beside the embeddings", low=0, after_embedding=True
    )

    attribute_branch: bool = param(
        True,
        "average with the same classifier on attributes that are smoothed over neighbours; never "
        "on heterophilous graphs nor above 200,000 nodes",
        after_embedding=True,
    )

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        if not (self.attribute_branch and has_branch(task)):
            return super()._decide(embedded, task)
        alone = replace(self, attribute_branch=False, class_prior_adjustment=False)
        branch = embedded.once(
            "attribute branch", lambda: prepare_branch(self, task.graph, task.seed)
        )
        learned = alone._decide(embedded, replace(task, asked=None))  # the branch scores all nodes
        return add_branch(self, learned, branch, task)

    def classifier_features(self) -> Tensor | None:
        """Return what the linear classifier saw of every node of `fit` [nodes, features]."""
        features = super().classifier_features()
        if features is None or "attribute_weight" not in self.state_:
            return features
        around = branch_features(self, self.task_.graph, self.state_)
        return torch.cat([features, around], dim=1)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        scores, embeddings = super()._apply(graph, state)
        if "attribute_weight" in state:
            scores = scores + branch_features(self, graph, state) @ state["attribute_weight"]
        return scores, embeddings

    def _survey(self, rows: Embeddings) -> dict[str, Tensor]:
        if is_large(rows):
            return {"attention": attention_of_gram(gram_in_blocks(rows))}
        return {"attention": attention_matrix(rows)}

    def _features(self, rows: Embeddings, state: dict[str, Tensor]) -> Tensor:
        attended = rows @ state["attention"]
        if self.attention == "plain":
            return attended
        return torch.cat([rows, self.attention_weight * F.normalize(attended, dim=1)], dim=1)
