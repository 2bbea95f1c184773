"""Methods in two stages: embeddings without labels, then a classifier with them.

A method in two stages names its first stage and writes `_embed` and `_decide` in place of `_fit`.
Label noise does not change the first stage, so that it is cached and shared by all folds.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded, active_cache, keep_first_stage
from quietgraph.methods.base.task import Fitted, Task
from quietgraph.params import Settings, parameters
from quietgraph.progress import stage
from quietgraph.rng import derive_seed
from quietgraph.types import Scores

if TYPE_CHECKING:
    from quietgraph.methods.base.estimator import Estimator


@dataclass(frozen=True, eq=False)
class Decision:
    """The second stage: scores, and what computes them for new embeddings."""

    scores: Scores
    state: dict[str, Tensor]
    notes: dict[str, float]


def fit_two_stages(method: "Estimator", task: Task) -> Fitted:
    """Return what `_decide` makes of the embeddings of `_embed`."""
    embedded = embed_cached(method, task.graph, task.seed).to(task.labels.device)
    keep_first_stage(embedded)
    # Draws of the second stage must not depend on whether the first one was cached.
    torch.manual_seed(derive_seed(task.seed, "decide"))
    with stage("classifying"):
        decision = method._decide(embedded, task)
    count = torch.tensor(task.graph.num_features)
    state = {**embedded.state, **decision.state, "num_features": count}
    return Fitted(decision.scores, embedded.embeddings, embedded.history, state, decision.notes)


def stage_parameters(method: "Estimator") -> Settings:
    """Return the name and the parameters on which the embeddings depend, but for the seed."""
    own = {
        name: getattr(method, name)
        for name, parameter in parameters(type(method)).items()
        if not parameter.rule.after_embedding and name != "seed"
    }
    return {"stage": method.first_stage, **own}


def embedding_key(
    method: "Estimator", graph: Graph, seed: int, *, threads: int
) -> dict[str, object]:
    """Return what the embeddings of a method depend on: sums round by the number of threads."""
    own = method.first_stage_parameters() or {}
    return {**own, "graph": graph.fingerprint, "seed": seed, "threads": threads}


def embed_cached(method: "Estimator", graph: Graph, seed: int) -> Embedded:
    """Return the first stage of a method, from the cache in use where it holds it."""
    cache = active_cache()
    if cache is None:
        return method._embed(graph, seed)
    key = embedding_key(method, graph, seed, threads=torch.get_num_threads())
    found = cache.get(key)
    if found is None:
        found = method._embed(graph, seed)
        cache.put(key, found)
    return found
