"""GCL-LRR: contrastive embeddings kept low-rank, and a linear transductive classifier."""

from dataclasses import dataclass
from typing import final

from quietgraph.methods.low_rank.contrast import LowRankContrast


@final
@dataclass(kw_only=True, eq=False)
class GCLLRR(LowRankContrast):
    """Low-rank contrastive embeddings, linear classifier (the paper's GCL-LRR)."""
