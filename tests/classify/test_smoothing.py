"""Smoothed rows and attributes against dense powers; heterophily of labels and attributes."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.classify import smoothing
from quietgraph.classify.smoothing import (
    adjusted_homophily,
    count_columns,
    is_heterophilous,
    leading_directions,
    neighbour_similarity,
    own_attributes,
    smooth_attributes,
    smooth_rows,
)
from quietgraph.embed.operator import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import LabelledGraph, block_model


def drawn(homophily: float, *, signal: float = 2.0, nodes: int = 400, features: int = 16) -> LabelledGraph:
    draws = np.random.default_rng(0)
    return block_model(nodes, num_features=features, homophily=homophily, signal=signal, generator=draws)


def test_smoothed_rows_are_a_truncated_personalised_pagerank() -> None:
    graph = drawn(0.8, nodes=50).graph
    operator, rows = normalised_adjacency(graph).to_dense(), F.normalize(torch.as_tensor(graph.features), dim=1)
    wanted = 0.9**10 * torch.linalg.matrix_power(operator, 10) @ rows
    for hop in range(10):
        wanted += 0.1 * 0.9**hop * torch.linalg.matrix_power(operator, hop) @ rows
    torch.testing.assert_close(smooth_rows(graph, rows), F.normalize(wanted, dim=1))


def test_smoothed_attributes_are_the_mean_of_eight_hops() -> None:
    graph = drawn(0.8, nodes=50).graph
    operator, rows = normalised_adjacency(graph).to_dense(), F.normalize(torch.as_tensor(graph.features), dim=1)
    hops = torch.stack([torch.linalg.matrix_power(operator, hop) @ rows for hop in range(1, 9)]).mean(dim=0)
    torch.testing.assert_close(smooth_attributes(graph, 16), F.normalize(0.05 * rows + 0.95 * hops, dim=1))


def test_a_projection_is_the_same_for_all_graphs_whoever_asks_first() -> None:
    small, large = drawn(0.8, nodes=50, features=300).graph, drawn(0.8, nodes=400, features=300).graph
    both = Graph(torch.cat([torch.as_tensor(one.features) for one in (small, large)]), large.adjacency)
    first = own_attributes(small, 40)
    torch.testing.assert_close(own_attributes(both, 40)[:50], first, atol=1e-6, rtol=1e-5)
    assert own_attributes(small, 300).shape == (50, 300)
    lengths = own_attributes(large, 100).norm(dim=1)
    assert float((lengths - 1).abs().mean()) < 0.15


def test_columns_are_kept_while_they_can_be_held(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = drawn(0.8, features=300).graph
    assert count_columns(graph) == 300
    monkeypatch.setattr(smoothing, "_EXACT_ENTRIES", 1000)
    monkeypatch.setattr(smoothing, "_MOST_ENTRIES", 400 * 200)
    assert count_columns(graph) == 200


def test_leading_directions_are_those_of_the_singular_values(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = torch.Generator().manual_seed(0)
    rows = torch.randn(300, 20, generator=draws) * torch.linspace(5, 0.1, 20).square() + 3
    mean, found = leading_directions(rows, 4, generator=draws)
    right = torch.linalg.svd(rows - rows.mean(dim=0)).Vh[:4].T
    torch.testing.assert_close(found @ found.T, right @ right.T, atol=1e-3, rtol=1e-3)
    torch.testing.assert_close(mean, rows.mean(dim=0))
    monkeypatch.setattr(smoothing, "_SAMPLE", 250)
    sampled = leading_directions(rows, 4, generator=draws)[1]
    assert float(torch.linalg.svdvals(sampled.T @ right).min()) > 0.9


def test_homophily_is_of_labels_and_of_attributes() -> None:
    alike, mixed = drawn(0.8), drawn(0.25)
    for one, adjusted in ((alike, (0.8 - 0.25) / 0.75), (mixed, 0.0)):
        assert adjusted_homophily(one.graph, torch.from_numpy(one.classes)) == pytest.approx(adjusted, abs=0.05)
    assert neighbour_similarity(alike.graph) > 0.1 > neighbour_similarity(mixed.graph)
    noise = torch.from_numpy(np.random.default_rng(0).integers(4, size=400))
    assert not is_heterophilous(alike.graph, noise)  # wrong labels hide that neighbours are alike
    assert not is_heterophilous(drawn(0.8, signal=0.0).graph, torch.from_numpy(alike.classes))
    assert is_heterophilous(mixed.graph, torch.from_numpy(mixed.classes))
    few = torch.full((400,), -1)
    few[:3] = torch.arange(3)
    assert adjusted_homophily(mixed.graph, few) == 1.0  # too few to tell


def test_a_graph_without_edges_has_nothing_in_common() -> None:
    graph = Graph.from_arrays(np.ones((30, 2)), np.empty((2, 0)))
    assert neighbour_similarity(graph) == 0.0
    assert not is_heterophilous(graph, torch.arange(30) % 2)
