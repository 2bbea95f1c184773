"""Candidates for the ensemble of `quiet`: classifiers that tolerate wrong labels."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import Tensor

from quietgraph.classify import fit_mixture, logistic_path, ridge_path, self_trained_ridge
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.node_features import LearningRows
from quietgraph.methods.quiet.perceptron import fit_perceptrons
from quietgraph.types import Scores

_RIDGE_PENALTIES: Final = (0.03, 0.3, 1.0, 3.0, 10.0)
_LOGISTIC_PENALTIES: Final = (8.0, 2.0, 0.5, 0.1, 0.02)
_CONCENTRATIONS: Final = (5.0, 10.0)  # of clusters (kappa)


class Layer(NamedTuple):
    """A linear map followed by a ReLU."""

    weight: Tensor  # [columns, width]
    bias: Tensor  # [width]


class Candidate(NamedTuple):
    """A linear classifier on one kind of features, or on a hidden layer over them."""

    kind: str
    weight: Tensor  # [columns, classes]
    bias: Tensor  # [classes]
    family: str = ""  # candidates of one family are fitted alike, but for a setting
    hidden: Layer | None = None

    def scores(self, features: dict[str, Tensor]) -> Scores:
        """Return log-odds up to a scale and a constant per node [nodes, classes]."""
        return self._inputs(features) @ self.weight + self.bias

    def _inputs(self, features: dict[str, Tensor]) -> Tensor:
        rows = features[self.kind]
        return (
            rows if self.hidden is None else (rows @ self.hidden.weight + self.hidden.bias).relu()
        )


Pool: TypeAlias = dict[str, Candidate]


def scores_of(pool: Pool, features: dict[str, Tensor]) -> Iterator[tuple[str, Scores]]:
    """Yield name and scores of every candidate; those on one kind of features in one product."""
    linear = {name: each for name, each in pool.items() if each.hidden is None}
    yield from ((name, each.scores(features)) for name, each in pool.items() if each.hidden)
    for kind in dict.fromkeys(candidate.kind for candidate in linear.values()):
        members = {name: each for name, each in linear.items() if each.kind == kind}
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
        f"ridge {penalty:g}": Candidate(kind, weight, bias, "ridge")
        for penalty, (weight, bias) in ridge_path(labelled, targets, _RIDGE_PENALTIES).items()
    }


def logistics(features: dict[str, Tensor], task: Task) -> Pool:
    """Return logistic regressions on the training labels."""
    kinds = ("wide", "attributes") if "wide" in features else ("attributes",)
    return _logistics(features, task, kinds)


def own_logistics(features: dict[str, Tensor], task: Task) -> Pool:
    """Return logistic regressions on a node's own attributes, for heterophilic graphs."""
    return _logistics(features, task, ("own",))


def hop_logistics(features: dict[str, Tensor], task: Task) -> Pool:
    """Return logistic regressions on attributes of neighbours, alone and beside a node's own."""
    return _logistics(features, task, ("neighbours", "hops"))


def _logistics(features: dict[str, Tensor], task: Task, kinds: tuple[str, ...]) -> Pool:
    pool = {}
    for kind in kinds:
        rows, labels = features[kind][task.train], task.labels[task.train]
        path = logistic_path(rows, labels, task.num_classes, _LOGISTIC_PENALTIES)
        for penalty, (weight, bias) in path.items():
            pool[f"logistic {kind} {penalty:g}"] = Candidate(kind, weight, bias, f"logistic {kind}")
    return pool


def clusters(features: dict[str, Tensor], task: Task) -> Pool:
    """Return mixtures of clusters, and ridge regressions on their predictions for all nodes."""
    pool = {}
    for kind in ("clusters", "joint clusters", "attribute clusters"):
        if kind not in features:
            continue
        for concentration in _CONCENTRATIONS:
            for noisy in (False, True):
                name = f"{kind} {concentration:g} {'noisy' if noisy else 'plain'}"
                weight, bias = fit_mixture(
                    features[kind],
                    task.labels,
                    task.train,
                    task.num_classes,
                    concentration=concentration,
                    noisy=noisy,
                )
                pool[name] = Candidate(kind, weight, bias, kind)
                probabilities = pool[name].scores(features).softmax(dim=1)
                for target in ("attributes", "both"):
                    if target in features:
                        ridge = self_trained_ridge(features[target], probabilities)
                        pool[f"{target} self-trained by {name}"] = Candidate(
                            target, *ridge, f"self-trained {target}"
                        )
    return pool


def perceptrons(features: LearningRows, task: Task) -> Pool:
    """Return perceptrons on propagated attributes, consistent under random propagation."""
    fitted = fit_perceptrons(features.random_views(), features["propagated"], task)
    return {
        f"perceptron {decay:g}": Candidate(
            "propagated", weight, bias, "perceptron", Layer(hidden_weight, hidden_bias)
        )
        for decay, (hidden_weight, hidden_bias, weight, bias) in fitted.items()
    }


FAMILIES: Final[dict[str, Callable[[LearningRows, Task], Pool]]] = {
    "ridge": ridges,
    "logistic": logistics,
    "clusters": clusters,
    "own": own_logistics,
    "hops": hop_logistics,
    "perceptron": perceptrons,
}
HETEROPHILOUS: Final = {"own", "hops"}  # families for graphs whose neighbours differ


def fit_candidates(
    features: LearningRows, task: Task, families: list[str], *, corrections: int = 0
) -> Pool:
    """Return every candidate fitted to the training labels of a task, by name.

    Args:
        features: Rows by kind of features [nodes, columns].
        task: Its labels may have been corrected.
        families: Some of `FAMILIES`.
        corrections: How often the labels have been corrected, for the names.
    """
    pool: Pool = {}
    for family in families:
        pool |= FAMILIES[family](features, task)
    after = f", labels corrected {corrections} x" if corrections else ""
    return {f"{name}{after}": candidate for name, candidate in pool.items()}


def class_permutations(pool: Pool, features: dict[str, Tensor], task: Task) -> dict[str, Tensor]:
    """Return the order of classes in which a candidate agrees best with validation labels.

    Where half of the few training labels of a class are wrong, a candidate may swap two classes.
    The assignment problem is solved for each; only candidates whose order changes are returned.
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


def permuted(pool: Pool, orders: dict[str, Tensor]) -> Pool:
    """Return the candidates that have a better order of classes, in that order."""
    return {
        f"{name}, classes permuted": each._replace(
            weight=each.weight[:, orders[name]], bias=each.bias[orders[name]]
        )
        for name, each in pool.items()
        if name in orders
    }
