"""What methods on a plain graph convolution network share: its parameters, training, answers."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, cast

import torch
from torch import Tensor, nn

from quietgraph.embed import Schedule, normalise_rows, normalised_adjacency
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.encoder_module import Forward
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import GCNClassifier, train_supervised
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import Settings, param
from quietgraph.types import Embeddings, Scores

# Of blogs and photo sharing: with many words and neighbours, L1 rows are so small that the usual
# weight decay leaves the network untrained (BlogCatalog 55 and Flickr 16 instead of 75 and 58).
LONG_ROWS: Final[Settings] = {"feature_norm": "l2", "weight_decay": 1e-5}


@dataclass(frozen=True, eq=False)
class Network:
    """A graph convolution network together with the graph it sees."""

    module: GCNClassifier
    operator: CSR
    features: Features

    def scores(self) -> Scores:
        """Return class scores in the mode the module is in [nodes, classes]."""
        scores: Scores = self.module(self.operator, self.features)
        return scores

    def evaluate(self) -> tuple[Embeddings, Scores]:
        """Return hidden layer and scores without dropout or gradient."""
        training = self.module.training
        self.module.eval()
        with torch.no_grad():
            hidden = self.module.hidden(self.operator, self.features)
            scores = self.module.second(self.operator, hidden)
        self.module.train(training)
        return hidden, scores


@dataclass(kw_only=True, eq=False)
class GCNBackbone(NodeClassifier):
    """Two graph convolutions and a loss of the method's own."""

    hidden: int = param(64, "width of the hidden layer", low=1)
    dropout: float = param(0.5, "fraction of entries dropped before each layer", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(200, "training epochs", low=1)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    @abstractmethod
    def _losses(self, task: Task, network: Network) -> Callable[[int], Mapping[str, Tensor]]:
        """Return what gives the named losses of an epoch; "loss" is minimised."""

    def _fit(self, task: Task) -> Fitted:
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        network = self._network(module, task.graph)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        losses = self._losses(task, network)
        history = train_supervised(module, losses, network.scores, task, schedule)
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        embeddings, scores = network.evaluate()
        return Fitted(scores, embeddings, history, state)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        module = self._module(graph.num_features, len(state["second.bias"])).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        embeddings, scores = self._network(module, graph).evaluate()
        return scores, embeddings

    def _trained_network(self) -> tuple[nn.Module, Forward]:
        state = self.state_
        module = self._module(int(state["num_features"]), len(state["second.bias"]))
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        return module, partial(_hidden, feature_norm=self.feature_norm)

    def _module(self, num_features: int, num_classes: int) -> GCNClassifier:
        return GCNClassifier(num_features, self.hidden, num_classes, self.dropout)

    def _network(self, module: GCNClassifier, graph: Graph) -> Network:
        features = normalise_rows(graph.features, self.feature_norm)
        return Network(module, normalised_adjacency(graph), features)


def _hidden(module: nn.Module, graph: Graph, *, feature_norm: str) -> Embeddings:
    features = normalise_rows(graph.features, feature_norm)
    return cast("GCNClassifier", module).hidden(normalised_adjacency(graph), features)
