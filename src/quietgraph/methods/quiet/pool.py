"""What `quiet` chooses from: linear classifiers that bear with wrong labels."""

import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from quietgraph.classify import fit_mixture, logistic_path, ridge_path, self_trained_ridge
from quietgraph.classify.label_issues.posterior import likely_classes
from quietgraph.diagnose import estimate_noise
from quietgraph.methods.base.task import Task
from quietgraph.types import UNKNOWN, Labels, Scores

_PENALTIES: Final = (0.03, 0.3, 1.0, 3.0, 10.0)  # of ridge regression
_STRENGTHS: Final = (8.0, 2.0, 0.5, 0.1, 0.02)  # of the penalty of logistic regression
_SHARPNESS: Final = (5.0, 10.0)  # of clusters
_BIAS_STEPS: Final = (-0.4, -0.2, -0.1, 0.1, 0.2, 0.4)  # in mean leads of the best class
_BIAS_ROUNDS: Final = 3
_BIAS_FOLDS: Final = 5
_BIAS_PRICE: Final = 0.2  # accuracy that a bias of one mean lead must gain, in 1 / root nodes


class Candidate(NamedTuple):
    """A linear classifier on one kind of features."""

    kind: str
    weight: Tensor  # [dim, classes]
    bias: Tensor  # [classes]

    def scores(self, features: dict[str, Tensor]) -> Scores:
        """Return log-odds up to a scale and a constant per node [nodes, classes]."""
        return features[self.kind] @ self.weight + self.bias


Pool: TypeAlias = dict[str, Candidate]


def scores_of(pool: Pool, features: dict[str, Tensor]) -> Iterator[tuple[str, Scores]]:
    """Yield name and scores of every candidate; those on one kind of features in one product."""
    for kind in dict.fromkeys(candidate.kind for candidate in pool.values()):
        members = {name: each for name, each in pool.items() if each.kind == kind}
        weight = torch.cat([each.weight for each in members.values()], dim=1)
        bias = torch.cat([each.bias for each in members.values()])
        scores = features[kind] @ weight + bias
        widths = [each.weight.shape[1] for each in members.values()]
        yield from zip(members, torch.split(scores, widths, dim=1), strict=True)


def ridges(features: dict[str, Tensor], task: Task) -> Pool:
    """Return ridge regressions on the training labels, on all features side by side."""
    kind = "wide" if "wide" in features else "attributes"
    labelled = features[kind][task.train]
    count = task.num_classes
    targets = F.one_hot(task.labels[task.train], count).to(labelled.dtype) - 1 / count
    return {
        f"ridge {penalty:g}": Candidate(kind, weight, bias)
        for penalty, (weight, bias) in ridge_path(labelled, targets, _PENALTIES).items()
    }


def logistics(features: dict[str, Tensor], task: Task) -> Pool:
    """Return logistic regressions on the training labels."""
    return _logistics(features, task, ("wide", "attributes"))


def own_logistics(features: dict[str, Tensor], task: Task) -> Pool:
    """Return those that see no neighbour: they lead where neighbours are unlike."""
    return _logistics(features, task, ("own",))


def _logistics(features: dict[str, Tensor], task: Task, kinds: tuple[str, ...]) -> Pool:
    pool = {}
    for kind in kinds:
        if kind not in features:
            continue
        path = logistic_path(
            features[kind][task.train], task.labels[task.train], task.num_classes, _STRENGTHS
        )
        for strength, (weight, bias) in path.items():
            pool[f"logistic {kind} {strength:g}"] = Candidate(kind, weight, bias)
    return pool


def clusters(features: dict[str, Tensor], task: Task) -> Pool:
    """Return clusters, and ridge regressions on all nodes that the clusters teach."""
    pool = {}
    for kind in ("clusters", "joint clusters", "attribute clusters"):
        if kind not in features:
            continue
        for sharpness in _SHARPNESS:
            for noisy in (False, True):
                name = f"{kind} {sharpness:g} {'noisy' if noisy else 'plain'}"
                weight, bias = fit_mixture(
                    features[kind],
                    task.labels,
                    task.train,
                    task.num_classes,
                    sharpness=sharpness,
                    noisy=noisy,
                )
                pool[name] = Candidate(kind, weight, bias)
                chances = pool[name].scores(features).softmax(dim=1)
                for taught in ("attributes", "both"):
                    if taught in features:
                        again = self_trained_ridge(features[taught], chances)
                        pool[f"{taught} taught by {name}"] = Candidate(taught, *again)
    return pool


