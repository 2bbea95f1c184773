"""The one object that travels from any source to any method."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch

from quietgraph.data.data import Data, Truth, as_data
from quietgraph.errors import InvalidLabelsError
from quietgraph.graph import Graph


def test_labels_are_the_callers_own_values(problem: Data) -> None:
    names = np.array([None if code < 0 else "abc"[code] for code in problem.codes], dtype=object)
    found = as_data(problem.graph, names, problem.split.validation)
    assert found.labels.tolist() == names.tolist()
    assert torch.equal(found.codes, problem.codes)
    again = as_data(problem.graph, found.labels, found.split.validation)
    assert torch.equal(again.split.train, found.split.train)
    numbers = as_data(problem.graph, np.where(problem.split.test, -1, problem.codes.numpy()))
    assert numbers.labels.dtype.kind == "i"
    assert not numbers.split.validation.any()


def test_data_take_no_second_labels(problem: Data) -> None:
    assert as_data(problem) is problem
    with pytest.raises(InvalidLabelsError, match="have labels and validation nodes already"):
        as_data(problem, problem.labels)


def test_a_networkx_graph_may_come_with_labels_or_hold_them() -> None:
    network = nx.karate_club_graph()
    clubs = [network.nodes[node].pop("club") for node in network]
    found = as_data(network, clubs)
    assert found.classes.tolist() == ["Mr. Hi", "Officer"]
    for node, club in zip(network, clubs, strict=True):
        network.nodes[node]["label"] = club
    assert torch.equal(as_data(network).codes, found.codes)


def test_an_attribute_of_another_length_is_refused(problem: Data) -> None:
    with pytest.raises(InvalidLabelsError, match="verified must have one entry per node"):
        replace(problem, verified=torch.zeros(3, dtype=torch.bool))


def test_all_labels_alike_leave_no_node_to_choose_by(problem: Data) -> None:
    alike = problem.without_choice()
    assert torch.equal(alike.split.train, problem.split.labelled)
    assert not alike.split.validation.any()


def test_truth_says_which_labels_are_wrong(problem: Data) -> None:
    codes = problem.codes.clone()
    codes[3] = (codes[3] + 1) % 3
    noisy = problem.with_codes(codes, "one label made wrong")
    assert Truth(problem.graph, problem.codes).wrong(noisy).nonzero().flatten().tolist() == [3]
    assert noisy.describe()[-1] == "note: one label made wrong"


def test_it_tells_what_it_is(problem: Data) -> None:
    graph = Graph.from_arrays(np.eye(4), [[0, 1], [1, 2]])
    told = as_data(graph, ["x", "y", "y", None]).describe()
    assert told[0] == "graph: 4 nodes, 2 edges, 4 features"
    assert told[1] == ("labels: 3 of 4 nodes (75.0 %), 2 classes: y 2, x 1; homophily among labelled nodes 0.50")
