"""What supervised methods share: a graph convolution network and training by noisy validation."""

from collections.abc import Callable, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import History, Schedule, project, propagate, train
from quietgraph.graph import CSR, Features
from quietgraph.methods.base.task import Task
from quietgraph.types import Labels, Mask, Scores

_TIE_BREAK = 1e-5  # how much validation loss counts beside validation accuracy


class GraphConvolution(nn.Module):
    """One layer: A X W + b, Glorot weights, zero bias."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(inputs, outputs)))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, operator: CSR, features: Features) -> Tensor:
        """Return one row per node [nodes, outputs]."""
        return propagate(operator, project(features, self.weight)) + self.bias


class GCNClassifier(nn.Module):
    """Two graph convolutions with a ReLU between, dropout before each."""

    def __init__(self, num_features: int, hidden: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.first = GraphConvolution(num_features, hidden)
        self.second = GraphConvolution(hidden, num_classes)
        self.dropout = dropout

    def hidden(self, operator: CSR, features: Features) -> Tensor:
        """Return the hidden layer, the embeddings of this model [nodes, hidden]."""
        dropped = drop_features(features, self.dropout, training=self.training)
        return self.first(operator, dropped).relu()  # type: ignore[no-any-return]

    def forward(self, operator: CSR, features: Features) -> Scores:
        """Return class scores [nodes, classes]."""
        hidden = F.dropout(self.hidden(operator, features), self.dropout, self.training)
        scores: Scores = self.second(operator, hidden)
        return scores


def drop_features(features: Features, rate: float, *, training: bool) -> Features:
    """Return features with entries dropped and the rest scaled up, sparse ones in place."""
    if not training or rate == 0:
        return features
    if isinstance(features, CSR):
        return features.with_values(F.dropout(features.values, rate))
    return F.dropout(features, rate)


def label_loss(scores: Scores, targets: Labels, weights: Tensor | None = None) -> Tensor:
    """Return the mean cross-entropy of labels, each counted by its weight if it has one."""
    if weights is None:
        return F.cross_entropy(scores, targets)
    costs = F.cross_entropy(scores, targets, reduction="none")
    return (costs * weights).sum() / weights.sum()


def validation_score(scores: Scores, labels: Labels, validation: Mask) -> float:
    """Return validation accuracy, ties broken by the loss; larger is better."""
    wanted, found = labels[validation], scores[validation]
    hits = float((found.argmax(dim=1) == wanted).float().mean())
    cost = float(F.cross_entropy(found, wanted))
    return hits - _TIE_BREAK * min(cost, 100.0) / 100.0


def train_supervised(
    module: nn.Module,
    losses: Callable[[int], Mapping[str, Tensor]],
    predict: Callable[[], Scores],
    task: Task,
    schedule: Schedule,
) -> History:
    """Train and keep the epoch that scores best on (noisy) validation labels."""
    return train(
        module,
        losses,
        schedule,
        score=lambda: validation_score(predict(), task.labels, task.validation),
        what="training",
    )
