"""Nodes as samples: scikit-learn's search, splitters and curves agree with fits by hand."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold, cross_val_score, learning_curve

from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.gcn import GCN
from quietgraph.sklearn import NodeEstimator, labelled_nodes

MODEL = GCN(epochs=30, hidden=8)


@pytest.fixture(scope="module")
def problem() -> tuple[Graph, list[str | None]]:
    graph, classes = block_model(120, num_classes=3, num_features=12, generator=np.random.default_rng(0))
    names = np.array(["red", "green", "blue"])
    return graph, [names[code] if node < 60 else None for node, code in enumerate(classes)]


def test_scores_equal_fits_by_hand(problem) -> None:
    graph, labels = problem
    nodes, targets = labelled_nodes(graph, labels)
    assert nodes.tolist() == list(range(60))
    assert targets.tolist() == labels[:60]
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    scores = cross_val_score(NodeEstimator(MODEL, graph), nodes, targets, cv=folds)
    for score, (kept, hidden) in zip(scores, folds.split(nodes, targets), strict=True):
        given = np.full(120, None, dtype=object)
        given[nodes[kept]] = targets[kept]
        predicted = clone(MODEL).fit(graph, given).predict()
        assert score == pytest.approx((predicted[nodes[hidden]] == targets[hidden]).mean())


def test_searches_groups_scorers_and_curves_work_on_nodes(problem) -> None:
    graph, labels = problem
    nodes, targets = labelled_nodes(graph, labels)
    search = GridSearchCV(NodeEstimator(MODEL, graph), {"model__epochs": [1, 40]}, cv=3).fit(nodes, targets)
    assert search.best_estimator_.model.epochs == 40
    assert clone(search.best_estimator_).graph is graph
    folds = {"cv": GroupKFold(3), "groups": np.arange(60) % 4, "scoring": "neg_log_loss"}
    assert (cross_val_score(NodeEstimator(MODEL, graph), nodes, targets, **folds) < 0).all()
    sizes = learning_curve(NodeEstimator(MODEL, graph), nodes, targets, train_sizes=[0.5, 1.0], cv=3)[0]
    assert list(sizes) == [20, 40]


def test_an_estimator_that_is_not_fitted_says_so(problem) -> None:
    with pytest.raises(NotFittedError):
        NodeEstimator(MODEL, problem[0]).predict([0])
