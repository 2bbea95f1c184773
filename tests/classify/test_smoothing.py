"""Edges whose ends are compared, drawn without a list of all edges."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.classify import neighbour_similarity, smoothing
from quietgraph.classify.smoothing import edges_to_compare
from quietgraph.rng import torch_generator


@pytest.mark.parametrize("most", [40, 5000])
def test_edges_to_compare_are_those_drawn_from_the_list_of_all(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smoothing, "_COMPARED_EDGES", most)
    graph = qg.block_model(80, num_features=5, generator=np.random.default_rng(0)).graph
    edges = edges_to_compare(graph.adjacency, generator=torch_generator(1))
    assert edges.shape[1] == min(most, 2 * graph.num_edges)
    rows, draws = graph.features, torch_generator(1)
    slow = neighbour_similarity(graph.edge_index, rows, most_edges=most, generator=draws)
    assert neighbour_similarity(edges, rows, most_edges=most, generator=torch.Generator()) == slow
