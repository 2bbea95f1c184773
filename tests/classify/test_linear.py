"""Attention and the linear classifiers against the paper's formulas, written out."""

import pytest
import torch
from torch import Tensor

from quietgraph.classify import (
    centre_rows,
    fit_linear,
    fit_ridge,
    low_rank_attention,
    mean_direction,
    stratified_folds,
    suspect_table,
)
from quietgraph.rng import torch_generator


def problem(num_nodes: int = 60, dim: int = 5) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draws = torch_generator(0)
    labels = torch.arange(num_nodes) % 3
    means = 2 * torch.randn(3, dim, generator=draws, dtype=torch.float64)
    noise = torch.randn(num_nodes, dim, generator=draws, dtype=torch.float64)
    train = torch.arange(num_nodes) < num_nodes // 3
    validation = (torch.arange(num_nodes) >= num_nodes // 3) & (torch.arange(num_nodes) < 40)
    return means[labels] + noise, labels, train, validation


def test_attention_equals_its_definition_with_the_dense_gram_matrix() -> None:
    embeddings = problem()[0]
    gram = embeddings @ embeddings.T
    wanted = gram @ embeddings / torch.linalg.eigvalsh(gram)[-1]
    torch.testing.assert_close(low_rank_attention(embeddings), wanted, atol=1e-9, rtol=1e-9)


def test_attention_cubes_the_singular_values() -> None:
    embeddings = problem()[0]
    before = torch.linalg.svdvals(embeddings)
    after = torch.linalg.svdvals(low_rank_attention(embeddings))
    torch.testing.assert_close(after, before**3 / before[0] ** 2)


def test_attention_of_nothing_is_nothing() -> None:
    assert float(low_rank_attention(torch.zeros(4, 2)).abs().sum()) == 0


def gradient_descent_slow(features: Tensor, labels: Tensor, train: Tensor, steps: int) -> Tensor:
    """W(t) = W(t-1) - eta grad L, L the mean cross-entropy, gradients by autograd."""
    labelled = features[train]
    step_size = 0.99 / torch.linalg.eigvalsh(labelled @ labelled.T / len(labelled))[-1]
    weight = torch.zeros(features.shape[1], 3, dtype=features.dtype, requires_grad=True)
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(labelled @ weight, labels[train])
        (gradient,) = torch.autograd.grad(loss, weight)
        weight = (weight - step_size * gradient).detach().requires_grad_()
    return weight.detach()


@pytest.mark.parametrize("steps", [1, 7, 50])
def test_gradient_descent_equals_its_definition(steps: int) -> None:
    features, labels, train, validation = problem()
    fit = fit_linear(
        features, labels, train=train, validation=validation, num_classes=3, steps=[steps]
    )
    slow = gradient_descent_slow(features, labels, train, steps)
    sharpness = fit.weight.norm() / slow.norm()
    torch.testing.assert_close(fit.weight, slow * sharpness, atol=1e-9, rtol=1e-9)


def test_the_printed_step_size_follows_the_gram_matrix_of_all_nodes() -> None:
    features, labels, train, validation = problem()
    options = {"train": train, "validation": validation, "num_classes": 3, "steps": [1]}
    printed = fit_linear(features, labels, step_size="printed", **options)
    rate = 0.99 / torch.linalg.eigvalsh(features @ features.T)[-1]
    targets = torch.nn.functional.one_hot(labels[train], 3).double()
    slow = -rate / train.sum() * features[train].T @ (torch.full_like(targets, 1 / 3) - targets)
    torch.testing.assert_close(printed.weight / printed.weight.norm(), slow / slow.norm())
    again = fit_linear(features, labels, step_size="printed", **options | {"steps": [2]})
    # The second step is as small beside the first as the slow step size says.
    moved = (features[train] @ slow).softmax(dim=1) - targets
    both = slow - rate / train.sum() * features[train].T @ moved
    torch.testing.assert_close(again.weight / again.weight.norm(), both / both.norm())


def test_gradient_descent_never_raises_its_loss() -> None:
    features, labels, train, _ = problem()
    losses = []
    for steps in range(1, 30):
        weight = gradient_descent_slow(features, labels, train, steps)
        scores = features[train] @ weight
        losses.append(float(torch.nn.functional.cross_entropy(scores, labels[train])))
    assert losses == sorted(losses, reverse=True)


def ridge_slow(features: Tensor, labels: Tensor, train: Tensor, penalty: float) -> Tensor:
    """Weight and intercept [dim + 1, classes]: normal equations with a free column of ones."""
    rows = features[train]
    targets = torch.nn.functional.one_hot(labels[train], 3).double()
    targets = targets - targets.mean(dim=0)  # how often a class occurs does not count
    scale = (rows - rows.mean(dim=0)).square().sum(dim=1).mean()
    wide = torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)
    eye = torch.eye(wide.shape[1], dtype=rows.dtype)
    eye[-1, -1] = 0
    return torch.linalg.solve(wide.T @ wide + penalty * scale * eye, wide.T @ targets)


