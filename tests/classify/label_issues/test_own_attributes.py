"""Errors that follow the nodes' own attributes are told from errors that follow the class."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.classify.label_issues.attributes import attribute_probabilities
from quietgraph.classify.label_issues.own_attributes import (
    labels_follow_attributes,
    neighbour_attributes,
)
from quietgraph.classify.label_issues.suspects import neighbour_label_fractions
from quietgraph.graph import LabelledGraph

LABELLED = 500


def drawn_graph(homophily: float) -> LabelledGraph:
    draws = np.random.default_rng(0)
    settings = {"num_features": 24, "homophily": homophily, "signal": 2.0, "mean_degree": 6.0}
    return qg.block_model(800, num_classes=4, generator=draws, **settings)


def annotated(drawn: LabelledGraph) -> np.ndarray:
    """Return labels by somebody who reads nothing but the node: its nearest class mean."""
    features = np.asarray(drawn.graph.features)
    means = np.stack([features[drawn.classes == code].mean(axis=0) for code in range(4)])
    return np.square(features[:, None] - means).sum(axis=2).argmin(axis=1)


def flipped(drawn: LabelledGraph, rate: float) -> np.ndarray:
    draws = np.random.default_rng(1)
    shift = np.where(draws.random(800) < rate, draws.integers(1, 4, 800), 0)
    return (drawn.classes + shift) % 4


def is_warned(drawn: LabelledGraph, observed: np.ndarray) -> bool:
    labels = torch.from_numpy(np.where(np.arange(800) < LABELLED, observed, -1).astype(np.int64))
    votes = {
        "own": attribute_probabilities(drawn.graph, labels, 4, seed=0)["own"],
        "neighbours": neighbour_label_fractions(drawn.graph.adjacency, labels, 4),
    }
    return labels_follow_attributes(drawn.graph, votes, labels, 4, seed=0)


def test_labels_read_off_the_attributes_are_noticed() -> None:
    drawn = drawn_graph(0.85)
    observed = annotated(drawn)
    assert 0.1 < (observed != drawn.classes).mean() < 0.4
    assert is_warned(drawn, observed)
    model = qg.get_method("s2gc")().fit(
        drawn.graph, np.where(np.arange(800) < LABELLED, observed, -1)
    )
    found = model.quality()
    assert found.follows_attributes
    assert any("lower bound" in sentence for sentence in found.sentences)
    assert found.verdict == "with care"
    assert "second annotator" in found.advice[-1]


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4])
def test_errors_that_depend_on_the_class_alone_are_not(rate: float) -> None:
    drawn = drawn_graph(0.85)
    assert not is_warned(drawn, flipped(drawn, rate))


def test_nothing_is_said_where_neighbours_differ() -> None:
    drawn = drawn_graph(0.1)
    assert not is_warned(drawn, annotated(drawn))


def test_the_neighbours_attributes_hold_nothing_of_the_node() -> None:
    edges = np.array([[0, 1, 1, 2, 0, 3], [1, 0, 2, 1, 0, 3]])  # 0 - 1 - 2, and 3 alone
    graph = qg.Graph.from_arrays(np.eye(4, dtype=np.float32), edges)
    rows, reached = neighbour_attributes(graph, torch.eye(4))
    assert reached.tolist() == [True, True, True, False]
    expected = torch.tensor([[0, 1, 0.5, 0], [1, 0, 1, 0], [0.5, 1, 0, 0], [0, 0, 0, 0]])
    torch.testing.assert_close(rows, torch.nn.functional.normalize(expected, dim=1))
