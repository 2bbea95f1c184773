"""What methods on graph attention share: the recipe of GAT, training and answers."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor

from quietgraph.embed import Schedule, normalise_rows, train
from quietgraph.graph import Graph
from quietgraph.methods.attention.sparse_attention import (
    AttentionNetwork,
    AttentionSizes,
    MakeLayer,
    Neighbourhoods,
)
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import label_loss, validation_score
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import Presets, param
from quietgraph.types import Embeddings, Scores

_WIDE = {"dim": 16, "dropout": 0.5, "weight_decay": 1e-4}
_DEEP = {"layers": 3, "heads": 4, "dim": 64, "dropout": 0.5, "deep": True, "weight_decay": 1e-4}


@dataclass(kw_only=True, eq=False)
class AttentionBackbone(NodeClassifier):
    """Layers of graph attention, trained on observed labels (GAT, Velickovic et al., 2018)."""

    takes_weights: ClassVar[bool] = True
    presets: ClassVar[Presets] = {
        "pubmed": {"output_heads": 8, "weight_decay": 1e-3, "learning_rate": 0.01},
        "coauthor-cs": _WIDE,
        "amazon-computers": _WIDE,
        "amazon-photo": _WIDE,
        "wiki-cs": _WIDE,
        "ogbn-arxiv": _DEEP,
    }

    layers: int = param(2, "layers of attention", low=2)
    heads: int = param(8, "attention heads of a hidden layer", low=1)
    dim: int = param(8, "width of a head", low=1)
    output_heads: int = param(1, "attention heads of the last layer, averaged", low=1)
    deep: bool = param(False, "batch norm and residual connections")
    dropout: float = param(0.6, "fraction of inputs and of attention dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(1000, "most training epochs", low=1)
    patience: int | None = param(100, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(5e-3, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    @abstractmethod
    def _neighbourhoods(self, graph: Graph) -> Neighbourhoods:
        """Return whom each node attends to."""

    @abstractmethod
    def _layer(self) -> MakeLayer:
        """Return what makes the attention layers."""

    def _undecayed(self, module: AttentionNetwork) -> list[Tensor]:  # noqa: ARG002
        """Return parameters without weight decay."""
        return []

    def _notes(
        self,
        module: AttentionNetwork,  # noqa: ARG002
        neighbourhoods: Neighbourhoods,
    ) -> dict[str, float]:
        """Return notes on the fit."""
        matrix = neighbourhoods.matrix
        return {"neighbours": matrix.num_entries / matrix.shape[0] - 1}

    def _fit(self, task: Task) -> Fitted:
        features = normalise_rows(task.graph.features, self.feature_norm)
        neighbourhoods = self._neighbourhoods(task.graph)
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        forward = partial(module, neighbourhoods, features)
        targets = task.labels[task.train]
        undecayed = self._undecayed(module)
        kept_out = {id(value) for value in undecayed}
        others = [value for value in module.parameters() if id(value) not in kept_out]
        history = train(
            module,
            lambda _epoch: {"loss": label_loss(forward()[task.train], targets, task.train_weights)},
            Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience),
            score=lambda: validation_score(forward(), task.labels, task.validation),
            parameters=[{"params": others}, {"params": undecayed, "weight_decay": 0.0}],
        )
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        with torch.no_grad():
            embeddings = module.hidden(neighbourhoods, features)
            scores = module.last(neighbourhoods, embeddings)
        return Fitted(scores, embeddings, history, state, self._notes(module, neighbourhoods))

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        module = self._module(graph.num_features, len(state["last.bias"])).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        module.eval()
        neighbourhoods = self._neighbourhoods(graph)
        embeddings = module.hidden(
            neighbourhoods, normalise_rows(graph.features, self.feature_norm)
        )
        return module.last(neighbourhoods, embeddings), embeddings

    def _module(self, num_features: int, num_classes: int) -> AttentionNetwork:
        sizes = AttentionSizes(
            self.layers, self.heads, self.dim, self.output_heads, self.dropout, self.deep
        )
        return AttentionNetwork(num_features, num_classes, sizes, layer=self._layer())
