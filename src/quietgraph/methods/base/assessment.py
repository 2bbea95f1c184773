"""What a fitted model knows about its labels and itself, from predictions that did not see them."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from quietgraph.classify.calibration import Calibration, fit_calibration, log_probabilities
from quietgraph.classify.label_issues.attributes import attribute_probabilities
from quietgraph.classify.label_issues.noise import NoiseEstimate, estimate_noise
from quietgraph.classify.label_issues.pooling import pool_evidence
from quietgraph.classify.label_issues.suspects import (
    nearest_label_fractions,
    neighbour_label_fractions,
)
from quietgraph.classify.quality import Quality, assess_quality, count_unreached
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base.task import Task
from quietgraph.rng import numpy_generator, torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Probabilities, Scores

_UNEVEN: Final = 100.0  # ratio of column sizes from which one column drowns the others


def gather_evidence(embeddings: Embeddings, task: Task) -> dict[str, Tensor]:
    """Return what others than the model say of each labelled node, by name [nodes, classes]."""
    shape = (task.labels, task.num_classes)
    draws = torch_generator(task.seed, "voters")
    return {
        "neighbours": neighbour_label_fractions(task.graph.adjacency, *shape),
        "nearest": nearest_label_fractions(embeddings, *shape, generator=draws),
        **attribute_probabilities(task.graph, *shape, seed=task.seed),
    }


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a fitted model and all other evidence say together.

    Attributes:
        pooled: Probabilities of the observed labels [nodes, classes].
        noise: Estimated from them, for the labels that no person has verified.
    """

    pooled: Probabilities
    noise: NoiseEstimate


def pool_votes(
    out_of_fold: Probabilities, votes: dict[str, Tensor], task: Task, *, with_nearest: bool
) -> Evidence:
    """Return the evidence of the model and of all others together.

    Args:
        out_of_fold: Of the model [nodes, classes].
        votes: Of `gather_evidence`.
        task: With the observed labels.
        with_nearest: Whether the nearest nodes in the embedding count: embeddings trained on the
            labels are no independent evidence about them.
    """
    others = {name: rows for name, rows in votes.items() if with_nearest or name != "nearest"}
    pooled = pool_evidence({"model": out_of_fold, **others}, task.labels).probabilities
    labels = task.labels.masked_fill(task.is_verified(torch.ones_like(task.train)), UNKNOWN)
    known = labels if (labels != UNKNOWN).any() else task.labels
    return Evidence(pooled, estimate_noise(pooled, known))


def validation_calibration(scores: Scores, task: Task) -> Calibration:
    """Return the calibration of a fit by its own validation predictions."""
    held_out, labels = scores[task.validation].cpu(), task.labels[task.validation].cpu()
    noise = estimate_noise(held_out.double().softmax(dim=1), labels)
    return fit_calibration(held_out, labels, noise.transition)


def out_of_fold_calibration(
    out_of_fold: Probabilities, noise: NoiseEstimate, task: Task
) -> Calibration:
    """Return the calibration of a fit by predictions that saw no label of the node."""
    known = (task.labels != UNKNOWN) & (out_of_fold.sum(dim=1) > 0)
    return fit_calibration(
        log_probabilities(out_of_fold[known]),
        task.labels[known],
        noise.transition,
        certain=task.is_verified(known),
    )


def assess(
    out_of_fold: Probabilities, evidence: Evidence, task: Task, calibration: Calibration
) -> Quality:
    """Return the statement of quality of a fit by its out-of-fold probabilities."""
    answered = out_of_fold.sum(dim=1, keepdim=True) > 0
    return assess_quality(
        calibration.probabilities(log_probabilities(out_of_fold)) * answered,
        evidence.pooled,
        task.labels,
        noise=None if task.is_verified(task.labels != UNKNOWN).any() else evidence.noise,
        generator=numpy_generator(task.seed, "resampled labels"),
        unreached=_unreached(task.graph, task.labels),
        hints=tuple(_hints(task.graph, task.labels)),
    )


def _unreached(graph: Graph, labels: Labels) -> int:
    components: Any = connected_components(graph.adjacency.to_scipy(), directed=False)[1]
    return count_unreached(torch.from_numpy(components.astype(np.int64)), labels)


def _hints(graph: Graph, labels: Labels) -> list[str]:
    """Return what the graph itself suggests to try."""
    hints = []
    rows, columns = (end.cpu().long() for end in graph.edge_index)
    both = (labels[rows] != UNKNOWN) & (labels[columns] != UNKNOWN) & (rows != columns)
    if both.any():
        frequency = labels[labels != UNKNOWN].bincount().double()
        chance = float((frequency / frequency.sum()).square().sum())
        homophily = float((labels[rows] == labels[columns])[both].double().mean())
        if homophily < chance:
            hints.append(
                f"Edges join equal labels less often ({homophily:.0%}) than by chance "
                f"({chance:.0%}): under heterophily try tedgcn."
            )
    if not isinstance(graph.features, CSR):
        size = graph.features.double().square().mean(dim=0).sqrt()
        size = size[size > 0]
        if len(size) > 1 and float(size.max() / size.median()) > _UNEVEN:
            hints.append("Scale the features: one column is far larger than the others.")
    return hints
