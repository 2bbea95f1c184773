"""Linear classifiers against their definitions, solved directly."""

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.linear import fit_descent, fit_logistic, fit_ridge, logistic_path, ridge_path

NODES = 60


def problem(dim: int = 5, classes: int = 3) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Rows of double precision, true labels, and which of them teach and choose."""
    draws = torch.Generator().manual_seed(0)
    labels = torch.arange(NODES) % classes
    means = 2 * torch.randn(classes, dim, generator=draws, dtype=torch.float64)
    rows = means[labels] + torch.randn(NODES, dim, generator=draws, dtype=torch.float64)
    train, validation = torch.arange(NODES) < 20, (torch.arange(NODES) >= 20) & (torch.arange(NODES) < 40)
    return rows, labels, {"train": train, "validation": validation, "num_classes": classes}


@pytest.mark.parametrize("dim", [4, 30])  # fewer, and more, columns than training nodes
@pytest.mark.parametrize("weighted", [True, False])
def test_ridge_solves_the_normal_equations(dim: int, weighted: bool) -> None:
    rows, labels, _ = problem(dim)
    rows, targets = rows[:20], F.one_hot(labels[:20], 3).double() - 1 / 3
    weights = torch.rand(20, generator=torch.Generator().manual_seed(1)).double() if weighted else None
    relative = torch.ones(20).double() if weights is None else weights / weights.mean()
    centred = rows - relative @ rows / 20
    scale = (relative * centred.square().sum(dim=1)).mean()
    for penalty, (weight, bias) in ridge_path(rows, targets, (0.1, 10.0), weights=weights).items():
        gram = centred.T @ (relative[:, None] * centred) + penalty * scale * torch.eye(dim)
        wanted = torch.linalg.solve(gram, centred.T @ (relative[:, None] * targets))
        torch.testing.assert_close(weight, wanted)
        torch.testing.assert_close(bias, -(relative @ rows / 20) @ wanted)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [True, False])
def test_logistic_regression_has_no_slope_left(classes: int, weighted: bool) -> None:
    rows, labels, _ = problem(classes=classes)
    rows, labels = rows[:20], labels[:20]
    weights = torch.rand(20, generator=torch.Generator().manual_seed(1)).double() if weighted else None
    relative = torch.ones(20).double() if weights is None else weights / weights.mean()
    for penalty, found in logistic_path(rows, labels, classes, (4.0, 0.5), weights=weights).items():
        weight, bias = (one.requires_grad_() for one in found)
        costs = F.cross_entropy(rows @ weight + bias, labels, reduction="none")
        loss = (relative * costs).sum() + penalty / 2 * weight.square().sum()
        for slope in torch.autograd.grad(loss, (weight, bias)):
            assert float(slope.abs().max()) < 20 * 1e-4


def test_classes_without_labels_are_never_predicted() -> None:
    rows, labels, nodes = problem()
    labels = labels.masked_fill(labels == 1, 0)
    fit = fit_logistic(rows, labels, **nodes)
    assert set(fit.scores(rows).argmax(dim=1).tolist()) == {0, 2}
    one = fit_logistic(rows, torch.zeros_like(labels), **nodes)
    assert set(one.scores(rows).argmax(dim=1).tolist()) == {0}


@pytest.mark.parametrize("as_printed", [True, False])
@pytest.mark.parametrize("steps", [1, 30])
def test_gradient_descent_equals_its_definition(steps: int, as_printed: bool) -> None:
    rows, labels, nodes = problem()
    labelled = rows[:20]
    reach = rows @ rows.T if as_printed else labelled @ labelled.T / 20
    rate = 0.99 / torch.linalg.eigvalsh(reach)[-1]
    slow = torch.zeros(5, 3, dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        (gradient,) = torch.autograd.grad(F.cross_entropy(labelled @ slow, labels[:20]), slow)
        slow = (slow - rate * gradient).detach().requires_grad_()
    fit = fit_descent(rows, labels, **nodes, steps=[steps], as_printed=as_printed)
    sharpness = fit.weight.norm() / slow.detach().norm()
    torch.testing.assert_close(fit.weight, slow.detach() * sharpness)
    assert float(fit.bias.abs().sum()) == 0


@pytest.mark.parametrize("fit", [fit_ridge, fit_logistic, fit_descent])
def test_validation_chooses_and_weights_are_relative(fit: Any) -> None:
    rows, labels, nodes = problem()
    plain = fit(rows, labels, **nodes)
    right = (plain.scores(rows).argmax(dim=1) == labels)[nodes["validation"]]
    assert plain.validation_accuracy == pytest.approx(float(right.float().mean()))
    assert plain.validation_accuracy > 0.9
    weights = torch.linspace(0.1, 1, NODES, dtype=torch.float64)
    once, twice = (fit(rows, labels, **nodes, weights=weights * factor) for factor in (1, 2))
    torch.testing.assert_close(once.weight, twice.weight, atol=1e-4, rtol=1e-3)
    assert not torch.allclose(once.weight, plain.weight)


def test_labels_that_count_nothing_teach_nothing() -> None:
    rows, labels, nodes = problem()
    nothing = torch.where(torch.arange(NODES) < 10, 1e-9, 1.0).double()
    fewer = {**nodes, "train": nodes["train"] & (torch.arange(NODES) >= 10)}
    kept = fit_descent(rows, labels, **nodes, weights=nothing, steps=[30])
    torch.testing.assert_close(kept.weight, fit_descent(rows, labels, **fewer, steps=[30]).weight)


def test_hard_and_easy_labels_have_sharp_and_flat_probabilities() -> None:
    rows, labels, nodes = problem()
    noisy = torch.from_numpy(np.random.default_rng(0).integers(3, size=NODES))
    certain, doubtful = (
        float(fit_ridge(rows, one, **nodes).scores(rows).softmax(dim=1).amax(dim=1).mean()) for one in (labels, noisy)
    )
    assert certain > 0.9
    assert doubtful < 0.6
