"""GRAND+: random feature propagation, a small perceptron, and consistent predictions."""

from dataclasses import dataclass
from typing import ClassVar, Final, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import Schedule, normalise_rows, train
from quietgraph.graph import Features, Graph
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import validation_score
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.methods.grand_plus.propagated_perceptron import (
    PropagatedPerceptron,
    consistency_loss,
)
from quietgraph.methods.grand_plus.random_propagation import (
    NearestTerms,
    RandomPropagation,
    step_weights,
    walk_matrix,
)
from quietgraph.params import Presets, Settings, param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

_CHECK_EVERY = 10  # steps between two validations
_DRAWS = 2  # random propagations per step

_AMINER: Final[Settings] = {
    "propagation_steps": 6, "teleport": 0.1, "neighbours": 64, "threshold": 1e-5, "layers": 1,
    "input_dropout": 0.0, "hidden_dropout": 0.0, "weight_decay": 1e-2, "warm_up": 100,
    "batch": 20, "batch_norm": True, "consistency": "kl", "patience": 10,
}  # fmt: skip
_REDDIT: Final[Settings] = {
    "propagation_steps": 6, "teleport": 0.05, "neighbours": 64, "threshold": 1e-5, "hidden": 512,
    "input_dropout": 0.0, "hidden_dropout": 0.0, "learning_rate": 1e-4, "weight_decay": 0.0,
    "warm_up": 500, "unlabelled_batch": 200, "batch_norm": True, "node_norm": True,
    "consistency": "kl", "patience": 20,
}  # fmt: skip


