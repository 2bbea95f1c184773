"""Graphs and labels at the edge of what a method may be given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from quietgraph.graph import Graph

NODES = 24


@dataclass
class Problem:
    """What `fit` is given, before it is checked."""

    features: Any
    edges: Any
    labels: Any
    validation: Any
    weights: Any = None

    def graph(self) -> Graph:
        return Graph.from_arrays(self.features, self.edges, weights=self.weights)


def plain(nodes: int = NODES, classes: int = 3) -> Problem:
    """Return a ring with chords, features that tell the class, a label for all but six nodes."""
    draws = np.random.default_rng(0)
    truth = np.arange(nodes) % classes
    features = np.eye(classes)[truth] + 0.1 * draws.random((nodes, classes))
    place = np.arange(nodes)
    edges = np.hstack([[place, (place + 1) % nodes], [place, (place + classes) % nodes]])
    labels = truth.astype(object)
    labels[-6:] = None
    validation = np.zeros(nodes, dtype=bool)
    validation[nodes // 2 : nodes - 6] = True
    return Problem(features.astype(np.float32), edges, labels, validation)


def _case(change: Callable[[Problem], Any]) -> Callable[[], Problem]:
    def build() -> Problem:
        problem = plain()
        change(problem)
        return problem

    return build


def _only(count: int, *, validation: int) -> Callable[[Problem], None]:
    def change(problem: Problem) -> None:
        problem.labels[count:] = None
        problem.validation = np.arange(NODES)[count - validation : count] if validation else None

    return change


def _features(make: Callable[[np.ndarray], Any]) -> Callable[[Problem], None]:
    return lambda problem: setattr(problem, "features", make(problem.features))


def _edges(make: Callable[[np.ndarray], Any]) -> Callable[[Problem], None]:
    return lambda problem: setattr(problem, "edges", make(problem.edges))


def _labels(make: Callable[[np.ndarray], Any]) -> Callable[[Problem], None]:
    return lambda problem: setattr(problem, "labels", make(problem.labels))


def _weights(value: float) -> Callable[[Problem], None]:
    def change(problem: Problem) -> None:
        problem.weights = np.ones(problem.edges.shape[1])
        problem.weights[::3] = value

    return change


def _spike(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def make(features: np.ndarray) -> np.ndarray:
        features[0, 0] = value
        return features

    return make


def _two_nodes() -> Problem:
    return Problem(np.eye(2, dtype=np.float32), np.array([[0], [1]]), [0, 1], None)


def _star(edges: np.ndarray) -> np.ndarray:
    return np.array([[0] * (NODES - 1), range(1, NODES)])


def _complete(_: np.ndarray) -> np.ndarray:
    return np.array(np.triu_indices(NODES, 1))


NOTHING = np.zeros((2, 0), dtype=int)
# Every method is run on these in every test run; on the others by `make test-slow`.
CORE: dict[str, Callable[[], Problem]] = {
    "one validation node": _case(lambda one: setattr(one, "validation", [14])),
    "six labels": _case(_only(6, validation=3)),
    "features of 0": _case(_features(np.zeros_like)),
    "features of 1e30": _case(_features(lambda one: one * np.float32(1e30))),
    "no edges": _case(_edges(lambda _: NOTHING)),
    "two nodes": _two_nodes,
}
OTHER: dict[str, Callable[[], Problem]] = {
    "plain": plain,
    "two labels": _case(_only(2, validation=0)),
    "three labels": _case(_only(3, validation=0)),
    "four labels": _case(_only(4, validation=1)),
    "five labels": _case(_only(5, validation=0)),
    "no validation nodes": _case(lambda one: setattr(one, "validation", None)),
    "all labels in validation but one": _case(
        lambda one: setattr(one, "validation", np.arange(1, 18))
    ),
    "every node labelled": _case(_labels(lambda one: np.arange(NODES) % 3)),
    "one class": _case(_labels(lambda one: np.zeros(NODES, dtype=int))),
    "a class with one label": _case(_labels(lambda one: [9, *one[1:]])),
    "a class for every label": _case(_labels(lambda one: np.arange(NODES))),
    "a class in validation only": _case(
        _labels(lambda one: [8 if place == 14 else label for place, label in enumerate(one)])
    ),
    "one feature": _case(_features(lambda one: one[:, :1])),
    "a constant feature": _case(_features(np.ones_like)),
    "equal rows": _case(_features(lambda one: np.tile(one[:1], (NODES, 1)))),
    "features of 1e-30": _case(_features(lambda one: one * np.float32(1e-30))),
    "a feature of 1e30": _case(_features(_spike(1e30))),
    "a feature of 3e38": _case(_features(_spike(3e38))),
    "a feature of 1e39": _case(_features(lambda one: _spike(1e39)(one.astype(np.float64)))),
    "a feature of NaN": _case(_features(_spike(np.nan))),
    "negative features": _case(_features(lambda one: -one)),
    "more features than nodes": _case(_features(lambda one: np.tile(one, (1, 20)))),
    "one edge": _case(_edges(lambda one: one[:, :1])),
    "isolated nodes": _case(_edges(lambda one: one[:, (one < 12).all(axis=0)])),
    "duplicate edges": _case(_edges(lambda one: np.hstack([one, one, one[::-1]]))),
    "self-loops alone": _case(_edges(lambda one: np.array([range(NODES)] * 2))),
    "a star": _case(_edges(_star)),
    "a complete graph": _case(_edges(_complete)),
    "a weight of 1e39": _case(_weights(1e39)),
    "weights of 1e30": _case(_weights(1e30)),
    "weights of 1e-30": _case(_weights(1e-30)),
    "negative weights": _case(_weights(-1.0)),
    "an edge to nowhere": _case(_edges(lambda one: np.hstack([one, [[0], [NODES]]]))),
}
