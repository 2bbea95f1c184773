"""TEDGCN: a graph convolution whose depth is one trainable real number."""

from dataclasses import dataclass
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import History, Schedule, normalise_rows, train
from quietgraph.embed.filtered_features import FilteredFeatures, filtered_features
from quietgraph.embed.negative_depth import (
    DEPTH_STARTS,
    HIGHEST_DEPTH,
    LOWEST_DEPTH,
    power_of,
)
from quietgraph.graph import Graph
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import label_loss, validation_score
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import Settings, param
from quietgraph.types import Embeddings, Scores

_TRIAL_SHARE = 5  # a trial of a start has this part of the epochs


class DepthNetwork(nn.Module):
    """Q^d X W + b, ReLU, dropout, linear."""

    def __init__(
        self, num_features: int, hidden: int, num_classes: int, *, dropout: float, depth: float
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(num_features, hidden)))
        self.bias = nn.Parameter(torch.zeros(hidden))
        self.head = nn.Linear(hidden, num_classes)
        self.depth = nn.Parameter(torch.tensor(depth))
        self.dropout = dropout

    def hidden(self, filtered: FilteredFeatures) -> Embeddings:
        """Return the hidden layer, the embeddings of this model [nodes, hidden]."""
        return (filtered(self.weight, self.depth) + self.bias).relu()

    def forward(self, filtered: FilteredFeatures) -> Scores:
        """Return class scores [nodes, classes]."""
        hidden = F.dropout(self.hidden(filtered), self.dropout, self.training)
        scores: Scores = self.head(hidden)
        return scores

    def bound_depth(self) -> None:
        """Keep the depth where its powers are numbers."""
        with torch.no_grad():
            self.depth.clamp_(LOWEST_DEPTH, HIGHEST_DEPTH)


@final
@dataclass(kw_only=True, eq=False)
class TEDGCN(NodeClassifier):
    """Graph filter of trainable, also negative depth (Yan et al., NeurIPS 2023).

    The floor under the eigenvalues, the starts of the depth and the polynomial for large graphs
    are our choices.
    """

    citation: ClassVar[str] = (
        "Yan et al.: From trainable negative depth to edge heterophily in graphs. NeurIPS 2023."
    )
    takes_weights: ClassVar[bool] = True
    quick: ClassVar[Settings] = {"epochs": 6, "hidden": 16, "initial_depth": 1.0}
    cora_seconds: ClassVar[float] = 20

    hidden: int = param(128, "width of the hidden layer", low=1)
    dropout: float = param(0.2, "fraction of hidden entries dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    initial_depth: float | None = param(
        None, "depth to start from; none tries -1, 1 and 7", low=LOWEST_DEPTH, high=HIGHEST_DEPTH
    )
    depth_step: float = param(0.01, "step size of Adam for the depth; 0 holds it fixed", low=0)
    floor: float = param(0.01, "least eigenvalue of the filter", low=1e-8, high=1)
    exact_up_to: int = param(5000, "most nodes for an exact filter, else a polynomial", low=0)
    epochs: int = param(500, "most training epochs", low=1)
    patience: int | None = param(100, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(5e-4, "weight decay of Adam", low=0)

    def _fit(self, task: Task) -> Fitted:
        filtered = self._filtered(task.graph)
        start = self.initial_depth
        if start is None:  # the loss is not convex in the depth: try short trainings
            trials = max(1, self.epochs // _TRIAL_SHARE)
            best = {depth: self._train(task, filtered, depth, trials)[2] for depth in DEPTH_STARTS}
            start = max(best, key=best.__getitem__)
        module, history, _ = self._train(task, filtered, start, self.epochs)
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        notes = {"initial_depth": start, "depth": float(module.depth.detach())}
        with torch.no_grad():
            embeddings = module.hidden(filtered)
            return Fitted(module.head(embeddings), embeddings, history, state, notes)

    def _train(
        self, task: Task, filtered: FilteredFeatures, start: float, epochs: int
    ) -> tuple[DepthNetwork, History, float]:
        """Return a trained network, its history and its validation score."""
        module = self._module(task.graph.num_features, task.num_classes, start)
        module = module.to(task.graph.device)
        seen, held_out = filtered.at(task.train), filtered.at(task.validation)
        targets, wanted = task.labels[task.train], task.labels[task.validation]
        every_row = torch.ones_like(wanted, dtype=torch.bool)
        others = [value for name, value in module.named_parameters() if name != "depth"]
        depth = {"params": [module.depth], "lr": self.depth_step, "weight_decay": 0.0}
        history = train(
            module,
            lambda _epoch: {"loss": label_loss(module(seen), targets, task.train_weights)},
            Schedule(epochs, self.learning_rate, self.weight_decay, self.patience),
            score=lambda: validation_score(module(held_out), wanted, every_row),
            parameters=[{"params": others}, depth],
            after_step=module.bound_depth,
        )
        return module, history, max(record["score"] for record in history)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        module = self._module(graph.num_features, len(state["head.bias"]), 0.0).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        embeddings = module.hidden(self._filtered(graph))
        return module.head(embeddings), embeddings

    def _filtered(self, graph: Graph) -> FilteredFeatures:
        power = power_of(graph, floor=self.floor, exact_up_to=self.exact_up_to)
        return filtered_features(power, normalise_rows(graph.features, self.feature_norm))

    def _module(self, num_features: int, num_classes: int, depth: float) -> DepthNetwork:
        return DepthNetwork(
            num_features, self.hidden, num_classes, dropout=self.dropout, depth=depth
        )
