"""quiet: our own estimator, a small pool of noise-aware classifiers on low-rank embeddings."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import (
    attention_matrix,
    centre_rows,
    fit_mixture,
    flattened_scores,
    mean_direction,
    ridge_path,
    self_trained_ridge,
    smooth_rows,
    smoothed_attributes,
)
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import CSR, Graph
from quietgraph.methods.cache import Embedded
from quietgraph.methods.gcl_lrr import GCLLRR
from quietgraph.methods.gcn import GCN
from quietgraph.methods.supervised import validation_score
from quietgraph.methods.task import Task
from quietgraph.methods.two_stage import Decision, TwoStageClassifier
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Scores

_PENALTIES = (0.03, 0.3, 1.0, 3.0, 10.0)
_SHARPNESS = (5.0, 10.0)
_DENSE_FROM = 15.0  # mean degree from which weak views collapse the embeddings
_DENSE_VIEWS = {
    "edge_drop_1": 0.5,
    "edge_drop_2": 0.6,
    "feature_mask_1": 0.1,
    "feature_mask_2": 0.1,
    "temperature": 0.2,
}


@final
@dataclass(kw_only=True, eq=False)
class Quiet(TwoStageClassifier):
    """Low-rank embeddings, then the best of a pool of noise-aware classifiers (ours)."""

    first_stage: ClassVar[str] = "quiet"

    epochs: int | None = param(None, "training epochs; None lets them grow with the graph", low=1)
    encoder: bool = param(
        True, "whether to use embeddings, or smoothed attributes alone", after_embedding=True
    )
    supervised: bool = param(
        True, "whether a graph convolution network is in the pool", after_embedding=True
    )
    committee: int = param(3, "how many candidates are averaged", low=1, after_embedding=True)
    refit: bool = param(
        False, "fit the chosen ones again on training and validation labels", after_embedding=True
    )

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        views = _DENSE_VIEWS if 2 * graph.num_edges >= _DENSE_FROM * graph.num_nodes else {}
        epochs = self.epochs or round(60 * min(4.0, max(1.0, math.sqrt(graph.num_nodes / 2700))))
        return GCLLRR(seed=seed, device=self.device, epochs=epochs, **views)._embed(graph, seed)  # type: ignore[arg-type]

    def _decide(self, embeddings: Embeddings, task: Task) -> Decision:
        pool = self._pool(self._features(embeddings, task), task)
        if self.supervised:
            pool["gcn"] = self._convolution(task)
        merit = {
            name: validation_score(scores, task.labels, task.validation)
            for name, scores in pool.items()
        }
        best = sorted(merit, key=merit.__getitem__, reverse=True)[: self.committee]
        if self.refit:
            known = replace(task, train=task.train | task.validation)
            again = self._pool(self._features(embeddings, task), known)
            if "gcn" in best:
                again["gcn"] = self._convolution(known)
            pool = again
        scores = torch.stack([_comparable(pool[name]) for name in best]).mean(dim=0).log()
        notes = {f"candidate {name}": merit[name] for name in best}
        return Decision(scores, {}, notes)

    def _features(self, embeddings: Embeddings, task: Task) -> dict[str, Tensor]:
        operator = normalised_adjacency(task.graph)
        draws = torch_generator(task.seed, "smoothed attributes")
        attributes = smoothed_attributes(operator, task.graph.features, generator=draws)
        if not self.encoder:
            return {"wide": attributes, "clusters": attributes, "own": attributes}
        centred = centre_rows(embeddings, mean_direction(embeddings))
        smooth = smooth_rows(operator, centred)
        attended = F.normalize(smooth @ attention_matrix(smooth), dim=1)
        return {
            "wide": torch.cat([smooth, attended, attributes], dim=1),
            "clusters": flattened_scores(smooth, rank=50),
            "own": attributes,
            "both": torch.cat([centred, attributes], dim=1) / math.sqrt(2),
        }

    def _pool(self, features: dict[str, Tensor], task: Task) -> dict[str, Scores]:
        """Return the scores of every candidate, by name."""
        train, labels, count = task.train, task.labels, task.num_classes
        wide = features["wide"]
        targets = F.one_hot(labels[train], count).to(wide.dtype) - 1 / count
        weights = ridge_path(wide[train], targets, _PENALTIES)
        pool = {f"ridge {penalty:g}": wide @ weight for penalty, weight in weights.items()}
        for sharpness in _SHARPNESS:
            for noisy in (False, True):
                name = f"{sharpness:g} {'noisy' if noisy else 'plain'}"
                scores = fit_mixture(
                    features["clusters"], labels, train, count, sharpness=sharpness, noisy=noisy
                )
                pool[f"clusters {name}"] = scores
                for kind in ("own", "both"):
                    if kind in features:
                        again = self_trained_ridge(features[kind], scores.softmax(dim=1))
                        pool[f"self-trained {kind} {name}"] = again
        return pool

    def _convolution(self, task: Task) -> Scores:
        """Return a graph convolution network's scores; with clean labels it is hard to beat."""
        norm = "l1" if isinstance(task.graph.features, CSR) else "l2"  # bags of words, or dense
        return GCN(seed=task.seed, device=self.device, feature_norm=norm)._fit(task).scores

    def _fold_scores(self, task: Task) -> Scores:
        """Folds do without the network: one pool is quick, five networks are not."""
        quick = replace(self, supervised=False)
        quick.embeddings_ = self.embeddings_
        return TwoStageClassifier._fold_scores(quick, task)


def _comparable(scores: Scores) -> Tensor:
    """Return probabilities whose sharpness does not depend on the scale of the scores."""
    top = scores.topk(2, dim=1).values
    gap = (top[:, 0] - top[:, 1]).mean().clamp_min(1e-12)
    return (scores / gap).softmax(dim=1)
