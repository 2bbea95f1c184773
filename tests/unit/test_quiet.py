"""The pieces of `quiet` against their formulas, and what the pool is for."""

import numpy as np
import torch
import torch.nn.functional as F

import quietgraph as qg
from quietgraph.classify import (
    fit_mixture,
    flattened_scores,
    self_trained_ridge,
    smooth_rows,
    smoothed_attributes,
)
from quietgraph.classify.smoothing import leading_scores
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import CSR
from quietgraph.rng import torch_generator
from quietgraph.testing import small_problem


def test_smoothing_equals_the_dense_recursion() -> None:
    graph = small_problem()[0].graph
    operator, rows = normalised_adjacency(graph), torch.randn(120, 5, generator=torch_generator(0))
    slow = rows
    for _ in range(10):
        slow = 0.9 * operator.to_dense() @ slow + 0.1 * rows
    torch.testing.assert_close(smooth_rows(operator, rows), F.normalize(slow, dim=1))


def test_smoothed_attributes_keep_the_angles_of_the_dense_formula() -> None:
    graph = small_problem()[0].graph
    operator = normalised_adjacency(graph)
    unit, total = F.normalize(graph.features, dim=1), torch.zeros(120, 12)
    for hop in range(1, 9):
        total += torch.linalg.matrix_power(operator.to_dense(), hop) @ unit / 8
    rows = F.normalize(0.05 * unit + 0.95 * total, dim=1)
    rows = F.normalize(rows - rows.mean(dim=0), dim=1)
    fast = smoothed_attributes(operator, graph.features, generator=torch_generator(0))
    torch.testing.assert_close(fast @ fast.T, rows @ rows.T, atol=1e-3, rtol=1e-3)
    sparse = CSR.from_scipy(graph.features.numpy())
    same = smoothed_attributes(operator, sparse, generator=torch_generator(0))
    torch.testing.assert_close(same @ same.T, fast @ fast.T, atol=1e-3, rtol=1e-3)


def test_leading_scores_are_those_of_the_svd() -> None:
    matrix = torch.randn(60, 30, generator=torch_generator(0), dtype=torch.float64)
    matrix = matrix @ torch.diag(0.7 ** torch.arange(30, dtype=torch.float64))
    left, values, _ = torch.linalg.svd(matrix, full_matrices=False)
    exact = (left * values)[:, :4]
    fast = leading_scores(matrix, 4, generator=torch_generator(1))
    torch.testing.assert_close(fast @ fast.T, exact @ exact.T, atol=1e-6, rtol=1e-6)


def test_flattened_scores_square_root_the_singular_values() -> None:
    rows = torch.randn(50, 6, generator=torch_generator(0), dtype=torch.float64)
    left, values, _ = torch.linalg.svd(rows, full_matrices=False)
    exact = F.normalize((left * values.sqrt())[:, :3], dim=1)
    fast = flattened_scores(rows, 3)
    torch.testing.assert_close(fast @ fast.T, exact @ exact.T, atol=1e-8, rtol=1e-8)


def test_self_trained_ridge_solves_its_weighted_normal_equations() -> None:
    rows = torch.randn(40, 5, generator=torch_generator(0), dtype=torch.float64)
    chances = torch.randn(40, 3, generator=torch_generator(1), dtype=torch.float64).softmax(dim=1)
    sure = torch.diag(chances.max(dim=1).values)
    gram = rows.T @ sure @ rows / 40
    penalty = gram.diagonal().mean() * torch.eye(5, dtype=torch.float64)
    slow = rows @ torch.linalg.inv(gram + penalty) @ rows.T @ sure @ (chances - 1 / 3) / 40
    torch.testing.assert_close(self_trained_ridge(rows, chances), slow)


def test_clusters_find_the_classes_though_labels_are_wrong() -> None:
    draws = torch_generator(0)
    classes = torch.arange(300) % 3
    rows = torch.eye(8)[classes] + 0.35 * torch.randn(300, 8, generator=draws)
    rows = F.normalize(rows, dim=1)
    wrong = torch.rand(300, generator=draws) < 0.4
    shift = torch.randint(1, 3, (300,), generator=draws)
    labels = torch.where(wrong, (classes + shift) % 3, classes)
    train = torch.arange(300) < 60
    for noisy in (False, True):
        scores = fit_mixture(rows, labels, train, 3, sharpness=10.0, noisy=noisy)
        assert float((scores.argmax(dim=1) == classes).float().mean()) > 0.9


def test_the_pool_chooses_by_validation_and_tells_what() -> None:
    problem, labels, validation = small_problem()
    model = qg.get_method("quiet")(epochs=5).fit(problem.graph, labels, validation)
    assert len(model.notes_) == 3
    assert all(name.startswith("candidate ") for name in model.notes_)
    alone = qg.get_method("quiet")(epochs=5, encoder=False, supervised=False, committee=1)
    alone.fit(problem.graph, labels, validation)
    assert len(alone.notes_) == 1
    assert not np.array_equal(alone.scores_, model.scores_)


def test_refit_uses_validation_labels_too() -> None:
    problem, labels, validation = small_problem()
    plain, again = (
        qg.get_method("quiet")(epochs=5, supervised=False, refit=refit).fit(
            problem.graph, labels, validation
        )
        for refit in (False, True)
    )
    assert plain.notes_ == again.notes_
    assert not np.array_equal(plain.scores_, again.scores_)
