"""GCL-LR-Attention: GCL-LRR with low-rank attention before the classifier."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import attention_matrix
from quietgraph.methods.low_rank import LowRankContrast
from quietgraph.params import param
from quietgraph.types import Embeddings


@final
@dataclass(kw_only=True, eq=False)
class GCLLRAttention(LowRankContrast):
    """Low-rank contrastive embeddings, attention, linear classifier (GCL-LR-Attention)."""

    attention: str = param(
        "residual",
        "features: embeddings beside attended ones (residual), or F = K H / lambda_1 alone (plain)",
        choices=("residual", "plain"),
        after_embedding=True,
    )

    def _prepare(self, embeddings: Embeddings) -> dict[str, Tensor]:
        state = super()._prepare(embeddings)
        attended = attention_matrix(super()._features(embeddings, state))
        return {**state, "attention": attended}

    def _features(self, embeddings: Embeddings, state: dict[str, Tensor]) -> Tensor:
        plain = super()._features(embeddings, state)
        attended = plain @ state["attention"]
        if self.attention == "plain":
            return attended
        return torch.cat([plain, F.normalize(attended, dim=1)], dim=1)
