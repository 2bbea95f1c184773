"""GCE: a graph convolution network under a loss that weighs improbable labels less."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.methods.base.task import Task
from quietgraph.methods.gcn.backbone import GCNBackbone, Network
from quietgraph.methods.gcn.gcn import GCN
from quietgraph.params import Presets, Settings, param
from quietgraph.types import Labels, Scores

_KEPT_FRACTION = 0.3  # of each class that pruning leaves, however unlikely its labels
_LOG_FLOOR = -18.42  # log 1e-8


@final
@dataclass(kw_only=True, eq=False)
class GCE(GCNBackbone):
    """Graph convolutions under generalised cross entropy (Zhang and Sabuncu, 2018)."""

    citation: ClassVar[str] = (
        "Zhang and Sabuncu: Generalized cross entropy loss for training deep neural "
        "networks with noisy labels. NeurIPS 2018."
    )
    quick: ClassVar[Settings] = {"epochs": 6, "warm_up": 2, "hidden": 16}
    cora_seconds: ClassVar[float] = 7
    presets: ClassVar[Presets] = GCN.presets

    power: float = param(0.7, "0: cross entropy, 1: mean absolute error (q)", low=1e-6, high=1)
    # Early on this loss follows its own first guesses; on noisy Cora, validation prefers 40 to 0.
    warm_up: int = param(40, "epochs of plain cross entropy", low=0)
    prune_below: float | None = param(
        None, "leave out labels whose probability is below this (k); None: keep all", low=0, high=1
    )
    prune_from: int = param(50, "first epoch that prunes", low=0)
    prune_every: int = param(10, "epochs between two prunings", low=1)

    def _losses(self, task: Task, network: Network) -> Callable[[int], dict[str, Tensor]]:
        targets = task.labels[task.train]
        kept = torch.ones_like(targets, dtype=torch.bool)

        def losses(epoch: int) -> dict[str, Tensor]:
            nonlocal kept
            if self._prunes(epoch):
                probabilities = network.evaluate()[1][task.train].softmax(dim=1)
                kept = probable_labels(probabilities, targets, above=self.prune_below or 0.0)
            scores = network.scores()[task.train]
            if epoch < self.warm_up:
                return {"loss": F.cross_entropy(scores, targets)}
            costs = generalised_cross_entropy(scores, targets, power=self.power)
            return {"loss": (costs * kept).mean()}

        return losses

    def _prunes(self, epoch: int) -> bool:
        waited = epoch - self.prune_from
        return self.prune_below is not None and waited >= 0 and waited % self.prune_every == 0


def generalised_cross_entropy(scores: Scores, labels: Labels, *, power: float) -> Tensor:
    """Return (1 - p^power) / power for the probability p of each label [nodes].

    Towards power 0 it is cross entropy -log p, at power 1 it is 1 - p. Its gradient is that of
    cross entropy times p^power, so labels that the model finds improbable weigh less.
    """
    chosen = scores.log_softmax(dim=1).gather(1, labels[:, None]).squeeze(1)
    return -torch.expm1(power * chosen.clamp_min(_LOG_FLOOR)) / power


def probable_labels(probabilities: Tensor, labels: Labels, *, above: float) -> Tensor:
    """Return which labels are likelier than `above`, at least 30 % of each class [nodes] bool."""
    probability = probabilities.gather(1, labels[:, None]).squeeze(1)
    kept = probability > above
    for code in torch.unique(labels):
        members = (labels == code).nonzero().squeeze(1)
        fewest = math.ceil(_KEPT_FRACTION * len(members))
        kept[members[probability[members].topk(fewest).indices]] = True
    return kept
