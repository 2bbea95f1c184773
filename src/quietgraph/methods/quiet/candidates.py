"""Candidates for the ensemble of `quiet`: classifiers that tolerate wrong labels."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import fit_mixtures, logistic_path, ridge_path
from quietgraph.classify.logistic import TOLERANCE
from quietgraph.classify.mixture import MixtureSetting, cluster_probabilities
from quietgraph.classify.self_training import STEPS
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.node_features import LearningRows
from quietgraph.methods.quiet.perceptron import fit_perceptrons
from quietgraph.types import Scores

_RIDGE_PENALTIES: Final = (0.03, 0.3, 1.0, 3.0, 10.0)
_LOGISTIC_PENALTIES: Final = (8.0, 2.0, 0.5, 0.1, 0.02)
# Folds are fitted five times, for suspects and quality, and are cheaper where that changed neither
# on development draws: smaller penalties, which take two thirds of the time of logistic
# regressions, are left out, solutions are less exact, and self-trained ridges share a Gram matrix.
_FOLD_PENALTIES: Final = 3
_FOLD_TOLERANCE: Final = 1e-4
_MIXTURES: Final = tuple(
    MixtureSetting(concentration, noisy) for concentration in (5.0, 10.0) for noisy in (False, True)
)


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

    def scores(self, features: Mapping[str, Tensor]) -> Scores:
        """Return log-odds up to a scale and a constant per node [nodes, classes]."""
        return self.inputs(features) @ self.weight + self.bias

    def inputs(self, features: Mapping[str, Tensor]) -> Tensor:
        """Return what the linear classifier reads of each node [nodes, columns]."""
        rows = features[self.kind]
        return (
            rows if self.hidden is None else (rows @ self.hidden.weight + self.hidden.bias).relu()
        )


Pool: TypeAlias = dict[str, Candidate]


def stacked_scores(
    pool: Pool, features: Mapping[str, Tensor]
) -> Iterator[tuple[list[str], Tensor]]:
    """Yield names of candidates and their scores [members, classes, nodes].

    Those on one kind of features come out of one product. Nodes are last: over few classes, a
    softmax or maximum along another axis than the last is several times as fast.
    """
    kinds: dict[str, list[str]] = {}
    for name, each in pool.items():
        kinds.setdefault(each.kind if each.hidden is None else name, []).append(name)
    for names in kinds.values():
        rows = pool[names[0]].inputs(features)
        weight = torch.cat([pool[name].weight.T for name in names])
        bias = torch.cat([pool[name].bias for name in names])
        scores = weight @ rows.T + bias[:, None]
        yield names, scores.view(len(names), -1, len(rows))


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
    penalties = _LOGISTIC_PENALTIES[: _FOLD_PENALTIES if task.is_fold else None]
    tolerance = _FOLD_TOLERANCE if task.is_fold else TOLERANCE
    labels, count = task.labels[task.train], task.num_classes
    pool = {}
    for kind in kinds:
        rows = features[kind][task.train]
        path = logistic_path(rows, labels, count, penalties, tolerance=tolerance)
        for penalty, (weight, bias) in path.items():
            pool[f"logistic {kind} {penalty:g}"] = Candidate(kind, weight, bias, f"logistic {kind}")
    return pool


def clusters(features: LearningRows, task: Task) -> Pool:
    """Return mixtures of clusters, and ridge regressions on their predictions for all nodes."""
    pool: Pool = {}
    steps = 0 if task.is_fold else STEPS
    for kind in ("clusters", "joint clusters", "attribute clusters"):
        if kind not in features:
            continue
        rows = features[kind]
        fits = fit_mixtures(rows, task.labels, task.train, task.num_classes, _MIXTURES)
        words = ("noisy" if setting.noisy else "plain" for setting in _MIXTURES)
        names = [f"{kind} {each[0]:g} {word}" for each, word in zip(_MIXTURES, words, strict=True)]
        pool |= {name: Candidate(kind, *fit, kind) for name, fit in zip(names, fits, strict=True)}
        weights = torch.stack([weight.T for weight, _ in fits])
        biases = torch.stack([bias for _, bias in fits])
        probabilities = cluster_probabilities(rows, weights, biases)
        for target in ("attributes", "both"):
            if target in features:
                ridges = features.self_training(target).ridges(probabilities, steps=steps)
                for name, ridge in zip(names, ridges, strict=True):
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
