"""GCL-LR-Attention: GCL-LRR with low-rank attention before the classifier."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import attention_matrix
from quietgraph.methods.low_rank.contrast import LowRankContrast
from quietgraph.params import param
from quietgraph.types import Embeddings


@final
@dataclass(kw_only=True, eq=False)
class GCLLRAttention(LowRankContrast):
    """Low-rank contrastive embeddings, attention, linear classifier (GCL-LR-Attention)."""

    citation: ClassVar[str] = (
        "Graph contrastive learning with low-rank regularization and low-rank attention "
        "for noisy node classification."
    )
    quick: ClassVar[dict[str, Any]] = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16}
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

    def _survey(self, rows: Embeddings) -> dict[str, Tensor]:
        return {"attention": attention_matrix(rows)}

    def _features(self, rows: Embeddings, state: dict[str, Tensor]) -> Tensor:
        attended = rows @ state["attention"]
        if self.attention == "plain":
            return attended
        return torch.cat([rows, self.attention_weight * F.normalize(attended, dim=1)], dim=1)
