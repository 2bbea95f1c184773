"""Perceptrons on randomly propagated attributes: formula, determinism, what they are for."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet import candidates
from quietgraph.methods.quiet.candidates import fit_candidates
from quietgraph.methods.quiet.features import prepare_features
from quietgraph.methods.quiet.node_features import LearningRows, NodeFeatures
from quietgraph.methods.quiet.random_views import random_views
from quietgraph.rng import torch_generator

NODES = 240


@pytest.fixture(scope="module")
def problem() -> tuple[Task, LearningRows, torch.Tensor]:
    draws = np.random.default_rng(5)
    drawn = qg.block_model(NODES, num_classes=3, num_features=12, signal=1.0, generator=draws)
    classes = torch.from_numpy(drawn.classes).long()
    order = torch.from_numpy(draws.permutation(NODES))
    train, validation = torch.zeros(2, NODES, dtype=torch.bool)
    train[order[:15]], validation[order[15:60]] = True, True
    labels = torch.where(train | validation, classes, -1)
    task = Task(drawn.graph, labels, train, validation, 3, 0)
    state, rows = prepare_features(None, drawn.graph, 0)
    features = NodeFeatures(rows, drawn.graph, state)
    return task, features.to_learn_from(task)[0], classes


def dense_walk(graph: qg.Graph) -> torch.Tensor:
    """Return sum_n w_n P^n with P = D^-1 (A + I), node by node."""
    matrix = torch.eye(NODES)
    matrix[graph.edge_index[0], graph.edge_index[1]] = 1
    step = matrix / matrix.sum(dim=1, keepdim=True)
    weights = [0.8**number for number in range(11)]
    total, power = torch.zeros(NODES, NODES), torch.eye(NODES)
    for weight in weights:
        total, power = total + weight / sum(weights) * power, power @ step
    return total


def test_propagation_equals_the_dense_formula(problem) -> None:
    task, rows, _ = problem
    whole = dense_walk(task.graph) @ rows["projected"]
    torch.testing.assert_close(rows["propagated"], whole, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("some", [None, torch.tensor([3, 50, 51, 200])])
def test_a_view_is_the_mean_over_the_nodes_that_stay(problem, some) -> None:
    task, rows, _ = problem
    views = random_views(task.graph, rows["projected"], task.seed, some)
    draws = torch_generator(task.seed, "random propagations")
    kept = (torch.rand(NODES, 1, generator=draws) < 0.5).float()
    walk = dense_walk(task.graph)
    expected = (walk @ (rows["projected"] * kept)) / (walk @ kept)
    expected = expected if some is None else expected[some]
    torch.testing.assert_close(views[0], expected, atol=1e-4, rtol=1e-3)
    assert not torch.equal(views[0], views[1])


def test_perceptrons_learn_and_do_not_read_test_labels(problem) -> None:
    task, rows, classes = problem
    torch.manual_seed(0)
    pool = fit_candidates(rows, task, ["perceptron"])
    assert accuracy(pool, rows, classes) > 0.7
    hidden = replace(task, labels=torch.where(task.train | task.validation, task.labels, -1))
    torch.manual_seed(0)
    again = fit_candidates(rows, hidden, ["perceptron"])
    for name, each in pool.items():
        assert torch.equal(each.scores(rows), again[name].scores(rows))


def test_every_node_labelled_leaves_the_labelled_ones_to_agree_on(problem) -> None:
    task, rows, classes = problem
    full = replace(task, labels=classes, train=~task.validation)
    assert accuracy(fit_candidates(rows, full, ["perceptron"]), rows, classes) > 0.8


def test_folds_are_predicted_without_perceptrons(problem, monkeypatch) -> None:
    task, *_ = problem
    fitted = []
    fit = candidates.fit_perceptrons
    monkeypatch.setattr(
        candidates, "fit_perceptrons", lambda *given: fitted.append(given) or fit(*given)
    )
    model = qg.Quiet(epochs=2).fit(task.graph, task.labels.numpy(), task.validation.numpy())
    once = len(fitted)
    model.quality()
    assert len(fitted) == once > 0


def accuracy(pool, rows, classes) -> float:
    """Return the accuracy of the best candidate on all nodes."""
    return max(
        float((each.scores(rows).argmax(dim=1) == classes).float().mean()) for each in pool.values()
    )
