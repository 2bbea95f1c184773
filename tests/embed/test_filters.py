"""Filters of real depth against the powers of the dense matrix."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed import filters
from quietgraph.embed.filters import graph_filter, polynomial_power, without_self_loops
from quietgraph.embed.operator import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model


def graph_of(num_nodes: int = 30, num_features: int = 6) -> Graph:
    return block_model(num_nodes, num_features=num_features, generator=np.random.default_rng(0)).graph


def lazy_walk_slow(graph: Graph) -> Tensor:
    """Q = (I + D^-1/2 A D^-1/2) / 2, degree 0 counted as 1."""
    adjacency = graph.adjacency.to_dense()
    scale = adjacency.sum(dim=1).clamp_min(1).rsqrt()
    return (torch.eye(graph.num_nodes) + scale[:, None] * adjacency * scale) / 2


def power_slow(graph: Graph, depth: float) -> Tensor:
    values, vectors = torch.linalg.eigh(lazy_walk_slow(graph).double())
    return (vectors * values.clamp_min(1e-2) ** depth @ vectors.T).float()


@pytest.mark.parametrize("depth", [-2.0, -0.5, 0.0, 1.0, 2.5])
@pytest.mark.parametrize("num_features", [6, 80])  # fewer and more than nodes; the latter are sparse
def test_the_filter_equals_its_definition(depth: float, num_features: int) -> None:
    words = np.random.default_rng(0).random((30, num_features)) * (np.random.default_rng(1).random(num_features) < 0.1)
    graph = graph_of()
    graph = Graph.from_arrays(words if num_features > 30 else graph.features, graph.edge_index)
    features = graph.features if isinstance(graph.features, Tensor) else graph.features.to_dense()
    weight, nodes = torch.randn(num_features, 4), torch.arange(30) % 4 == 0
    slow = power_slow(graph, depth) @ features @ weight
    torch.testing.assert_close(graph_filter(graph, "none")(weight, torch.tensor(depth)), slow, atol=1e-3, rtol=1e-3)
    some = graph_filter(graph, "none", nodes)(weight, torch.tensor(depth))
    torch.testing.assert_close(some, slow[nodes], atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("depth", [-1.0, 0.5, 7.0, 20.0])
def test_the_polynomial_is_near_the_exact_filter(depth: float) -> None:
    graph, vector = graph_of(200), torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
    near = polynomial_power(without_self_loops(normalised_adjacency(graph)), vector, torch.tensor(depth))
    exact = power_slow(graph, depth) @ vector
    assert float((near - exact).norm() / exact.norm()) < 0.03


def test_large_graphs_are_filtered_by_the_polynomial(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, weight, depth = graph_of(), torch.randn(6, 4), torch.tensor(2.0)
    exact = graph_filter(graph, "l2", torch.tensor([3, 5]))(weight, depth)
    monkeypatch.setattr(filters, "EXACT_UP_TO", 0)
    near = graph_filter(graph, "l2", torch.tensor([3, 5]))(weight, depth)
    torch.testing.assert_close(near, exact, atol=1e-3, rtol=1e-3)


def test_gradients_of_the_polynomial_are_those_of_differences() -> None:
    operator = without_self_loops(normalised_adjacency(graph_of(8)))
    dense = torch.randn(8, 2, dtype=torch.float64, requires_grad=True)
    depth = torch.tensor(-0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda rows, d: polynomial_power(operator, rows, d), (dense, depth))


def test_self_loops_go_and_nodes_without_edges_get_rows_of_zeros() -> None:
    graph = Graph.from_arrays(np.ones((4, 1)), [[0, 1], [1, 2]], weights=[2.0, 3.0])
    found = without_self_loops(normalised_adjacency(graph)).to_dense()
    torch.testing.assert_close(found, 2 * lazy_walk_slow(graph) - torch.eye(4))
