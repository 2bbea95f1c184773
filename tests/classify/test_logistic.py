"""Logistic regression against its definition and against scikit-learn's solver."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from quietgraph.classify import LinearFit, logistic
from quietgraph.classify.logistic import (
    PENALTIES,
    fit_logistic,
    logistic_path,
    narrow_rows,
)


def _rows(count: int, dim: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    draws = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 3
    rows = torch.randn(count, dim, generator=draws) + torch.eye(3, dim)[labels] + 0.5
    return rows, labels


def _fit(rows: Tensor, labels: Tensor, split: int, **options: object) -> LinearFit:
    train = torch.arange(len(rows)) < split
    return fit_logistic(rows, labels, train=train, validation=~train, num_classes=3, **options)


@pytest.mark.parametrize(("count", "dim"), [(60, 5), (20, 50)])
@pytest.mark.parametrize("penalty", [8.0, 0.5])
def test_the_path_holds_the_solutions_of_another_solver(
    count: int, dim: int, penalty: float
) -> None:
    rows, labels = _rows(count, dim)
    weight, bias = logistic_path(rows, labels, 3, [penalty, 64.0])[penalty]
    twin = LogisticRegression(C=1 / penalty, tol=1e-10, max_iter=10_000)
    wanted = twin.fit(rows.double().numpy(), labels.numpy()).decision_function(rows.double())
    found = (rows @ weight + bias).numpy()
    np.testing.assert_allclose(
        found - found.mean(axis=1, keepdims=True),
        wanted - wanted.mean(axis=1, keepdims=True),
        atol=5e-3,
    )


def test_the_gradient_vanishes_at_a_solution() -> None:
    rows, labels = _rows(60, 5)
    weight, bias = logistic_path(rows, labels, 3, [1.0])[1.0]
    weight, bias = weight.double().requires_grad_(), bias.double().requires_grad_()
    logits = rows.double() @ weight + bias
    cost = torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
    (cost + weight.square().sum() / 2).backward()
    assert weight.grad is not None
    assert bias.grad is not None
    assert float(weight.grad.abs().max()) < 1e-3
    assert float(bias.grad.abs().max()) < 1e-3


def test_penalties_span_two_to_the_minus_ten_up_to_ten() -> None:
    assert (min(PENALTIES), max(PENALTIES), len(PENALTIES)) == (2.0**-10, 2.0**10, 21)


def test_noisy_training_labels_make_validation_choose_a_stronger_penalty() -> None:
    rows, labels = _rows(400, 40, seed=1)
    wrong = labels.clone()
    flipped = torch.rand(100, generator=torch.Generator().manual_seed(2)) < 0.4
    wrong[:100][flipped] = (wrong[:100][flipped] + 1) % 3
    assert _fit(rows, wrong, 100).chosen > 2.0**-10


def test_the_choice_has_the_best_validation_accuracy_of_the_path() -> None:
    rows, labels = _rows(120, 20, seed=3)
    best = _fit(rows, labels, 40)
    single = [_fit(rows, labels, 40, penalties=[penalty]) for penalty in PENALTIES]
    accuracies = [fit.validation_accuracy for fit in single]
    assert best.validation_accuracy >= max(accuracies) - 0.02


def test_the_old_name_of_penalties_is_taken_with_a_warning() -> None:
    rows, labels = _rows(60, 5)
    with pytest.warns(FutureWarning, match="penalties"):
        found = _fit(rows, labels, 40, strengths=[2.0])
    torch.testing.assert_close(found.weight, _fit(rows, labels, 40, penalties=[2.0]).weight)


def test_a_class_without_training_rows_gives_finite_scores() -> None:
    rows, labels = _rows(60, 5)
    labels[:30] = labels[:30] % 2
    fit = _fit(rows, labels, 30)
    assert torch.isfinite(fit.scores(rows)).all()


def test_many_rows_in_single_precision_give_the_solution_of_double(monkeypatch) -> None:
    draws = torch.Generator().manual_seed(0)
    rows = torch.randn(300, 12, generator=draws)
    labels = (rows[:, :3] + torch.randn(300, 3, generator=draws)).argmax(dim=1)
    double = logistic_path(rows, labels, 3, (2.0, 0.1))
    monkeypatch.setattr(logistic, "_MANY", 10)
    single = logistic_path(rows, labels, 3, (2.0, 0.1))
    for penalty, (weight, bias) in double.items():
        torch.testing.assert_close(single[penalty][0], weight, atol=2e-3, rtol=2e-3)
        torch.testing.assert_close(single[penalty][1], bias, atol=2e-3, rtol=2e-3)


@pytest.mark.parametrize(("count", "dim"), [(12, 40), (40, 12)])
def test_narrow_rows_keep_all_inner_products(count: int, dim: int) -> None:
    rows = np.random.default_rng(0).standard_normal((count, dim))
    rows[-1] = rows[0] + rows[1]  # one direction less than rows
    points = narrow_rows(rows)
    assert points.shape == (count, min(count, dim))
    np.testing.assert_allclose(points @ points.T, rows @ rows.T, atol=1e-7)


def test_rows_that_are_all_alike_give_the_class_frequencies() -> None:
    labels = torch.tensor([0, 0, 1])
    weight, bias = logistic_path(torch.ones(3, 20), labels, 2, [1.0])[1.0]
    assert not weight.any()
    chances = bias.softmax(dim=0)
    torch.testing.assert_close(chances, torch.tensor([2 / 3, 1 / 3]), atol=1e-3, rtol=1e-3)


def test_a_larger_tolerance_takes_fewer_steps_to_about_the_same(monkeypatch) -> None:
    rows, labels = _rows(200, 10)
    calls, minimize = [], logistic.minimize

    def spy(cost, *given, **options):
        return minimize(lambda flat: calls.append(1) or cost(flat), *given, **options)

    monkeypatch.setattr(logistic, "minimize", spy)
    exact, usual = logistic_path(rows, labels, 3, [0.1])[0.1], len(calls)
    rough = logistic_path(rows, labels, 3, [0.1], tolerance=1e-3)[0.1]
    assert len(calls) - usual < usual
    torch.testing.assert_close(rough, exact, atol=0.1, rtol=0.1)
