"""Weights of labels: a weight of 0 hides a label, 2 counts it twice, classes can be balanced."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge

import quietgraph as qg
from quietgraph.classify.linear import ridge_path
from quietgraph.classify.logistic import logistic_path
from quietgraph.testing import quick_parameters, small_problem

WEIGHTED = [name for name, method in qg.METHODS.items() if method.takes_weights]


def rows(seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(seed)
    points = torch.randn(40, 5, generator=draws, dtype=torch.float64)
    labels = torch.randint(3, (40,), generator=draws)
    return points, labels, torch.rand(40, generator=draws, dtype=torch.float64) + 0.1


def test_ridge_with_weights_is_that_of_scikit_learn() -> None:
    points, labels, weights = rows()
    targets = torch.nn.functional.one_hot(labels, 3).double() - 1 / 3
    weights = weights / weights.mean()
    middle = weights / weights.sum() @ points
    scale = float(((points - middle) * weights.sqrt()[:, None]).square().sum(dim=1).mean())
    weight, _ = ridge_path(points, targets, (0.3,), weights=weights)[0.3]
    expected = Ridge(alpha=0.3 * scale).fit(points, targets, sample_weight=weights)
    np.testing.assert_allclose(weight.T, expected.coef_, rtol=1e-6)


def test_logistic_regression_with_weights_is_that_of_scikit_learn() -> None:
    points, labels, weights = rows()
    weights = weights / weights.mean()
    weight, bias = logistic_path(points, labels, 3, (1.0,), weights=weights)[1.0]
    expected = LogisticRegression(C=1.0, tol=1e-8, max_iter=1000)
    expected.fit(points, labels, sample_weight=weights)
    found = (points @ weight + bias).softmax(dim=1)
    np.testing.assert_allclose(found, expected.predict_proba(points), atol=1e-3)


@pytest.mark.parametrize("name", WEIGHTED)
def test_equal_weights_change_little_and_zero_weights_hide_labels(name: str) -> None:
    problem, labels, validation = small_problem()
    method = qg.METHODS[name]

    def fitted(**options) -> np.ndarray:
        model = method(**quick_parameters(method))
        return model.fit(problem.graph, labels, validation, **options).predict_proba()

    equal = fitted(sample_weight=np.full(120, 3.0))
    if not name.startswith("gcl"):  # these adjust class frequencies only without weights
        np.testing.assert_allclose(equal, fitted(), atol=1e-3)
    lopsided = np.where(labels == 0, 0.0, 1.0)
    assert fitted(sample_weight=lopsided)[:, 0].mean() < equal[:, 0].mean()


def test_a_weight_of_zero_is_a_label_that_was_never_there() -> None:
    problem, labels, validation = small_problem()
    hidden = labels.copy()
    hidden[:6] = (hidden[:6] + 1) % 3
    weights = np.ones(120)
    weights[:6] = 0
    settings = {"epochs": 30, "hidden": 8, "dropout": 0.0}
    ignored = qg.GCN(**settings).fit(problem.graph, hidden, validation, sample_weight=weights)
    hidden[:6] = -1
    absent = qg.GCN(**settings).fit(problem.graph, hidden, validation)
    np.testing.assert_allclose(ignored.scores_, absent.scores_, atol=1e-4)


def test_balanced_classes_lift_the_rare_one() -> None:
    drawn = qg.block_model(300, num_classes=2, signal=0.5, generator=np.random.default_rng(0))
    kept = (drawn.classes == 0) | (np.arange(300) % 6 == 0)
    labels = np.where(kept & (np.arange(300) < 200), drawn.classes, -1)
    plain = qg.S2GC(epochs=60).fit(drawn.graph, labels)
    balanced = qg.S2GC(epochs=60).fit(drawn.graph, labels, class_weight="balanced")
    counts = np.bincount(balanced.task_.labels[balanced.task_.train])
    by_hand = {0: 1.0, 1: counts[0] / counts[1]}
    weighted = qg.S2GC(epochs=60).fit(drawn.graph, labels, class_weight=by_hand)
    assert (balanced.predict() == 1).sum() > (plain.predict() == 1).sum()
    assert (weighted.predict() == balanced.predict()).mean() > 0.98


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sample_weight": [1.0]}, "one entry per node"),
        ({"sample_weight": np.full(120, -1.0)}, "not below 0"),
        ({"sample_weight": ["x"] * 120}, "must be numbers"),
        ({"sample_weight": np.zeros(120)}, "above 0"),
        ({"class_weight": "equal"}, "'balanced'"),
        ({"class_weight": {9: 1.0}}, "label 9"),
    ],
)
def test_mistakes_are_one_sentence(options, words: str) -> None:
    problem, labels, _ = small_problem()
    with pytest.raises(qg.QuietgraphError, match=words):
        qg.GCN(epochs=2).fit(problem.graph, labels, **options)


def test_a_method_that_weights_labels_itself_says_so() -> None:
    problem, labels, _ = small_problem()
    with pytest.raises(qg.InvalidParameterError, match="Quiet cannot weight labels"):
        qg.Quiet().fit(problem.graph, labels, class_weight="balanced")
