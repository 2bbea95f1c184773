"""What contrastive methods share: the probe that turns their embeddings into predictions."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.classify import (
    LinearFit,
    accuracy,
    centre_rows,
    fit_linear,
    fit_ridge,
    mean_direction,
)
from quietgraph.classify.logistic import fit_logistic
from quietgraph.embed import Schedule, normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import GCNClassifier, label_loss, train_supervised
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.params import param
from quietgraph.rng import derive_seed
from quietgraph.types import Embeddings, Scores

_LINEAR: dict[str, Callable[..., LinearFit]] = {
    "inductive": fit_logistic,
    "transductive": fit_linear,
    "ridge": fit_ridge,
}
PROBES = ("inductive", "transductive", "gcn", "ridge")
_PROBE = "probe."
_GCN_HIDDEN, _GCN_DROPOUT = 64, 0.5
_GCN_SCHEDULE = Schedule(epochs=200, learning_rate=0.01, weight_decay=5e-4)


def probe_param() -> str:
    """Declare which of `PROBES` classifies the embeddings."""
    return param(
        "inductive",
        "what classifies the embeddings: logistic regression on training nodes (inductive), "
        "the paper's gradient descent (transductive), a two-layer GCN (gcn), or ridge regression",
        choices=PROBES,
        after_embedding=True,
    )


@dataclass(kw_only=True, eq=False)
class ContrastiveClassifier(NodeClassifier):
    """Embeddings learned by contrast without labels, and the shared probe on top.

    A method writes `_embed`, with all that `_encode` needs in its state, and `_encode`.
    """

    takes_weights: ClassVar[bool] = True

    classifier: str = probe_param()

    @abstractmethod
    def _encode(self, graph: Graph, state: dict[str, Tensor]) -> Embeddings:
        """Return the embeddings of any graph from the fitted state [nodes, dim]."""

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        return fit_probe(self.classifier, embedded.embeddings, task)

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = self._encode(graph, state)
        return probe_scores(self.classifier, embeddings, graph, state), embeddings


def fit_probe(kind: str, embeddings: Embeddings, task: Task) -> Decision:
    """Return what one of `PROBES` makes of frozen embeddings; choices by noisy validation.

    The state holds all that `probe_scores` needs, under names of its own.
    """
    if kind == "gcn":
        return _fit_gcn(embeddings, task)
    return _fit_linear(kind, embeddings, task)


def probe_scores(
    kind: str, embeddings: Embeddings, graph: Graph, state: dict[str, Tensor]
) -> Scores:
    """Return the scores of a fitted probe for the embeddings of any graph [nodes, classes]."""
    own = weights_of(state, _PROBE)
    if kind == "gcn":
        module = _gcn(embeddings.shape[1], len(own["second.bias"])).to(embeddings.device)
        module.load_state_dict(own)
        module.eval()
        return module(normalised_adjacency(graph), F.normalize(embeddings, dim=1))  # type: ignore[no-any-return]
    return _linear_features(kind, embeddings, own) @ own["weight"] + own["bias"]


def named_weights(module: nn.Module, prefix: str) -> dict[str, Tensor]:
    """Return the weights of a module as a state, their names prefixed."""
    return {prefix + name: value for name, value in module.state_dict().items()}


def weights_of(state: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the part of a state whose names have a prefix, without it."""
    return {
        name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)
    }


def _fit_linear(kind: str, embeddings: Embeddings, task: Task) -> Decision:
    own = {} if kind == "inductive" else {"mean": mean_direction(embeddings)}
    features = _linear_features(kind, embeddings, own)
    fit = _LINEAR[kind](
        features,
        task.labels,
        train=task.train,
        validation=task.validation,
        num_classes=task.num_classes,
        weights=task.train_weights,
    )
    own |= {"weight": fit.weight, "bias": fit.scores(torch.zeros_like(features[:1]))[0]}
    state = {_PROBE + name: value for name, value in own.items()}
    notes = {kind: fit.chosen, "validation_accuracy": fit.validation_accuracy}
    return Decision(fit.scores(features), state, notes)


def _linear_features(kind: str, embeddings: Embeddings, own: dict[str, Tensor]) -> Tensor:
    """Return unit rows; less their mean for all but logistic regression."""
    if kind == "inductive":
        return F.normalize(embeddings, dim=1)
    return centre_rows(embeddings, own["mean"])


def _fit_gcn(embeddings: Embeddings, task: Task) -> Decision:
    features, operator = F.normalize(embeddings, dim=1), normalised_adjacency(task.graph)
    targets = task.labels[task.train]
    device = embeddings.device
    # A stream of its own: the embeddings may come from a cache, which draws nothing.
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(derive_seed(task.seed, "probe"))
        module = _gcn(features.shape[1], task.num_classes).to(device)

        def losses(epoch: int) -> dict[str, Tensor]:  # noqa: ARG001
            scores = module(operator, features)[task.train]
            return {"loss": label_loss(scores, targets, task.train_weights)}

        train_supervised(module, losses, lambda: module(operator, features), task, _GCN_SCHEDULE)
    with torch.no_grad():
        scores: Scores = module(operator, features)
    hits = accuracy(scores, task.labels, task.validation)
    return Decision(scores, named_weights(module, _PROBE), {"validation_accuracy": hits})


def _gcn(dim: int, num_classes: int) -> GCNClassifier:
    return GCNClassifier(dim, _GCN_HIDDEN, num_classes, _GCN_DROPOUT)