@pytest.mark.parametrize("dim", [5, 40])  # more labels than directions, and fewer
@pytest.mark.parametrize("penalty", [0.01, 1.0])
def test_ridge_equals_the_normal_equations(dim: int, penalty: float) -> None:
    features, labels, train, validation = problem(dim=dim)
    fit = fit_ridge(
        features, labels, train=train, validation=validation, num_classes=3, penalties=[penalty]
    )
    slow = ridge_slow(features, labels, train, penalty)
    sharpness = fit.weight.norm() / slow[:-1].norm()
    found = torch.cat([fit.weight, fit.bias[None]])
    torch.testing.assert_close(found, slow * sharpness, atol=1e-6, rtol=1e-6)


def test_ridge_leaves_out_how_often_a_class_occurs() -> None:
    features, labels, train, validation = problem()
    twice = torch.cat([torch.arange(60), (train & (labels == 0)).nonzero().squeeze(1)])
    options = {"train": train[twice], "validation": validation[twice], "num_classes": 3}
    fit = fit_ridge(features[twice], labels[twice], **options)
    middle = features[twice][train[twice]].mean(dim=0)
    torch.testing.assert_close(fit.scores(middle[None]), torch.zeros(1, 3, dtype=torch.float64))


def test_ridge_does_not_depend_on_where_the_features_lie() -> None:
    features, labels, train, validation = problem()
    options = {"train": train, "validation": validation, "num_classes": 3}
    here = fit_ridge(features, labels, **options).scores(features)
    there = fit_ridge(features + 7, labels, **options).scores(features + 7)
    torch.testing.assert_close(here, there)


@pytest.mark.parametrize("classifier", [fit_ridge, fit_linear])
def test_the_knob_is_chosen_by_validation_alone(classifier) -> None:
    features, labels, train, validation = problem()
    rest = ~(train | validation)
    hidden = labels.clone()
    hidden[rest] = -1
    options = {"train": train, "validation": validation, "num_classes": 3}
    first = classifier(features, labels, **options)
    second = classifier(features, hidden, **options)
    assert torch.equal(first.weight, second.weight)
    scores = first.scores(features)
    assert float((scores[rest].argmax(1) == labels[rest]).double().mean()) > 0.8


def test_centred_rows_have_unit_length_and_ignore_scale() -> None:
    embeddings = problem()[0]
    rows = centre_rows(embeddings, mean_direction(embeddings))
    torch.testing.assert_close(rows.norm(dim=1), torch.ones(60, dtype=torch.float64))
    again = centre_rows(5 * embeddings, mean_direction(5 * embeddings))
    torch.testing.assert_close(rows, again)


def test_folds_are_balanced_and_cover_every_label() -> None:
    labels = torch.tensor([0] * 11 + [1] * 7 + [-1] * 5)
    folds = stratified_folds(labels, 4, generator=torch_generator(0))
    assert bool((folds[labels < 0] == -1).all())
    for code, size in ((0, 11), (1, 7)):
        counts = torch.bincount(folds[labels == code], minlength=4)
        assert int(counts.sum()) == size
        assert int(counts.max() - counts.min()) <= 1


def test_suspects_are_sorted_and_never_suggest_a_less_likely_label() -> None:
    import numpy as np

    probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.5, 0.5]])
    table = suspect_table(probabilities, torch.tensor([1, 1, 0, -1]), np.array(["a", "b"]))
    assert list(table["node"]) == [0, 2, 1]
    assert list(table["suggested"]) == ["a", "a", "b"]
    assert list(table["given"]) == ["b", "a", "b"]
    assert table["score"].tolist() == pytest.approx([0.8, -0.2, -0.6])
