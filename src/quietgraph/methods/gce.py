"""GCE: a graph convolution network under a loss that weighs improbable labels less."""

from dataclasses import dataclass
from typing import final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.train import Losses
from quietgraph.graph import Graph
from quietgraph.methods.base import Observed
from quietgraph.methods.gcn import ConvolutionClassifier, GCNNetwork
from quietgraph.params import param
from quietgraph.types import Labels, Scores

_LOG_FLOOR = -18.42  # log 1e-8


@final
@dataclass(kw_only=True, eq=False, repr=False)
class GCE(ConvolutionClassifier):
    """GCN under generalised cross-entropy (Zhang and Sabuncu, NeurIPS 2018).

    Ours: epochs of plain cross-entropy come first, and the loss is not truncated at improbable labels.
    """

    power: float = param(0.7, "0: cross-entropy, 1: mean absolute error (q)", low=1e-6, high=1)
    warm_up: int = param(40, "epochs of plain cross-entropy", low=0)

    def _losses(self, network: GCNNetwork, graph: Graph, observed: Observed) -> Losses:
        targets = observed.codes[observed.train]

        def losses(epoch: int) -> dict[str, Tensor]:
            scores = network(graph)[0][observed.train]
            if epoch < self.warm_up:
                return {"loss": F.cross_entropy(scores, targets)}
            return {"loss": generalised_cross_entropy(scores, targets, power=self.power).mean()}

        return losses


def generalised_cross_entropy(scores: Scores, labels: Labels, *, power: float) -> Tensor:
    """Return (1 - p^power) / power for the probability p of each label [nodes]."""
    chosen = scores.log_softmax(dim=1).gather(1, labels[:, None]).squeeze(1)
    return -torch.expm1(power * chosen.clamp_min(_LOG_FLOOR)) / power