FAMILIES: Final[dict[str, Callable[[dict[str, Tensor], Task], Pool]]] = {
    "ridge": ridges,
    "logistic": logistics,
    "clusters": clusters,
    "own": own_logistics,
}


def mend_labels(scores: Scores, task: Task) -> Labels:
    """Return the labels of a task with the given ones replaced by the likeliest [nodes].

    How often each class is taken for which is seen on the validation nodes, whose labels taught
    no candidate anything.
    """
    chances = scores.softmax(dim=1)
    noise = estimate_noise(chances[task.validation].cpu(), task.labels[task.validation].cpu())
    likely = likely_classes(chances, task.labels, noise.transition.to(chances.device))
    return torch.where(task.labels == UNKNOWN, UNKNOWN, likely.argmax(dim=1))


def better_names(pool: Pool, features: dict[str, Tensor], task: Task) -> dict[str, Tensor]:
    """Return the order of classes in which a candidate agrees best with validation labels.

    Where half of the few training labels of a class are wrong, a whole class may get the name of
    another. Only candidates that would be renamed are in the answer.
    """
    held_out = {kind: rows[task.validation] for kind, rows in features.items()}
    labels, count = task.labels[task.validation], task.num_classes
    orders = {}
    for name, scores in scores_of(pool, held_out):
        predicted = scores.argmax(dim=1)
        agreeing = torch.bincount(labels * count + predicted, minlength=count * count)
        groups = linear_sum_assignment(-agreeing.reshape(count, count).cpu().numpy())[1]
        if (groups != range(count)).any():
            orders[name] = torch.from_numpy(groups).to(labels.device)
    return orders


def renamed(pool: Pool, orders: dict[str, Tensor]) -> Pool:
    """Return the candidates that have a better order of classes, in that order."""
    return {
        f"{name}, renamed": Candidate(kind, weight[:, orders[name]], bias[orders[name]])
        for name, (kind, weight, bias) in pool.items()
        if name in orders
    }


def class_biases(scores: Scores, labels: Labels, *, generator: torch.Generator) -> Tensor:
    """Return what to add to each class's scores to meet more of some labels [classes].

    Training labels say nothing of how frequent a class is where each has as many; held-out labels
    do. The mean of what five samples of four fifths each say, so that no single node decides.

    Args:
        scores: Of nodes whose labels taught nobody anything [nodes, classes].
        labels: Their labels, some of them wrong [nodes].
        generator: Draws the samples.
    """
    order = torch.randperm(len(labels), generator=generator).to(labels.device)
    fold = order % _BIAS_FOLDS
    samples = [fold != number for number in range(min(_BIAS_FOLDS, len(labels)))]
    return torch.stack([_ascend(scores[kept], labels[kept]) for kept in samples]).mean(dim=0)


def _ascend(scores: Scores, labels: Labels) -> Tensor:
    """Return biases by coordinate ascent of accuracy less a price of their size [classes]."""
    lead = mean_lead(scores)
    price = _BIAS_PRICE / math.sqrt(max(len(labels), 1))

    def merit(biases: Tensor) -> float:
        hits = (scores + lead * biases).argmax(dim=1) == labels
        return float(hits.float().mean() - price * biases.abs().sum())

    biases = scores.new_zeros(scores.shape[1])
    best = merit(biases)
    for _ in range(_BIAS_ROUNDS):
        before = best
        for one in torch.eye(len(biases), dtype=scores.dtype, device=scores.device):
            for step in _BIAS_STEPS:
                moved = biases + step * one
                if (value := merit(moved)) > best:
                    best, biases = value, moved
        if best == before:
            break
    return lead * biases


def mean_lead(scores: Scores) -> Tensor:
    """Return by how much the best class is ahead of the second on average."""
    top = scores.topk(2, dim=1).values
    return (top[:, 0] - top[:, 1]).mean().clamp_min(1e-12)
