"""What a fitted model knows about its labels and itself, from predictions that did not see them."""

from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

from quietgraph.classify.calibration import (
    Calibration,
    fit_calibration,
    log_probabilities,
    sharpen,
)
from quietgraph.classify.label_issues.attributes import attribute_probabilities
from quietgraph.classify.label_issues.noise import (
    NoiseEstimate,
    estimate_noise,
    symmetric_noise,
)
from quietgraph.classify.label_issues.own_attributes import labels_follow_attributes
from quietgraph.classify.label_issues.pooling import pool_evidence
from quietgraph.classify.label_issues.posterior import label_posterior
from quietgraph.classify.label_issues.suspects import (
    nearest_label_fractions,
    neighbour_label_fractions,
)
from quietgraph.classify.quality import BeforeReview, Quality, assess_quality
from quietgraph.classify.verdict import DISTRUST, OBSERVED
from quietgraph.data.homophily import is_heterophilous
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.embed.scale.node_sample import sample_nodes
from quietgraph.graph import CSR, Graph
from quietgraph.methods.base.reach import count_unreached
from quietgraph.methods.base.task import Task
from quietgraph.rng import numpy_generator, torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels, Probabilities, Scores

# By how much more often the whole fit is right where it and a fold differ, per unit of agreement
# beyond chance: 0.2 to 0.4 on development draws.
_GAIN: Final = 0.3
_UNEVEN: Final = 100.0  # ratio of column sizes from which one column drowns the others


