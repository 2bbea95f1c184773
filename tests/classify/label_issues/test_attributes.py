"""Auxiliary classifiers on attributes never see the label they score."""

import pytest
import torch

from quietgraph.classify.label_issues import attributes as module
from quietgraph.classify.label_issues.attributes import attribute_probabilities
from quietgraph.graph import block_model
from quietgraph.rng import numpy_generator


def problem() -> tuple:
    made = block_model(180, num_classes=3, num_features=20, generator=numpy_generator(0))
    classes = torch.from_numpy(made.classes)
    labels = classes.clone()
    labels[::3] = -1
    return made.graph, classes, labels


def test_it_predicts_the_classes_of_labelled_nodes_alone() -> None:
    graph, classes, labels = problem()
    found = attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    known = labels >= 0
    torch.testing.assert_close(found[known].sum(dim=1), torch.ones(int(known.sum())).double())
    assert (found[~known] == 0).all()
    assert (found[known].argmax(dim=1) == classes[known]).double().mean() > 0.8


def test_a_node_has_no_say_on_itself() -> None:
    graph, _, labels = problem()
    found = attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    sure = torch.where(labels >= 0, found.gather(1, labels.clamp_min(0)[:, None])[:, 0], 0.0)
    node = int(sure.argmax())
    labels[node] = (labels[node] + 1) % 3
    again = attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    assert int(again[node].argmax()) == int(found[node].argmax())


def test_it_learns_from_a_sample_where_labels_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, _, labels = problem()
    whole = attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    monkeypatch.setattr(module, "_MOST_LABELS", 30)
    part = attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    assert not torch.equal(whole, part)
    torch.testing.assert_close(
        part, attribute_probabilities(graph, labels, 3, seed=0)["attributes"]
    )
