"""GCL-LRR: contrastive embeddings kept low-rank, and a linear transductive classifier."""

from dataclasses import dataclass
from typing import ClassVar, final

from quietgraph.methods.low_rank.contrast import LowRankContrast
from quietgraph.params import Settings


@final
@dataclass(kw_only=True, eq=False)
class GCLLRR(LowRankContrast):
    """Low-rank contrastive embeddings, linear classifier (the paper's GCL-LRR)."""

    citation: ClassVar[str] = (
        "Graph contrastive learning with low-rank regularization and low-rank attention "
        "for noisy node classification."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16, "dim": 16}
    cora_seconds: ClassVar[float] = 11
