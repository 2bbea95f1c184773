"""GCN: the plain graph convolution network that every other method must beat under noise."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch
from torch import Tensor

from quietgraph.embed import Schedule
from quietgraph.embed.scale.each_partition import plan_partitions
from quietgraph.embed.scale.partitions import PARTITIONS_HELP
from quietgraph.methods.base.supervised import label_loss
from quietgraph.methods.base.supervised_partitions import (
    forward_in_blocks,
    train_gcn_in_partitions,
)
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.gcn.backbone import LONG_ROWS, GCNBackbone, Network
from quietgraph.params import Presets, Settings, param

_SHCHUR: Final[Settings] = {"dropout": 0.8, "weight_decay": 1e-3, "feature_norm": "l2"}


@final
@dataclass(kw_only=True, eq=False)
class GCN(GCNBackbone):
    """Two graph convolutions trained on the observed labels (Kipf and Welling, 2017)."""

    citation: ClassVar[str] = (
        "Kipf and Welling: Semi-supervised classification with graph convolutional "
        "networks. ICLR 2017."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16}
    cora_seconds: ClassVar[float] = 5
    takes_weights: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "coauthor-cs": _SHCHUR,
        "amazon-computers": _SHCHUR,
        "amazon-photo": _SHCHUR,
        **dict.fromkeys(("blogcatalog", "flickr"), LONG_ROWS),
    }

    partitions: int = param(0, PARTITIONS_HELP, low=0, old_name="parts")

    def _fit(self, task: Task) -> Fitted:
        plan = plan_partitions(task.graph, self.partitions, seed=task.seed)
        if len(plan.sizes) == 1:
            return super()._fit(task)
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        norm = self.feature_norm
        history = train_gcn_in_partitions(module, task, plan, schedule, feature_norm=norm)
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        embeddings, scores = forward_in_blocks(module, task.graph, feature_norm=norm)
        return Fitted(scores, embeddings, history, state)

    def _losses(self, task: Task, network: Network) -> Callable[[int], dict[str, Tensor]]:
        targets = task.labels[task.train]

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            scores = network.scores()[task.train]
            return {"loss": label_loss(scores, targets, task.train_weights)}

        return losses
