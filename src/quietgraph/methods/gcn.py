"""GCN: the plain graph convolution network that every other method must beat under noise."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import Schedule, normalise_rows, normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.supervised import GCNClassifier, train_supervised
from quietgraph.methods.task import Fitted, Task
from quietgraph.params import param
from quietgraph.types import Embeddings, Scores

_SHCHUR = {"dropout": 0.8, "weight_decay": 1e-3, "feature_norm": "l2"}


@final
@dataclass(kw_only=True, eq=False)
class GCN(NodeClassifier):
    """Two graph convolutions trained on the given labels (Kipf and Welling, 2017)."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "coauthor-cs": _SHCHUR,
        "amazon-computers": _SHCHUR,
        "amazon-photo": _SHCHUR,
    }

    hidden: int = param(64, "width of the hidden layer", low=1)
    dropout: float = param(0.5, "share of entries dropped before each layer", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(200, "training epochs", low=1)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _fit(self, task: Task) -> Fitted:
        features = normalise_rows(task.graph.features, self.feature_norm)
        operator = normalised_adjacency(task.graph)
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        targets = task.labels[task.train]

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            return {"loss": F.cross_entropy(module(operator, features)[task.train], targets)}

        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        history = train_supervised(
            module, losses, lambda: module(operator, features), task, schedule
        )
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        with torch.no_grad():
            embeddings = module.hidden(operator, features)
            return Fitted(module(operator, features), embeddings, history, state)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        module = self._module(graph.num_features, len(state["second.bias"])).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        module.eval()
        operator = normalised_adjacency(graph)
        features = normalise_rows(graph.features, self.feature_norm)
        return module(operator, features), module.hidden(operator, features)

    def _module(self, num_features: int, num_classes: int) -> GCNClassifier:
        return GCNClassifier(num_features, self.hidden, num_classes, self.dropout)
