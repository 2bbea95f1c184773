"""GRAND+: random feature propagation, a small perceptron, and consistent predictions."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import Schedule, normalise_rows, train
from quietgraph.graph import Features, Graph
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.random_propagation import (
    NearestTerms,
    RandomPropagation,
    mixed_projection,
    step_weights,
    walk_matrix,
)
from quietgraph.methods.supervised import validation_score
from quietgraph.methods.task import Fitted, Task
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scalar, Scores

_CHECK_EVERY = 10  # steps between looks at validation
_DRAWS = 2  # random propagations per step

_AMINER = {
    "steps_away": 6, "teleport": 0.1, "neighbours": 64, "threshold": 1e-5, "layers": 1,
    "input_dropout": 0.0, "hidden_dropout": 0.0, "weight_decay": 1e-2, "warm_up": 100,
    "batch": 20, "batch_norm": True, "consistency": "kl", "patience": 10,
}  # fmt: skip
_REDDIT = {
    "steps_away": 6, "teleport": 0.05, "neighbours": 64, "threshold": 1e-5, "hidden": 512,
    "input_dropout": 0.0, "hidden_dropout": 0.0, "learning_rate": 1e-4, "weight_decay": 0.0,
    "warm_up": 500, "unlabelled_batch": 200, "batch_norm": True, "node_norm": True,
    "consistency": "kl", "patience": 20,
}  # fmt: skip


class Perceptron(nn.Module):
    """Linear layers with ReLU between; batch norm and unit rows before each, if wanted."""

    def __init__(
        self,
        sizes: list[int],
        *,
        dropouts: tuple[float, float],
        batch_norm: bool,
        node_norm: bool,
    ) -> None:
        super().__init__()
        pairs = list(zip(sizes, sizes[1:], strict=False))
        self.layers = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairs)
        self.norms = nn.ModuleList(nn.BatchNorm1d(size) for size in sizes[:-1] if batch_norm)
        self.input_dropout, self.hidden_dropout = dropouts
        self.node_norm = node_norm

    def forward(self, rows: Tensor) -> Scores:
        """Return class scores [rows, classes]."""
        return self.after_first(self._layer(0, rows, self.input_dropout))[0]

    def after_first(self, outputs: Tensor) -> tuple[Scores, Embeddings]:
        """Return scores and the last hidden layer from what the first layer gave."""
        hidden = outputs
        for index in range(1, len(self.layers)):
            hidden = outputs.relu()
            outputs = self._layer(index, hidden, self.hidden_dropout)
        return outputs, hidden

    def on_mixture(self, graph: Graph, features: Features, weights: list[float]) -> tuple[Scores, Embeddings]:
        """Return scores and embeddings of all nodes by their whole propagated features."""
        matrix, bias = self._folded_first()
        product, length = mixed_projection(walk_matrix(graph), features, weights, matrix)
        if self.node_norm:
            product = product / length.clamp_min(1e-12)
        return self.after_first(product + bias)

    def _layer(self, index: int, rows: Tensor, dropout: float) -> Tensor:
        if self.node_norm:
            rows = F.normalize(rows, dim=1)
        if len(self.norms):
            rows = self.norms[index](rows)
        outputs: Tensor = self.layers[index](F.dropout(rows, dropout, self.training))
        return outputs

    def _folded_first(self) -> tuple[Tensor, Tensor]:
        """Return the first layer with its batch norm as one matrix [inputs, outputs] and bias."""
        weight, bias = self.layers[0].weight, self.layers[0].bias
        if not len(self.norms):
            return weight.T, bias
        norm = self.norms[0]
        scale = norm.weight * (norm.running_var + norm.eps).rsqrt()
        return (weight * scale).T, bias + weight @ (norm.bias - norm.running_mean * scale)


@final
@dataclass(kw_only=True, eq=False)
class GRANDPlus(NodeClassifier):
    """Random propagation with consistent predictions on unlabelled nodes (Feng et al., 2022).

    All nodes outside training and validation, or a sample of them, are the unlabelled ones.
    """

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "citeseer": {
            "steps_away": 10, "teleport": 0.4, "hidden": 256, "input_dropout": 0.0,
            "hidden_dropout": 0.0, "learning_rate": 1e-3, "consistency_weight": 0.8,
            "warm_up": 500,
        },
        "pubmed": {
            "steps_away": 6, "teleport": 0.5, "neighbours": 16, "threshold": 1e-5, "layers": 1,
            "input_dropout": 0.2, "hidden_dropout": 0.2, "weight_decay": 1e-2,
            "consistency_weight": 1.0, "warm_up": 100, "batch": 5, "batch_norm": True,
            "node_norm": True, "patience": 50,
        },
        "coauthor-cs": _AMINER,
        "wiki-cs": _AMINER,
        "amazon-computers": _REDDIT,
        "amazon-photo": _REDDIT,
        "ogbn-arxiv": _REDDIT,
    }  # fmt: skip

    mixture: str = param("ppr", "weights of the steps", choices=("ppr", "avg", "single"))
    steps_away: int = param(20, "most steps of the propagation", low=0)
    teleport: float = param(0.2, "chance that a walk stops at a step (ppr)", low=0.001, high=1)
    neighbours: int = param(32, "terms kept of a node's propagation", low=1)
    threshold: float = param(1e-7, "part of a walk, per degree, that is let go", low=0)
    pool: int = param(10_000, "most unlabelled nodes used in training", low=1)
    layers: int = param(2, "layers of the perceptron", low=1)
    hidden: int = param(64, "width of the hidden layers", low=1)
    input_dropout: float = param(0.5, "share of inputs dropped", low=0, high=0.99)
    hidden_dropout: float = param(0.7, "share of hidden entries dropped", low=0, high=0.99)
    node_dropout: float = param(0.5, "share of terms dropped in a propagation", low=0, high=0.99)
    batch_norm: bool = param(False, "batch norm before each layer")
    node_norm: bool = param(False, "unit rows before each layer")
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    consistency: str = param("l2", "distance between predictions", choices=("l2", "kl"))
    consistency_weight: float = param(1.5, "weight of consistency after warm-up", low=0)
    sharpening: float = param(0.1, "temperature of the common prediction", low=0.01, high=1)
    warm_up: int = param(1000, "steps over which the consistency weight grows", low=0)
    batch: int = param(50, "labelled nodes in a step", low=1)
    unlabelled_batch: int = param(100, "unlabelled nodes in a step", low=1)
    steps: int = param(5000, "most training steps", low=1)
    patience: int | None = param(200, "looks at validation, one in ten steps, without gain", low=1)
    learning_rate: float = param(0.01, "step size of Adam", low=0)
    weight_decay: float = param(1e-3, "weight decay of Adam", low=0)

    def _fit(self, task: Task) -> Fitted:
        features = normalise_rows(task.graph.features, self.feature_norm)
        module = self._module(task.graph.num_features, task.num_classes).to(task.graph.device)
        trainer = _Trainer(self, task, features, module)
        patience = None if self.patience is None else self.patience * _CHECK_EVERY
        schedule = Schedule(self.steps, self.learning_rate, self.weight_decay, patience)
        history = train(module, trainer.losses, schedule, score=trainer.score)
        state = {**module.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        with torch.no_grad():
            scores, embeddings = module.on_mixture(task.graph, features, self.step_weights())
        return Fitted(scores, embeddings, history, state)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        num_classes = len(state[f"layers.{self.layers - 1}.bias"])
        module = self._module(graph.num_features, num_classes).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        module.eval()
        features = normalise_rows(graph.features, self.feature_norm)
        return module.on_mixture(graph, features, self.step_weights())

    def step_weights(self) -> list[float]:
        """Return the weight of each number of steps in the propagation."""
        return step_weights(self.mixture, self.steps_away, self.teleport)

    def _module(self, num_features: int, num_classes: int) -> Perceptron:
        sizes = [num_features, *[self.hidden] * (self.layers - 1), num_classes]
        return Perceptron(
            sizes,
            dropouts=(self.input_dropout, self.hidden_dropout),
            batch_norm=self.batch_norm,
            node_norm=self.node_norm,
        )


class _Trainer:
    """What a step needs: the nearest terms of train, validation and unlabelled nodes."""

    def __init__(self, method: GRANDPlus, task: Task, features: Features, module: Perceptron) -> None:
        self.method, self.module = method, module
        self.draws = torch_generator(task.seed, "batches")
        groups = [task.train, task.validation, ~(task.train | task.validation)]
        train, validation, others = (group.nonzero().squeeze(1) for group in groups)
        picks = torch.randperm(len(others), generator=self.draws)[: method.pool]
        nodes = torch.cat([train, validation, others[picks.to(others.device)]])
        terms = NearestTerms(
            walk_matrix(task.graph),
            nodes,
            method.step_weights(),
            threshold=method.threshold,
            count=method.neighbours,
        )
        self.propagation = RandomPropagation(features, terms)
        ...