@final
@dataclass(kw_only=True, eq=False)
class GRANDPlus(NodeClassifier):
    """Random propagation with consistent predictions on unlabelled nodes (Feng et al., 2022).

    All nodes outside training and validation, or a sample of them, are the unlabelled ones.
    """

    citation: ClassVar[str] = (
        "Feng et al.: GRAND+: Scalable graph random neural networks. WWW 2022."
    )
    quick: ClassVar[Settings] = {"warm_up": 2, "hidden": 16, "steps": 6}
    cora_seconds: ClassVar[float] = 120
    presets: ClassVar[Presets] = {
        "citeseer": {
            "propagation_steps": 10, "teleport": 0.4, "hidden": 256, "input_dropout": 0.0,
            "hidden_dropout": 0.0, "learning_rate": 1e-3, "consistency_weight": 0.8,
            "warm_up": 500,
        },
        "pubmed": {
            "propagation_steps": 6, "teleport": 0.5, "neighbours": 16, "threshold": 1e-5,
            "layers": 1, "input_dropout": 0.2, "hidden_dropout": 0.2, "weight_decay": 1e-2,
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
    propagation_steps: int = param(
        20, "most steps of the propagation", low=0, old_name="steps_away"
    )
    teleport: float = param(0.2, "probability that a walk stops at a step (ppr)", low=0.001, high=1)
    neighbours: int = param(32, "terms kept of a node's propagation", low=1)
    threshold: float = param(1e-7, "probability mass, per degree, below which a walk is cut", low=0)
    pool: int = param(10_000, "most unlabelled nodes used in training", low=1)
    layers: int = param(2, "layers of the perceptron", low=1)
    hidden: int = param(64, "width of the hidden layers", low=1)
    input_dropout: float = param(0.5, "fraction of inputs dropped", low=0, high=0.99)
    hidden_dropout: float = param(0.7, "fraction of hidden entries dropped", low=0, high=0.99)
    node_dropout: float = param(0.5, "fraction of terms dropped in a propagation", low=0, high=0.99)
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
    patience: int | None = param(200, "validations, one in ten steps, without gain", low=1)
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
            scores, embeddings = module.on_mixture(task.graph, features, self._weights())
        return Fitted(scores, embeddings, history, state)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        num_classes = len(state[f"layers.{self.layers - 1}.bias"])
        module = self._module(graph.num_features, num_classes).to(graph.device)
        module.load_state_dict({k: v for k, v in state.items() if k != "num_features"})
        module.eval()
        features = normalise_rows(graph.features, self.feature_norm)
        return module.on_mixture(graph, features, self._weights())

    def nearest_terms(self, graph: Graph, nodes: Tensor) -> NearestTerms:
        """Return the largest terms of the propagation to some nodes."""
        return NearestTerms(
            walk_matrix(graph),
            nodes,
            self._weights(),
            threshold=self.threshold,
            count=self.neighbours,
        )

    def _weights(self) -> list[float]:
        return step_weights(self.mixture, self.propagation_steps, self.teleport)

    def _module(self, num_features: int, num_classes: int) -> PropagatedPerceptron:
        sizes = [num_features, *[self.hidden] * (self.layers - 1), num_classes]
        return PropagatedPerceptron(
            sizes,
            dropouts=(self.input_dropout, self.hidden_dropout),
            batch_norm=self.batch_norm,
            node_norm=self.node_norm,
        )


class _Trainer:
    """What a step needs: the nearest terms of train, validation and unlabelled nodes, batches."""

    def __init__(
        self, method: GRANDPlus, task: Task, features: Features, module: PropagatedPerceptron
    ) -> None:
        self.method, self.module = method, module
        self.draws = torch_generator(task.seed, "batches")
        groups = [task.train, task.validation, ~(task.train | task.validation)]
        train_nodes, held_out, others = (group.nonzero().squeeze(1) for group in groups)
        picks = torch.randperm(len(others), generator=self.draws)[: method.pool]
        nodes = torch.cat([train_nodes, held_out, others[picks.to(others.device)]])
        self.propagation = RandomPropagation(features, method.nearest_terms(task.graph, nodes))
        self.labels = task.labels[nodes]
        self.num_train, num_labelled = len(train_nodes), len(train_nodes) + len(held_out)
        positions = torch.arange(len(nodes))
        self.held_out = positions[self.num_train : num_labelled]
        # With every node labelled there is still something to agree on: all nodes.
        self.unlabelled = positions[num_labelled:] if len(picks) else positions
        self.held_out_rows = self.propagation.rows(self.held_out, 0.0)
        self.waiting = torch.empty(0, dtype=torch.int64)
        self.checks, self.last_score = 0, 0.0

    def losses(self, step: int) -> dict[str, Tensor]:
        labelled = self._next_labelled()
        picks = torch.randperm(len(self.unlabelled), generator=self.draws)
        which = torch.cat([labelled, self.unlabelled[picks[: self.method.unlabelled_batch]]])
        rows = self.propagation.rows(which.repeat(_DRAWS), self.method.node_dropout)
        log_probabilities = self.module(rows).log_softmax(dim=1).view(_DRAWS, len(which), -1)
        known, others = log_probabilities.tensor_split([len(labelled)], dim=1)
        targets = self.labels[labelled].repeat(_DRAWS)
        labels = F.nll_loss(known.flatten(0, 1), targets)
        agreed = consistency_loss(
            others, sharpening=self.method.sharpening, distance=self.method.consistency
        )
        grown = min(1.0, step / max(1, self.method.warm_up))
        loss = labels + self.method.consistency_weight * grown * agreed
        return {"loss": loss, "labels": labels, "consistency": agreed}

    def score(self) -> float:
        """Return the validation score, computed anew every few steps."""
        if self.checks % _CHECK_EVERY == 0:
            scores = self.module(self.held_out_rows)
            everything = torch.ones(len(scores), dtype=torch.bool, device=scores.device)
            self.last_score = validation_score(scores, self.labels[self.held_out], everything)
        self.checks += 1
        return self.last_score

    def _next_labelled(self) -> Tensor:
        if not len(self.waiting):
            self.waiting = torch.randperm(self.num_train, generator=self.draws)
        batch, self.waiting = self.waiting.tensor_split([self.method.batch])
        return batch
