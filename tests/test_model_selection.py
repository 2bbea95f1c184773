"""Cross-validation and search over nodes agree with what scikit-learn does by hand."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    LeaveOneGroupOut,
    StratifiedKFold,
    learning_curve,
)
from sklearn.utils.validation import check_is_fitted

import quietgraph as qg
from quietgraph.model_selection import (
    GridSearch,
    NodeEstimator,
    cross_val_predict,
    cross_val_score,
    labelled_nodes,
    region_groups,
)
from quietgraph.testing import small_problem

MODEL = qg.GCN(epochs=30, hidden=8)


def problem():
    drawn, labels, _ = small_problem()
    names = np.array(["red", "green", "blue"])
    return drawn.graph, [names[label] if label >= 0 else None for label in labels]


def test_scores_equal_fits_by_hand_with_a_splitter_of_scikit_learn() -> None:
    graph, labels = problem()
    folds = StratifiedKFold(3, shuffle=True, random_state=7)
    scores = cross_val_score(MODEL, graph, labels, cv=folds)
    nodes, targets = labelled_nodes(graph, labels)
    for score, (kept, hidden) in zip(scores, folds.split(nodes, targets), strict=True):
        given = np.full(graph.num_nodes, None, dtype=object)
        given[nodes[kept]] = targets[kept]
        predicted = clone(MODEL).fit(graph, given).predict()
        assert score == pytest.approx((predicted[nodes[hidden]] == targets[hidden]).mean())


def test_groups_stay_together_and_scorers_see_probabilities() -> None:
    graph, labels = problem()
    groups = np.arange(60) % 4
    scores = cross_val_score(
        MODEL, graph, labels, cv=GroupKFold(4), groups=groups, scoring="neg_log_loss"
    )
    assert scores.shape == (4,)
    assert (scores < 0).all()
    answers = cross_val_predict(MODEL, graph, labels, cv=LeaveOneGroupOut(), groups=groups)
    assert set(answers) <= {"red", "green", "blue"}
    assert (answers == labelled_nodes(graph, labels)[1]).mean() > 0.5


def test_a_search_finds_the_setting_that_learns_and_refits_it_on_all_labels() -> None:
    graph, labels = problem()
    search = GridSearch(MODEL, {"epochs": [1, 40], "learning_rate": [1e-6, 0.05]}, cv=3)
    assert clone(search).get_params()["model__hidden"] == 8
    search.fit(graph, labels)
    assert search.best_params_ == {"epochs": 40, "learning_rate": 0.05}
    assert search.best_score_ > 0.8
    assert search.best_estimator_.get_params()["epochs"] == 40
    table = pd.DataFrame(search.cv_results_)
    assert {"param_epochs", "mean_test_score", "rank_test_score"} <= set(table.columns)
    again = clone(MODEL).set_params(**search.best_params_).fit(graph, labels)
    np.testing.assert_array_equal(search.predict(), again.predict())
    assert search.score(graph, labels) == again.score(graph, labels)


def test_the_search_of_scikit_learn_itself_works_on_nodes() -> None:
    graph, labels = problem()
    nodes, targets = labelled_nodes(graph, labels)
    search = GridSearchCV(NodeEstimator(MODEL, graph), {"model__epochs": [1, 40]}, cv=3)
    search.fit(nodes, targets)
    assert search.best_estimator_.model.epochs == 40
    assert clone(search.best_estimator_).graph is graph
    sizes, _, held_out = learning_curve(
        NodeEstimator(MODEL, graph), nodes, targets, train_sizes=[0.5, 1.0], cv=3
    )
    assert list(sizes) == [20, 40]
    assert held_out.shape == (2, 3)


def test_regions_are_neighbourhoods_and_keep_components_together() -> None:
    chain = np.array([[i, i + 1] for i in range(59) if i != 39]).T  # 0 ... 39 and 40 ... 59
    graph = qg.Graph.from_arrays(np.eye(60), chain)
    labels = np.arange(60) % 2
    groups = region_groups(graph, labels, count=6)
    changes = int((np.diff(groups[:40]) != 0).sum() + (np.diff(groups[40:]) != 0).sum())
    assert changes <= 6 - 2  # each region is one stretch of a chain
    np.testing.assert_array_equal(groups, region_groups(graph, labels, count=6))
    one = region_groups(graph, labels, count=1)
    assert set(one) == {0}
    some = np.where(np.arange(60) < 10, labels, -1)
    np.testing.assert_array_equal(region_groups(graph, some, count=6), groups[:10])
    drawn, names = problem()
    folds = {"cv": GroupKFold(3), "groups": region_groups(drawn, names, count=10)}
    assert cross_val_score(MODEL, drawn, names, **folds).shape == (3,)


def test_embeddings_without_labels_are_learned_once_for_all_folds(monkeypatch) -> None:
    graph, labels = problem()
    count = []
    usual = qg.SUGRL._embed
    monkeypatch.setattr(
        qg.SUGRL, "_embed", lambda self, *args: count.append(1) or usual(self, *args)
    )
    cross_val_score(qg.SUGRL(**qg.SUGRL.quick), graph, labels, cv=3)
    assert len(count) == 1


def test_unfitted_searches_and_models_are_refused_as_scikit_learn_does() -> None:
    from sklearn.exceptions import NotFittedError

    for unfitted in (GridSearch(MODEL, {"epochs": [1]}), NodeEstimator(MODEL, problem()[0])):
        with pytest.raises(NotFittedError):
            unfitted.predict([0])
    with pytest.raises(NotFittedError, match="Call fit first"):
        qg.GCN().predict()
    with pytest.raises(NotFittedError):
        check_is_fitted(qg.GCN())
