"""quiet: our own estimator, a committee of noise-aware classifiers on low-rank embeddings."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar, final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import (
    attention_matrix,
    centre_rows,
    flattening,
    leading_directions,
    mean_direction,
    neighbour_likeness,
    smooth_rows,
)
from quietgraph.classify.smoothing import attributes_of
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.base.cache import Embedded
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Task
from quietgraph.methods.base.two_stage import Decision
from quietgraph.methods.low_rank.gcl_lrr import GCLLRR
from quietgraph.methods.quiet.pool import (
    FAMILIES,
    Candidate,
    Pool,
    better_names,
    class_biases,
    mean_lead,
    mend_labels,
    renamed,
    scores_of,
)
from quietgraph.params import param
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings, Labels, Scores

_ATTRIBUTES = 256  # directions of the smoothed attributes that are kept
_CLUSTER_RANK = 50  # directions in which clusters are looked for
_LEAST_WEIGHT = 0.01  # of a candidate, beside the best one's 1
_LONGEST = 2.25  # times the epochs of a small graph: more would cost over 3 x gcl-lr-attention
_ALIKE = 0.06  # likeness of neighbours: 0.02 on Texas, 0.11 and more on all but web pages
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
class Quiet(NodeClassifier):
    """Low-rank embeddings, then a committee of noise-aware classifiers (ours)."""

    first_stage: ClassVar[str] = "quiet"

    epochs: int | None = param(None, "training epochs; None lets them grow with the graph", low=1)
    encoder: bool = param(
        True, "whether to use embeddings, or smoothed attributes alone", after_embedding=True
    )
    families: str = param(
        "all",
        "kinds of classifiers in the pool",
        choices=("all", *FAMILIES, *(f"no-{family}" for family in FAMILIES)),
        after_embedding=True,
    )
    ensemble_temperature: float = param(
        0.13,
        "temperature of the ensemble weights: how far below the best validation accuracy a "
        "candidate still counts, in 1 / sqrt(validation nodes)",
        low=0,
        after_embedding=True,
        old_name="caution",
    )
    correction_rounds: int = param(
        2,
        "rounds in which the ensemble corrects the training labels and more candidates are fitted",
        low=0,
        after_embedding=True,
        old_name="mending",
    )
    class_prior_adjustment: bool = param(
        True,
        "adjust the score of each class to the class frequencies of the validation labels",
        after_embedding=True,
        old_name="biased",
    )
    refit: bool = param(
        False, "fit the chosen ones again on training and validation labels", after_embedding=True
    )

    def _embed(self, graph: Graph, seed: int) -> Embedded:
        learned = self._low_rank(graph, seed)._embed(graph, seed)
        prepared = _prepare(learned.embeddings, graph, seed)
        return Embedded(learned.embeddings, learned.state | prepared, learned.history)

    def _low_rank(self, graph: Graph, seed: int) -> GCLLRR:
        views = _DENSE_VIEWS if 2 * graph.num_edges >= _DENSE_FROM * graph.num_nodes else {}
        growth = min(_LONGEST, max(1.0, math.sqrt(graph.num_nodes / 2700)))
        epochs = self.epochs or round(60 * growth)
        return GCLLRR(seed=seed, device=self.device, epochs=epochs, **views)  # type: ignore[arg-type]

    def _decide(self, embedded: Embedded, task: Task) -> Decision:
        features = embedded.once(
            "features",
            lambda: self._features(embedded.embeddings, task.graph, embedded.state),
        )
        members, notes = self._elect(features, task)
        return Decision(_consensus(features, members), members, notes)

    def _elect(
        self, features: dict[str, Tensor], task: Task
    ) -> tuple[dict[str, Tensor], dict[str, float]]:
        """Return the committee's tensors, and how much each member counts.

        The committee mends the training labels, new candidates learn from these and join the
        pool, and the committee is elected again.
        """
        families = self._families(features["own"], task)
        pool: Pool = {}
        lessons: list[Labels] = []
        orders: dict[str, Tensor] = {}
        labels = task.labels
        while True:
            lesson = replace(task, labels=labels)
            found = self._pool(features, lesson, families, times_mended=len(lessons))
            orders |= better_names(found, features, task)
            pool |= found | renamed(found, orders)
            shares = self._shares(pool, features, task)
            lessons.append(labels)
            if len(lessons) > self.correction_rounds:
                break
            labels = mend_labels(_consensus(features, _members(pool, shares, features)), task)
            if torch.equal(labels[task.train], lessons[-1][task.train]):
                break
        members = _members(pool, shares, features)
        biases = self._biases(features, members, task)
        if self.refit:
            wider = replace(task, train=task.train | task.validation)
            for number, labels in enumerate(lessons):
                lesson = replace(wider, labels=labels)
                found = self._pool(features, lesson, families, times_mended=number)
                pool |= found | renamed(found, orders)
            members = _members(pool, shares, features)
        return members | biases, {f"share of {name}": share for name, share in shares.items()}

    def _biases(
        self, features: dict[str, Tensor], members: dict[str, Tensor], task: Task
    ) -> dict[str, Tensor]:
        """Return the bias of each class, chosen on the (noisy) validation labels."""
        if not self.class_prior_adjustment:
            return {}
        held_out = {kind: rows[task.validation] for kind, rows in features.items()}
        draws = torch_generator(task.seed, "class biases")
        scores = _consensus(held_out, members)
        return {"biases": class_biases(scores, task.labels[task.validation], generator=draws)}

    def _shares(self, pool: Pool, features: dict[str, Tensor], task: Task) -> dict[str, float]:
        """Return how much each candidate counts, by its lag on the (noisy) validation labels."""
        held_out = {kind: rows[task.validation] for kind, rows in features.items()}
        labels = task.labels[task.validation]
        merit = {
            name: float((scores.argmax(dim=1) == labels).float().mean())
            for name, scores in scores_of(pool, held_out)
        }
        best, allowed = (
            max(merit.values()),
            max(self.ensemble_temperature, 1e-6) / math.sqrt(len(labels)),
        )
        weights = {name: math.exp((value - best) / allowed) for name, value in merit.items()}
        kept = {name: weight for name, weight in weights.items() if weight >= _LEAST_WEIGHT}
        total = sum(kept.values())
        return {
            name: weight / total
            for name, weight in sorted(kept.items(), key=lambda item: item[1], reverse=True)
        }

    def _features(
        self, embeddings: Embeddings, graph: Graph, state: dict[str, Tensor]
    ) -> dict[str, Tensor]:
        """Return the kinds of features that candidates see, by name [nodes, columns]."""
        own, smoothed = attributes_of(graph, seed=int(state["seed"]))
        centred = smoothed - state["attribute_mean"]
        around = F.normalize(centred @ state["attribute_directions"], dim=1)
        flat = F.normalize(around @ state["attribute_flattening"], dim=1)
        if not self.encoder:
            return {"own": own, "attributes": around, "attribute clusters": flat}
        rows = centre_rows(embeddings, state["mean"])
        smooth = smooth_rows(normalised_adjacency(graph), rows)
        attended = F.normalize(smooth @ state["attention"], dim=1)
        clusters = F.normalize(smooth @ state["flattening"], dim=1)
        return {
            "own": own,
            "attributes": around,
            "wide": torch.cat([smooth, attended, around], dim=1),
            "both": torch.cat([rows, around], dim=1) / math.sqrt(2),
            "clusters": clusters,
            "joint clusters": torch.cat([clusters, flat], dim=1) / math.sqrt(2),
        }

    def _families(self, own: Tensor, task: Task) -> list[str]:
        """Return the kinds of classifiers that join the pool.

        Own attributes stay out where those of neighbours are alike: averages are better there,
        and many wrong labels may hide it.
        """
        if self.families in FAMILIES:
            return [self.families]
        draws = torch_generator(task.seed, "edges to compare")
        likeness = neighbour_likeness(task.graph.edge_index, own, generator=draws)
        left_out = {self.families.removeprefix("no-")} | ({"own"} if likeness > _ALIKE else set())
        return [family for family in FAMILIES if family not in left_out]

    def _pool(
        self,
        features: dict[str, Tensor],
        task: Task,
        families: list[str],
        *,
        times_mended: int = 0,
    ) -> Pool:
        """Return every candidate that learns from the labels of a task, by name."""
        pool: Pool = {}
        for family in families:
            pool |= FAMILIES[family](features, task)
        after = f", labels mended {times_mended} x" if times_mended else ""
        return {f"{name}{after}": candidate for name, candidate in pool.items()}

    def _apply(self, graph: Graph, state: dict[str, Tensor]) -> tuple[Scores, Embeddings]:
        embeddings = self._low_rank(graph, seed=0).embed_new(graph, state)
        return _consensus(self._features(embeddings, graph, state), state), embeddings


def _prepare(embeddings: Embeddings, graph: Graph, seed: int) -> dict[str, Tensor]:
    """Return what the features need to know of all nodes."""
    attributes = attributes_of(graph, seed=seed)[1]
    mean = attributes.mean(dim=0)
    draws = torch_generator(seed, "attribute directions")
    directions = leading_directions(attributes - mean, _ATTRIBUTES, generator=draws)
    own = F.normalize((attributes - mean) @ directions, dim=1)
    centre = mean_direction(embeddings)
    smooth = smooth_rows(normalised_adjacency(graph), centre_rows(embeddings, centre))
    return {
        "seed": torch.tensor(seed),
        "attribute_mean": mean,
        "attribute_directions": directions,
        "attribute_flattening": flattening(own, _CLUSTER_RANK),
        "mean": centre,
        "attention": attention_matrix(smooth),
        "flattening": flattening(smooth, _CLUSTER_RANK),
    }


def _members(
    pool: Pool, shares: dict[str, float], features: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the tensors of a committee."""
    chosen = {name: pool[name] for name in shares}
    # Scores of all kinds on one scale: the mean lead of the best class is 1.
    leads = {name: mean_lead(scores) for name, scores in scores_of(chosen, features)}
    members = {}
    for number, (name, share) in enumerate(shares.items()):
        kind, weight, bias = pool[name]
        members[f"{number}.{kind}.weight"] = (weight / leads[name]).contiguous()
        members[f"{number}.{kind}.bias"] = bias / leads[name]
        members[f"{number}.{kind}.share"] = torch.tensor(share)
    return members


def _consensus(features: dict[str, Tensor], members: dict[str, Tensor]) -> Scores:
    """Return the logarithm of the candidates' mean probabilities, biased [nodes, classes]."""
    names = [name.removesuffix(".share") for name in members if name.endswith(".share")]
    committee = {
        name: Candidate(name.partition(".")[2], members[f"{name}.weight"], members[f"{name}.bias"])
        for name in sorted(names)  # a saved model has lost the order; sums must not depend on it
    }
    total: Tensor | float = 0.0
    for name, scores in scores_of(committee, features):
        total = total + float(members[f"{name}.share"]) * scores.softmax(dim=1)
    return torch.as_tensor(total).clamp_min(1e-12).log() + members.get("biases", 0.0)
