"""What NRGNN and RTGNN share: an edge predictor beside two networks on the graph it links."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor, nn

from quietgraph.embed import Schedule, normalise_rows, normalised_adjacency, train
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import validation_score
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.linked.edge_predictor import EdgePredictor, LinkedGCN, upper_edges
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores


@dataclass(kw_only=True, eq=False)
class LinkedBackbone(NodeClassifier):
    """Two networks on a graph whose missing links are learned at the same time."""

    hidden: int = param(16, "width of the hidden layers", low=1)
    edge_dim: int = param(64, "width of the edge predictor", low=1)
    dropout: float = param(0.5, "fraction of hidden entries dropped", low=0, high=0.99)
    feature_norm: str = param("none", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(200, "training epochs", low=1)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(1e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    @abstractmethod
    def _trainer(self, task: Task) -> "LinkedTrainer":
        """Return what gives the losses and the validation score of every epoch."""

    def _fit(self, task: Task) -> Fitted:
        trainer = self._trainer(task)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        history = train(trainer.networks, trainer.losses, schedule, score=trainer.score)
        hidden, scores = trainer.output
        return Fitted(scores, hidden, history, notes=trainer.notes())


class LinkedNetworks(nn.Module):
    """The edge predictor and the two networks that classify."""

    def __init__(self, method: LinkedBackbone, task: Task, *, unit_length: bool) -> None:
        super().__init__()
        num_features = task.graph.num_features
        sizes = (num_features, method.hidden, task.num_classes, method.dropout)
        self.predictor = EdgePredictor(num_features, method.edge_dim, unit_length=unit_length)
        self.first, self.second = LinkedGCN(*sizes), LinkedGCN(*sizes)


class LinkedTrainer(ABC):
    """The networks, what they read, and the best of what they predicted."""

    output: tuple[Embeddings, Scores]  # of the epoch with the best validation score

    def __init__(self, method: LinkedBackbone, task: Task, *, unit_length: bool) -> None:
        self.task = task
        self.features = normalise_rows(task.graph.features, method.feature_norm)
        self.operator = normalised_adjacency(task.graph)
        self.edges = upper_edges(task.graph)
        networks = LinkedNetworks(method, task, unit_length=unit_length)
        self.networks = networks.to(task.graph.device)
        self.best = -math.inf

    @abstractmethod
    def losses(self, epoch: int) -> dict[str, Tensor]:
        """Return the losses of an epoch; "loss" is minimised."""

    @abstractmethod
    def score(self) -> float:
        """Return the validation score after a step."""

    def notes(self) -> dict[str, float]:
        """Return notes on the fit."""
        return {}

    def keep_best(self, hidden: Embeddings, scores: Scores) -> float:
        """Return the validation score of a prediction; keep the prediction if it is the best."""
        reached = validation_score(scores, self.task.labels, self.task.validation)
        if reached > self.best:
            self.best, self.output = reached, (hidden, scores)
        return reached
