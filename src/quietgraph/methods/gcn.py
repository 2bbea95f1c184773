"""GCN: the plain graph convolution network that every other method must beat under noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch.nn.functional as F
from torch import Tensor

from quietgraph.methods.gcn_backbone import GCNBackbone, Network
from quietgraph.methods.task import Task

_SHCHUR = {"dropout": 0.8, "weight_decay": 1e-3, "feature_norm": "l2"}


@final
@dataclass(kw_only=True, eq=False)
class GCN(GCNBackbone):
    """Two graph convolutions trained on the given labels (Kipf and Welling, 2017)."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "coauthor-cs": _SHCHUR,
        "amazon-computers": _SHCHUR,
        "amazon-photo": _SHCHUR,
    }

    def _losses(self, task: Task, network: Network) -> Callable[[int], dict[str, Tensor]]:
        targets = task.labels[task.train]

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            return {"loss": F.cross_entropy(network.scores()[task.train], targets)}

        return losses
