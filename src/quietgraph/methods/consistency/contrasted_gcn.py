"""What CRGNN and CGNN share: a graph convolution network that also contrasts two views."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import Propagation, Schedule, View, ViewRates, draw_view, normalise_rows
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import GraphConvolution, train_supervised
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores


class ContrastedGCN(nn.Module):
    """Two graph convolutions, a projection that is contrasted, and a head that classifies."""

    def __init__(
        self, num_features: int, hidden: int, num_classes: int, *, dropout: float, convolve: bool
    ) -> None:
        super().__init__()
        self.first = GraphConvolution(num_features, hidden)
        self.second = GraphConvolution(hidden, hidden)
        self.projection = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, hidden)
        )
        self.head = (
            GraphConvolution(hidden, num_classes) if convolve else nn.Linear(hidden, num_classes)
        )
        self.dropout = dropout

    def hidden(self, operator: CSR, features: Features) -> Embeddings:
        """Return the second layer, the embeddings of this model [nodes, hidden]."""
        between = F.dropout(self.first(operator, features).relu(), self.dropout, self.training)
        hidden: Embeddings = self.second(operator, between)
        return hidden

    def classify(self, operator: CSR, hidden: Embeddings) -> Scores:
        """Return class scores [nodes, classes]; a convolving head is a third layer."""
        scores: Scores
        if isinstance(self.head, GraphConvolution):
            scores = self.head(operator, F.dropout(hidden.relu(), self.dropout, self.training))
        else:
            scores = self.head(hidden)
        return scores


class ViewPairs:
    """Two random views of a graph each epoch, and the nodes that are contrasted."""

    def __init__(self, graph: Graph, rates: ViewRates, most_anchors: int, *, seed: int) -> None:
        self.structure, self.rates = Propagation.of(graph), rates
        self.num_features, self.most_anchors = graph.num_features, most_anchors
        self.whole = self.structure.operator()
        self.draws = torch_generator(seed, "views")

    def draw(self) -> tuple[View, View]:
        """Return two views."""
        first, second = (
            draw_view(self.structure, self.num_features, self.rates, generator=self.draws)
            for _ in range(2)
        )
        return first, second

    def anchors(self) -> Tensor:
        """Return the nodes of this epoch's contrast: all, or a sample where there are many."""
        picks = torch.randperm(self.structure.num_nodes, generator=self.draws)
        return picks[: self.most_anchors].to(self.whole.values.device)


@dataclass(kw_only=True, eq=False)
class ContrastedBackbone(NodeClassifier):
    """A graph convolution network trained on labels and on the similarity of two views."""

    convolve: ClassVar[bool]  # whether the head is a graph convolution

    hidden: int = param(64, "width of the hidden layers", low=1)
    dropout: float = param(0.5, "fraction of entries dropped between layers", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    temperature: float = param(0.5, "temperature of the contrast between views", low=0.01)
    anchors: int = param(500, "nodes contrasted in an epoch", low=2)
    epochs: int = param(200, "training epochs", low=1)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    @abstractmethod
    def _rates(self) -> ViewRates:
        """Return how much a view changes."""

    @abstractmethod
    def _losses(
        self, task: Task, features: Features, module: ContrastedGCN, views: ViewPairs
    ) -> Callable[[int], Mapping[str, Tensor]]:
        """Return what gives the named losses of an epoch; "loss" is minimised."""

    def _fit(self, task: Task) -> Fitted:
        features = normalise_rows(task.graph.features, self.feature_norm)
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        views = ViewPairs(task.graph, self._rates(), self.anchors, seed=task.seed)

        def predict() -> Scores:
            return module.classify(views.whole, module.hidden(views.whole, features))

        losses = self._losses(task, features, module, views)
        schedule = Schedule(self.epochs, self.learning_rate, self.weight_decay, self.patience)
        history = train_supervised(module, losses, predict, task, schedule)
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        with torch.no_grad():
            embeddings = module.hidden(views.whole, features)
            return Fitted(module.classify(views.whole, embeddings), embeddings, history, state)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        module = self._module(graph.num_features, len(state["head.bias"])).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        module.eval()
        operator = Propagation.of(graph).operator()
        features = normalise_rows(graph.features, self.feature_norm)
        embeddings = module.hidden(operator, features)
        return module.classify(operator, embeddings), embeddings

    def _module(self, num_features: int, num_classes: int) -> ContrastedGCN:
        return ContrastedGCN(
            num_features, self.hidden, num_classes, dropout=self.dropout, convolve=self.convolve
        )
