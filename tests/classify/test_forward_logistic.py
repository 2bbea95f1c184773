"""Logistic regression through a noise matrix."""

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from quietgraph.classify.forward_logistic import fit_forward_logistic


def problem(seed: int = 0) -> tuple[Tensor, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    classes = torch.randint(3, (150,), generator=draws)
    return torch.eye(3, 5)[classes] * 2 + torch.randn(150, 5, generator=draws), classes


def cost_slow(solution: tuple[Tensor, Tensor], rows: Tensor, reading: Tensor, weights: Tensor, penalty: float) -> float:
    weight, bias = solution
    total = 0.0
    for row, read, count in zip(rows, reading, weights, strict=True):
        told = sum(p * r for p, r in zip((row @ weight + bias).softmax(0), read, strict=True))
        total -= float(count * torch.log(told))
    return total / float(weights.sum()) + penalty / (2 * float(weights.sum())) * float((weight**2).sum())


def test_with_certain_labels_it_is_the_logistic_regression_of_scikit_learn() -> None:
    rows, classes = problem()
    weight, bias = fit_forward_logistic(rows, torch.eye(3)[classes], penalty=1.0)
    theirs = LogisticRegression(C=1.0, tol=1e-8, max_iter=2000).fit(rows.numpy(), classes.numpy())
    np.testing.assert_allclose((rows @ weight + bias).softmax(1), theirs.predict_proba(rows.numpy()), atol=2e-3)


def test_it_minimises_the_cost_as_written() -> None:
    rows, classes = problem(1)
    matrix = torch.tensor([[0.6, 0.4, 0.0], [0.0, 0.7, 0.3], [0.2, 0.0, 0.8]])
    reading, draws = matrix[:, classes].T, torch.Generator().manual_seed(1)
    weights = torch.rand(150, generator=draws) + 0.5
    weight, bias = fit_forward_logistic(rows, reading, weights=weights, penalty=2.0)
    least = cost_slow((weight, bias), rows, reading, weights, 2.0)
    for scale in (0.3, 0.03):
        for _ in range(5):
            moved = weight + scale * torch.randn(weight.shape, generator=draws)
            assert cost_slow((moved, bias), rows, reading, weights, 2.0) > least


def test_wrong_labels_are_explained_and_not_fitted() -> None:
    rows, classes = problem(2)
    matrix = torch.tensor([[0.55, 0.45, 0.0], [0.0, 0.55, 0.45], [0.45, 0.0, 0.55]])
    labels = torch.multinomial(matrix[classes], 1, generator=torch.Generator().manual_seed(3))[:, 0]
    hits = {}
    for name, reading in {"through": matrix[:, labels].T, "plain": torch.eye(3)[labels]}.items():
        weight, bias = fit_forward_logistic(rows, reading)
        hits[name] = float(((rows @ weight + bias).argmax(1) == classes).float().mean())
    assert hits["through"] > hits["plain"] + 0.05


def test_labels_of_weight_zero_do_not_count() -> None:
    rows, classes = problem(3)
    weights = (torch.arange(150) < 100).float()
    all_of_them = fit_forward_logistic(rows, torch.eye(3)[classes], weights=weights)
    some = fit_forward_logistic(rows[:100], torch.eye(3)[classes[:100]])
    for found, wanted in zip(all_of_them, some, strict=True):
        torch.testing.assert_close(found, wanted, atol=2e-3, rtol=0)
