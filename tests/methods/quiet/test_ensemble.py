"""Ensemble weights, and whether wrong labels follow the nodes' own attributes."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

import quietgraph as qg
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet.candidates import Candidate, fit_candidates
from quietgraph.methods.quiet.ensemble import (
    ensemble_weights,
    errors_follow_attributes,
    make_ensemble,
)
from quietgraph.methods.quiet.evaluation import Evaluation
from quietgraph.methods.quiet.features import prepare_features
from quietgraph.methods.quiet.node_features import NodeFeatures


def problem(kind: str, seed: int) -> tuple[Task, dict[str, torch.Tensor], np.ndarray]:
    """Return a task with 30 % wrong labels: by class alone, or read off the attributes."""
    draws = np.random.default_rng(seed)
    drawn = qg.block_model(1500, num_classes=4, num_features=60, signal=2.0, generator=draws)
    features, classes = np.asarray(drawn.graph.features), drawn.classes
    order = draws.permutation(1500)
    labelled, others = order[:800], order[800:]
    if kind == "annotator":
        reader = LogisticRegression(max_iter=500).fit(features[others[:100]], classes[others[:100]])
        observed = reader.predict(features)
    else:
        wrong = draws.random(1500) < 0.3
        observed = np.where(wrong, (classes + draws.integers(1, 4, 1500)) % 4, classes)
    labels = torch.full((1500,), -1)
    labels[labelled] = torch.from_numpy(observed[labelled]).long()
    train = torch.zeros(1500, dtype=torch.bool)
    train[labelled[:100]] = True
    task = Task(drawn.graph, labels, train, (labels >= 0) & ~train, 4, seed)
    state, rows = prepare_features(None, drawn.graph, seed)
    features = NodeFeatures(rows, drawn.graph, state)
    return task, features.to_learn_from(task)[0], classes


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_are_read_off_attributes_are_noticed(seed: int) -> None:
    task, rows, classes = problem("annotator", seed)
    known = task.labels >= 0
    assert 0.15 < (task.labels[known] != torch.from_numpy(classes)[known]).float().mean() < 0.6
    pool = fit_candidates(rows, task, ["ridge", "logistic", "clusters"])
    assert errors_follow_attributes(pool, rows, task, Evaluation(rows, task))


@pytest.mark.parametrize("seed", range(3))
def test_errors_that_depend_on_the_class_alone_are_not(seed: int) -> None:
    task, rows, _ = problem("symmetric", seed)
    pool = fit_candidates(rows, task, ["ridge", "logistic", "clusters"])
    assert not errors_follow_attributes(pool, rows, task, Evaluation(rows, task))


def test_labels_that_are_all_predicted_say_nothing_of_errors() -> None:
    task, rows, classes = problem("symmetric", 0)
    clean = replace(task, labels=torch.where(task.labels >= 0, torch.from_numpy(classes), -1))
    rows = {kind: torch.nn.functional.one_hot(torch.from_numpy(classes)).float() for kind in rows}
    pool = fit_candidates(rows, clean, ["ridge"])
    assert not errors_follow_attributes(pool, rows, clean, Evaluation(rows, clean))


def test_weights_by_family_add_up_to_the_same_for_each_family() -> None:
    task, rows, _ = problem("symmetric", 1)
    pool = fit_candidates(rows, task, ["ridge", "logistic", "clusters"])
    evaluation = Evaluation(rows, task)
    weights = ensemble_weights(pool, evaluation, temperature=0.13, family_temperature=math.inf)
    sums: dict[str, float] = {}
    for name, weight in weights.items():
        sums[pool[name].family] = sums.get(pool[name].family, 0.0) + weight
    assert sums.keys() == {each.family for each in pool.values()}
    assert list(sums.values()) == pytest.approx([1 / len(sums)] * len(sums))


def test_families_are_weighted_by_the_accuracy_of_their_mean() -> None:
    task, rows, _ = problem("symmetric", 1)
    pool = fit_candidates(rows, task, ["ridge", "logistic", "clusters"])
    evaluation = Evaluation(rows, task)
    weights = ensemble_weights(pool, evaluation, temperature=0.13, family_temperature=0.5)
    labels, found = task.labels[task.validation], {}
    for family in {each.family for each in pool.values()}:
        own = {name: each for name, each in pool.items() if each.family == family}
        inner = ensemble_weights(own, evaluation, temperature=0.13)
        held_out = {kind: value[task.validation] for kind, value in rows.items()}
        mean = make_ensemble(own, inner, evaluation).scores(held_out).argmax(dim=1)
        found[family] = float((mean == labels).float().mean())
    raw = {
        f: math.exp((a - max(found.values())) * len(labels) ** 0.5 / 0.5) for f, a in found.items()
    }
    kept = {family: weight for family, weight in raw.items() if weight >= 0.01}
    for family, weight in kept.items():
        total = sum(value for name, value in weights.items() if pool[name].family == family)
        assert total == pytest.approx(weight / sum(kept.values()))


def test_weights_by_accuracy_follow_the_formula() -> None:
    labels = torch.tensor([0, 0, 1, 1])
    rows = {"own": torch.eye(4)}
    everything = torch.ones(4, dtype=torch.bool)
    task = Task(None, labels, ~everything, everything, 2, 0)  # type: ignore[arg-type]
    right = Candidate("own", torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]]), torch.zeros(2))
    worse = right._replace(weight=torch.tensor([[1.0, 0], [1, 0], [0, 1], [1, 0]]))
    pool = {"right": right, "worse": worse}
    weights = ensemble_weights(pool, Evaluation(rows, task), temperature=0.5)
    expected = np.exp(-0.25 * 2 / 0.5)
    assert weights["worse"] / weights["right"] == pytest.approx(expected)