def gather_evidence(embeddings: Embeddings, task: Task) -> dict[str, Tensor]:
    """Return what others than the model say of each labelled node, by name [nodes, classes]."""
    labels, count = task.labels, task.num_classes
    draws = torch_generator(task.seed, "voters")
    return {
        "neighbours": neighbour_label_fractions(task.neighbours(), task.whole_labels(), count),
        "nearest": nearest_label_fractions(embeddings, labels, count, generator=draws),
        **attribute_probabilities(task.graph, labels, count, seed=task.seed, nodes=task.nodes),
    }


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a fitted model and all other evidence say together.

    Attributes:
        pooled: Probabilities of the observed labels, before any review [nodes, classes].
        noise: Estimated from them, for the labels before any review.
    """

    pooled: Probabilities
    noise: NoiseEstimate


def pool_votes(
    out_of_fold: Probabilities,
    votes: dict[str, Tensor],
    task: Task,
    *,
    with_nearest: bool,
    noise: NoiseEstimate | None = None,
) -> Evidence:
    """Return the evidence of the model and of all others together.

    Args:
        out_of_fold: Of the model [nodes, classes].
        votes: Of `gather_evidence`.
        task: With the observed labels.
        with_nearest: Whether the nearest nodes in the embedding count: embeddings trained on the
            labels are no independent evidence about them.
        noise: Where it is known already.
    """
    others = {name: rows for name, rows in votes.items() if with_nearest or name != "nearest"}
    labels = task.noisy_labels()
    pooled = pool_evidence({"model": out_of_fold, **others}, labels).probabilities
    return Evidence(pooled, noise or estimate_noise(pooled, labels))


def asked_nodes(task: Task) -> Tensor | None:
    """Return the nodes that a fold must score: labelled and drawn ones of a large graph.

    None: all, which are few.
    """
    size = task.graph.num_nodes
    drawn = sample_nodes(size, task.seed, device=task.labels.device)
    if len(drawn) == size:
        return None
    known = (task.labels != UNKNOWN).nonzero().squeeze(1)
    asked: Tensor = torch.unique(torch.cat([known, drawn]))
    return asked


def rows_of_labelled(scores: Scores, asked: Tensor | None, task: Task) -> Scores:
    """Return scores by row of the task; where some nodes were asked, of the labelled ones alone.

    Args:
        scores: Of the nodes asked, or of all.
        asked: Of `asked_nodes` [nodes].
        task: Of all nodes, or of some.
    """
    if asked is None:
        return scores if task.nodes is None else scores[task.nodes]
    known = (task.labels != UNKNOWN).nonzero().squeeze(1)
    nodes = known if task.nodes is None else task.nodes[known]
    rows = scores.new_zeros(len(task.labels), scores.shape[1])
    rows[known] = scores[torch.searchsorted(asked, nodes)]
    return rows


def validation_calibration(scores: Scores, task: Task) -> Calibration:
    """Return the calibration of a fit by its own validation predictions."""
    held_out, labels = scores[task.validation].cpu(), task.labels[task.validation].cpu()
    noisy = task.noisy_labels(task.validation).cpu()
    noise = estimate_noise(held_out.double().softmax(dim=1), noisy)
    certain = task.is_verified(task.validation).cpu()
    return fit_calibration(held_out, labels, noise.transition, certain=certain)


def out_of_fold_calibration(
    out_of_fold: Probabilities, noise_matrix: Tensor, task: Task, *, disagreement: float = 0.0
) -> Calibration:
    """Return the calibration of a fit by predictions that saw no label of the node.

    A fold learns from four fifths of the labels and is right less often than the whole fit. By how
    much is estimated from how often their predictions differ, and the temperature is lowered until
    the mean probability is higher by so much.

    Args:
        out_of_fold: Of the folds [nodes, classes].
        noise_matrix: Estimated for the labels [classes, classes].
        task: With the observed labels.
        disagreement: Fraction of the nodes without a label that folds and the whole fit predict
            differently.
    """
    known = (task.labels != UNKNOWN) & (out_of_fold.sum(dim=1) > 0)
    logs = log_probabilities(out_of_fold[known])
    found = fit_calibration(
        logs,
        task.labels[known],
        noise_matrix,
        certain=task.is_verified(known),
        disagreement=disagreement,
    )
    if not len(logs):
        return found
    rows = found.probabilities(logs)
    accuracy, chance = rows.max(dim=1).values.mean(), rows.mean(dim=0)[rows.argmax(dim=1)].mean()
    skill = float((accuracy - chance) / (1 - chance).clamp_min(1e-9))
    return sharpen(found, logs, _GAIN * disagreement * skill)


def calibrated(out_of_fold: Probabilities, calibration: Calibration) -> Probabilities:
    """Return calibrated out-of-fold probabilities, 0 where there are none [nodes, classes]."""
    answered = out_of_fold.sum(dim=1, keepdim=True) > 0
    return calibration.probabilities(log_probabilities(out_of_fold)) * answered


def assess(
    out_of_fold: Probabilities,
    evidence: Evidence,
    votes: dict[str, Tensor],
    task: Task,
    *,
    disagreement: float,
    before: Evidence | None = None,
    labels_are: str = OBSERVED,
) -> tuple[Quality, Calibration]:
    """Return the statement of quality of a fit by its out-of-fold probabilities, and calibration.

    Agreement that chance explains says nothing about noise: random labels look like right ones of
    which most were made wrong, under which confident probabilities are as likely as any. There the
    calibration counts observed labels as right, and probabilities are about what chance gives.

    Args:
        out_of_fold: Of the model [nodes, classes].
        evidence: Of the model and of all others.
        votes: Of `gather_evidence`.
        task: With the observed labels.
        disagreement: Fraction of the nodes without a label that folds and the whole fit predict
            differently.
        before: The evidence of fits that have not seen the results of a review, if there was one.
        labels_are: What the labels are, in the words of the statement.
    """
    shape = (task.labels, task.num_classes)
    calibration = out_of_fold_calibration(
        out_of_fold, evidence.noise.transition, task, disagreement=disagreement
    )
    found = assess_quality(
        calibrated(out_of_fold, calibration),
        (before or evidence).pooled,
        task.labels,
        noise=evidence.noise,
        before=_before_review(before or evidence, evidence, task),
        generator=numpy_generator(task.seed, "resampled labels"),
        follows_attributes=labels_follow_attributes(
            task.graph, votes, *shape, seed=task.seed, nodes=task.nodes
        ),
        unreached=count_unreached(task.graph.adjacency, task.whole_labels()),
        hints=tuple(_hints(task.graph, task.whole_labels())),
        labels_are=labels_are,
    )
    if found.verdict != DISTRUST:
        return found, calibration
    no_noise = symmetric_noise(0.0, task.num_classes)
    calibration = out_of_fold_calibration(out_of_fold, no_noise, task)
    return found.with_probabilities(calibrated(out_of_fold, calibration), task.labels), calibration


def _before_review(before: Evidence, today: Evidence, task: Task) -> BeforeReview | None:
    """Return what was known before people verified labels; None where they did not.

    Args:
        before: Of fits that have not seen the results of the review.
        today: Of fits that have.
        task: With the labels of today.
    """
    if task.verified is None:
        return None
    labels = task.noisy_labels()
    verified = task.is_verified(labels != UNKNOWN)
    was_wrong = (labels != task.labels)[labels != UNKNOWN].double()
    settled = torch.maximum(_wrong(before, labels), was_wrong)[verified].sum()
    expected = _wrong(today, labels)[~verified].sum()
    return BeforeReview(labels, float(settled), float(expected))


def _wrong(evidence: Evidence, labels: Labels) -> Tensor:
    """Return the posterior probability that a label is wrong [labelled nodes]."""
    posterior = label_posterior(evidence.pooled, labels, evidence.noise.transition)
    known = labels != UNKNOWN
    return 1 - posterior[known].gather(1, labels[known][:, None]).squeeze(1)


def _hints(graph: Graph, labels: Labels) -> list[str]:
    """Return what the graph itself suggests to try."""
    hints = []
    known = (labels != UNKNOWN).nonzero().squeeze(1)
    near = graph.adjacency.take_rows(known.to(graph.device))
    rows, columns = known[near.rows.cpu()], near.columns.cpu().long()
    both = (labels[columns] != UNKNOWN) & (rows != columns)
    if both.any():
        frequency = labels[labels != UNKNOWN].bincount().double()
        chance = float((frequency / frequency.sum()).square().sum())
        homophily = float((labels[rows] == labels[columns])[both].double().mean())
        pairs = int(both.sum()) / 2  # every edge stands in both rows
        if is_heterophilous(homophily, chance, pairs):
            hints.append(
                f"Edges join equal labels less often ({homophily:.0%}) than by chance "
                f"({chance:.0%}): under heterophily try tedgcn."
            )
    if not isinstance(graph.features, CSR):
        size = _column_sizes(graph.features)
        size = size[size > 0]
        if len(size) > 1 and float(size.max() / size.median()) > _UNEVEN:
            hints.append("Scale the features: one column is far larger than the others.")
    return hints


def _column_sizes(features: Tensor) -> Tensor:
    """Return the root mean square of each column, in blocks of rows [columns]."""
    squares = node_rows(len(features)).sum(lambda rows: features[rows].double().square().sum(dim=0))
    return (squares / len(features)).sqrt()
