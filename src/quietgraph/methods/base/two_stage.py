"""Methods in two stages: embeddings without labels, then a classifier with them."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded, active_cache
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import parameters
from quietgraph.rng import derive_seed
from quietgraph.types import Scores


@dataclass(frozen=True, eq=False)
class Decision:
    """The second stage: scores, and what computes them for new embeddings."""

    scores: Scores
    state: dict[str, Tensor]
    notes: dict[str, float]


@dataclass(kw_only=True, eq=False)
class TwoStageClassifier(NodeClassifier):
    """Embeddings that see no label, so that they are learned once for any label noise."""

    embeddings_know_labels: ClassVar[bool] = False
    first_stage: ClassVar[str]  # names what `_embed` computes; methods that share it share caches

    _shared: Embedded | None = field(default=None, init=False, repr=False)

    @abstractmethod
    def _embed(self, graph: Graph, seed: int) -> Embedded:
        """Learn embeddings from the graph alone."""

    @abstractmethod
    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        """Classify the nodes by what the first stage left."""

    def _fit(self, task: Task) -> Fitted:
        embedded = self._embed_cached(task.graph, task.seed).to(task.labels.device)
        # Draws of the second stage must not depend on whether the first one was cached.
        torch.manual_seed(derive_seed(task.seed, "decide"))
        decision = self._decide(embedded, task)
        count = torch.tensor(task.graph.num_features)
        state = {**embedded.state, **decision.state, "num_features": count}
        return Fitted(decision.scores, embedded.embeddings, embedded.history, state, decision.notes)

    def _out_of_fold(self, task: Task) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The first stage saw no label, so the folds share it and what depends on it alone."""
        self._shared = self._embedded()
        try:
            return super()._out_of_fold(task)
        finally:
            self._shared = None

    def _fold_scores(self, task: Task) -> Scores:
        embedded = self._shared or self._embedded()
        return self._decide(embedded, task.to(self._device())).scores

    def _embedded(self) -> Embedded:
        """Return the first stage as it was fitted."""
        return Embedded(torch.from_numpy(self.embeddings_), self.state_).to(self._device())

    def first_stage_parameters(self) -> dict[str, Any]:
        """Return the name and the parameters on which the embeddings depend, but for the seed."""
        own = {
            name: getattr(self, name)
            for name, parameter in parameters(type(self)).items()
            if not parameter.rule.after_embedding and name != "seed"
        }
        return {"stage": self.first_stage, **own}

    def _embed_cached(self, graph: Graph, seed: int) -> Embedded:
        cache = active_cache()
        if cache is None:
            return self._embed(graph, seed)
        key = {
            **self.first_stage_parameters(),
            "graph": graph.fingerprint,
            "seed": seed,
            "threads": torch.get_num_threads(),  # sums round differently with their number
        }
        found = cache.get(key)
        if found is None:
            found = self._embed(graph, seed)
            cache.put(key, found)
        return found
