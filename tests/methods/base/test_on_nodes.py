"""The fitted model of some nodes says of their labels what the whole model says."""

import numpy as np
import torch

import quietgraph as qg
from quietgraph.graph import Graph
from quietgraph.methods.base.reach import count_unreached, reached_nodes
from quietgraph.testing import small_problem


def test_quality_and_suspects_are_those_of_the_whole_model() -> None:
    problem, labels, validation = small_problem(num_nodes=160)
    settings = {"epochs": 6, "warm_up": 2, "hidden": 12, "dim": 12}
    fits = [qg.GCLLRR(**settings).fit(problem.graph, labels, validation) for _ in range(2)]
    known = np.flatnonzero(np.asarray(labels) != -1)
    nodes = torch.unique(torch.cat([torch.from_numpy(known), torch.arange(0, 160, 7)]))
    some, whole = fits[0].on_nodes(nodes), fits[1]
    assert some.quality() == whole.quality()
    ours, theirs = some.suspects(columns="evidence"), whole.suspects(columns="evidence")
    assert nodes.numpy()[ours["node"]].tolist() == theirs["node"].tolist()
    for name in ("p_wrong", "neighbours_given", "nearest_given", "attributes_given", "own_given"):
        np.testing.assert_allclose(ours[name], theirs[name], atol=1e-6)
    np.testing.assert_array_equal(fits[0].predict_proba(), whole.predict_proba())


def test_nodes_that_no_path_leads_to_are_counted() -> None:
    edges = np.array([[0, 1, 3, 5], [1, 2, 4, 6]])
    graph = Graph.from_arrays(np.ones((8, 1)), edges)
    labels = torch.full((8,), -1)
    labels[0] = labels[6] = 1
    assert (~reached_nodes(graph.adjacency, labels)).nonzero().flatten().tolist() == [3, 4, 7]
    assert count_unreached(graph.adjacency, labels) == 3
