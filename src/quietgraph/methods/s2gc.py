"""S2GC: a linear classifier on features averaged over many steps of propagation."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import torch
from torch import Tensor, nn

from quietgraph.embed import (
    History,
    Schedule,
    normalise_rows,
    normalised_adjacency,
    project,
    propagate,
    train,
)
from quietgraph.graph import Features, Graph
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.supervised import label_loss, validation_score
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import Presets, Settings, param
from quietgraph.types import Embeddings, Scores

_DECAYS = (1e-6, 1e-5, 1e-4, 1e-3)
_COLUMNS = 512  # propagated at once, so that wide sparse features are never dense twice
_ENTRIES = 2**25  # nodes x columns at once: five such matrices of 128 MB are in use
# Of graphs without published settings. Products have many words: in L1 rows each is too small.
_OTHERS = {"learning_rate": 0.1, "weight_decay": None, "feature_norm": "l2", "epochs": 300}


@final
@dataclass(kw_only=True, eq=False)
class S2GC(NodeClassifier):
    """Linear classifier on low-pass filtered features (Zhu and Koniusz, 2021)."""

    citation: ClassVar[str] = "Zhu and Koniusz: Simple spectral graph convolution. ICLR 2021."
    takes_weights: ClassVar[bool] = True
    quick: ClassVar[Settings] = {"epochs": 6, "steps": 6}
    cora_seconds: ClassVar[float] = 1
    presets: ClassVar[Presets] = {
        "citeseer": {"weight_decay": 1e-4, "epochs": 150},
        "pubmed": {"weight_decay": 2e-5},
        "coauthor-cs": _OTHERS,
        "amazon-computers": _OTHERS,
        "amazon-photo": _OTHERS,
        **dict.fromkeys(("blogcatalog", "flickr", "dblp"), _OTHERS),
        "wiki-cs": _OTHERS,
        "texas": _OTHERS,
        "chameleon": _OTHERS,
        "ogbn-arxiv": {
            "steps": 10,
            "hidden": 256,
            "dropout": 0.5,
            "learning_rate": 0.01,
            "epochs": 1200,
        },
    }

    steps: int = param(16, "steps of propagation (K)", low=1)
    self_weight: float = param(
        0.05, "weight of a node's own features (alpha)", low=0, high=1, old_name="own_share"
    )
    hidden: int = param(0, "width of a hidden layer before the classifier, 0 for none", low=0)
    dropout: float = param(0.0, "fraction of the hidden layer dropped", low=0, high=0.99)
    feature_norm: str = param("l1", "scaling of feature rows", choices=("l2", "l1", "none"))
    epochs: int = param(100, "training epochs", low=1)
    patience: int | None = param(None, "epochs without better validation before stopping", low=1)
    learning_rate: float = param(0.2, "step size of Adam", low=0)
    weight_decay: float | None = param(
        1e-5, "weight decay of Adam; None: of 1e-6 ... 1e-3 the best on validation", low=0
    )

    def _fit(self, task: Task) -> Fitted:
        filtered = self._filter(task.graph)
        decays = _DECAYS if self.weight_decay is None else (self.weight_decay,)
        fits = [self._train(filtered, task, decay) for decay in decays]
        best = max(range(len(fits)), key=lambda index: _best_score(fits[index][1]))
        head, history = fits[best]
        state = {**head.state_dict(), "num_features": torch.tensor(task.graph.num_features)}
        with torch.no_grad():
            scores = head(filtered)
        return Fitted(scores, filtered, history, state, {"weight_decay": decays[best]})

    def _train(self, filtered: Tensor, task: Task, decay: float) -> tuple[nn.Module, History]:
        """Return a head trained on the rows of training nodes, and its history."""
        head = self._head(filtered.shape[1], task.num_classes).to(filtered.device)
        rows, targets = filtered[task.train], task.labels[task.train]
        held_out, wanted = filtered[task.validation], task.labels[task.validation]
        everywhere = torch.ones_like(wanted, dtype=torch.bool)
        history = train(
            head,
            lambda _epoch: {"loss": label_loss(head(rows), targets, task.train_weights)},
            Schedule(self.epochs, self.learning_rate, decay, self.patience),
            score=lambda: validation_score(head(held_out), wanted, everywhere),
        )
        return head, history

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        weights = {name: value for name, value in state.items() if name != "num_features"}
        num_classes = len(weights[max(weights)])  # the last layer's weight, whatever comes before
        head = self._head(graph.num_features, num_classes).to(graph.device)
        head.load_state_dict(weights)
        head.eval()
        filtered = self._filter(graph)
        return head(filtered), filtered

    def _filter(self, graph: Graph) -> Tensor:
        features = normalise_rows(graph.features, self.feature_norm)
        return low_pass(graph, features, steps=self.steps, self_weight=self.self_weight)

    def _head(self, num_features: int, num_classes: int) -> nn.Module:
        if self.hidden == 0:
            return nn.Sequential(nn.Linear(num_features, num_classes))
        return nn.Sequential(
            nn.Linear(num_features, self.hidden),
            nn.ReLU(),
            nn.Dropout(self.dropout),
            nn.Linear(self.hidden, num_classes),
        )


def low_pass(graph: Graph, features: Features, *, steps: int, self_weight: float) -> Tensor:
    """Return self_weight X + (1 - self_weight) / steps (A X + ... + A^steps X) [nodes, features].

    A is the normalised adjacency with self-loops.
    """
    operator = normalised_adjacency(graph)
    filtered = torch.empty(tuple(features.shape), device=graph.device)
    start = 0
    for columns in _column_blocks(features):
        block, total = columns, torch.zeros_like(columns)
        for _ in range(steps):
            block = propagate(operator, block)
            total += block
        stop = start + columns.shape[1]
        filtered[:, start:stop] = self_weight * columns + (1 - self_weight) / steps * total
        start = stop
    return filtered


def _column_blocks(features: Features) -> Iterator[Tensor]:
    """Yield the features, a few dense columns at a time [nodes, block]."""
    most = max(1, min(_COLUMNS, _ENTRIES // features.shape[0]))
    if isinstance(features, Tensor):
        yield from torch.split(features, most, dim=1)
        return
    width = features.shape[1]
    for start in range(0, width, most):
        count = min(most, width - start)
        picks = torch.zeros(width, count, device=features.values.device)
        picks[start : start + count] = torch.eye(count, device=features.values.device)
        yield project(features, picks)


def _best_score(history: History) -> float:
    return max(record["score"] for record in history)
