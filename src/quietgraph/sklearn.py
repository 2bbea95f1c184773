"""Nodes as samples of scikit-learn: its searches, splitters, scorers and curves work on them.

nodes, targets = labelled_nodes(graph, labels)
GridSearchCV(NodeEstimator(qg.GCN(), graph), {"model__hidden": [16, 64]}).fit(nodes, targets)

A fold hides the labels of its nodes; the nodes themselves and their edges stay in the graph, as in every transductive
task. Scores are agreement with observed labels, of which some may be wrong.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from quietgraph.data.labels import encode_labels
from quietgraph.graph import Graph
from quietgraph.methods.base import NodeClassifier
from quietgraph.types import UNKNOWN, AnyArray, FloatArray, IntArray, ValuesLike


class NodeEstimator(ClassifierMixin, BaseEstimator):
    """A node classifier whose samples are node indices: `fit(nodes, labels)`, `predict(nodes)`."""

    def __init__(self, model: NodeClassifier, graph: Graph) -> None:
        self.model, self.graph = model, graph

    def fit(self, nodes: ArrayLike, labels: ValuesLike) -> Self:
        """Learn from the labels of some nodes on the whole graph."""
        every = np.full(self.graph.num_nodes, None, dtype=object)
        every[np.asarray(nodes)] = labels
        self.model_ = clone(self.model).fit(self.graph, every)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, nodes: ArrayLike) -> AnyArray:
        """Return the likeliest label of some nodes [nodes]."""
        check_is_fitted(self)
        return self.model_.predict()[np.asarray(nodes)]

    def predict_proba(self, nodes: ArrayLike) -> FloatArray:
        """Return the probabilities of some nodes [nodes, classes]."""
        check_is_fitted(self)
        return self.model_.predict_proba()[np.asarray(nodes)]

    def __sklearn_clone__(self) -> "NodeEstimator":
        # A graph never changes: copies share it, and with it what was computed from it.
        return NodeEstimator(clone(self.model), self.graph)


def labelled_nodes(graph: Graph, labels: ValuesLike) -> tuple[IntArray, AnyArray]:
    """Return the indices of the nodes with a known label, and these labels: samples and targets."""
    codes, classes = encode_labels(labels, graph.num_nodes)
    nodes = np.flatnonzero(codes.numpy() != UNKNOWN)
    return nodes, classes[codes.numpy()[nodes]]
