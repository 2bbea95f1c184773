"""Sparse products and operators against dense ones."""

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.embed.operator import (
    Structure,
    drop_entries,
    normalised_adjacency,
    scale_rows,
    scaled,
    walk_matrix,
)
from quietgraph.embed.sparse import entry_products, multiply, project, propagate, propagate_weighted
from quietgraph.graph import CSR, Graph

DRAWS = torch.Generator().manual_seed(0)


def weighted_graph(nodes: int = 12) -> Graph:
    draws = np.random.default_rng(0)
    edges = draws.integers(nodes - 1, size=(2, 30))  # the last node has no edge
    return Graph.from_arrays(draws.random((nodes, 5)), edges, weights=draws.random(30) + 0.5)


def random_matrix(rows: int, columns: int) -> CSR:
    return CSR.from_scipy(scipy.sparse.random(rows, columns, density=0.3, random_state=1), dtype=torch.float64)


@pytest.mark.parametrize("dim", [1, 3, 16])
def test_products_and_their_gradients_equal_the_dense_ones(dim: int) -> None:
    matrix = random_matrix(7, 9)
    dense = torch.randn(9, dim, dtype=torch.float64, generator=DRAWS, requires_grad=True)
    values = matrix.values.clone().requires_grad_()
    weights = torch.randn(7, dim, dtype=torch.float64, generator=DRAWS)
    whole = torch.zeros(7, 9, dtype=torch.float64).index_put((matrix.rows, matrix.columns.long()), values)
    wanted = torch.autograd.grad((whole @ dense * weights).sum(), (dense, values))
    found = torch.autograd.grad(
        (propagate_weighted(matrix.with_values(values), dense) * weights).sum(), (dense, values)
    )
    for own, reference in zip(found, wanted, strict=True):
        torch.testing.assert_close(own, reference)
    torch.testing.assert_close(multiply(matrix, dense), matrix.to_dense() @ dense)
    (gradient,) = torch.autograd.grad((multiply(matrix, dense) * weights).sum(), dense)
    torch.testing.assert_close(gradient, matrix.to_dense().T @ weights)


@pytest.mark.parametrize("dim", [2, 16])
def test_entry_products_are_products_of_pairs(dim: int) -> None:
    matrix = random_matrix(6, 8)
    left = torch.randn(6, dim, dtype=torch.float64, generator=DRAWS, requires_grad=True)
    right = torch.randn(8, dim, dtype=torch.float64, generator=DRAWS, requires_grad=True)
    slow = (left[matrix.rows] * right[matrix.columns.long()]).sum(dim=1)
    fast = entry_products(matrix, left, right)
    torch.testing.assert_close(fast, slow)
    weights = torch.randn(len(slow), dtype=torch.float64, generator=DRAWS)
    for own, wanted in zip(
        torch.autograd.grad((fast * weights).sum(), (left, right)),
        torch.autograd.grad((slow * weights).sum(), (left, right)),
        strict=True,
    ):
        torch.testing.assert_close(own, wanted)


def test_products_of_nothing_are_nothing() -> None:
    empty = CSR.from_scipy(scipy.sparse.csr_matrix((3, 4)))
    assert entry_products(empty, torch.ones(3, 2), torch.ones(4, 2)).shape == (0,)
    assert torch.equal(multiply(empty, torch.ones(4, 2)), torch.zeros(3, 2))


def test_sparse_features_project_as_dense_ones() -> None:
    matrix = random_matrix(7, 9)
    weight = torch.randn(9, 4, dtype=torch.float64, generator=DRAWS)
    torch.testing.assert_close(project(matrix, weight), project(matrix.to_dense(), weight))


def dense_operator(graph: Graph, gone: Tensor | None = None) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, some nodes left out."""
    whole = graph.adjacency.to_dense() + torch.eye(graph.num_nodes)
    if gone is not None:
        whole[gone], whole[:, gone] = 0, 0
    scale = whole.sum(dim=1).pow(-0.5)
    scale[scale.isinf()] = 0
    return scale[:, None] * whole * scale


def test_the_operator_is_the_normalised_adjacency_with_self_loops() -> None:
    graph = weighted_graph()
    operator = normalised_adjacency(graph)
    torch.testing.assert_close(operator.to_dense(), dense_operator(graph))
    rows = torch.randn(graph.num_nodes, 3, generator=DRAWS, requires_grad=True)
    propagate(operator, rows).square().sum().backward()
    torch.testing.assert_close(rows.grad, 2 * dense_operator(graph) @ dense_operator(graph) @ rows.detach())


def test_absent_pairs_leave_the_operator_and_the_degrees() -> None:
    graph = weighted_graph()
    structure = Structure.of(graph)
    present = structure.everything()
    rows, columns = structure.weights.rows, structure.weights.columns.long()
    present[structure.pair_of_entry[(rows == 3) | (columns == 3)]] = 0
    torch.testing.assert_close(structure.operator(present).to_dense(), dense_operator(graph, torch.tensor([3])))


def test_spare_pairs_count_only_where_they_are_present() -> None:
    graph = weighted_graph()
    adjacency = graph.adjacency.to_dense()
    spare = (adjacency + torch.eye(12) == 0).triu().nonzero()[:4].T
    structure = Structure.of(graph, spare_pairs=spare)
    torch.testing.assert_close(structure.operator().to_dense(), dense_operator(graph))
    present = structure.everything()
    present[structure.num_edges] = 1
    low, high = spare[:, 0]
    added = adjacency.clone()
    added[low, high] = added[high, low] = 1
    larger = Graph.from_scipy(scipy.sparse.csr_matrix(added.numpy()), graph.features)
    torch.testing.assert_close(structure.operator(present).to_dense(), dense_operator(larger))


def test_steps_of_a_walk_sum_to_one() -> None:
    graph = weighted_graph()
    walk = walk_matrix(graph).to_dense()
    torch.testing.assert_close(walk.sum(dim=1), torch.ones(12))
    torch.testing.assert_close(
        walk, (graph.adjacency.to_dense() + torch.eye(12)) / walk.diagonal().reciprocal()[:, None]
    )


@pytest.mark.parametrize(("norm", "power"), [("l1", 1), ("l2", 2)])
def test_rows_are_scaled_alike_dense_and_sparse(norm: str, power: int) -> None:
    matrix = random_matrix(7, 9)
    dense = scale_rows(matrix.to_dense(), norm)
    lengths = dense.norm(p=power, dim=1)
    torch.testing.assert_close(lengths, (matrix.to_dense().abs().sum(dim=1) > 0).double())
    torch.testing.assert_close(scale_rows(matrix, norm).to_dense(), dense)


def test_rows_of_enormous_entries_have_unit_length() -> None:
    rows = scale_rows(torch.tensor([[3e30, 4e30], [3.0, 4.0], [0.0, 0.0]]), "l2")
    torch.testing.assert_close(rows, torch.tensor([[0.6, 0.8], [0.6, 0.8], [0.0, 0.0]]))


def test_scaled_features_are_kept_with_the_graph_and_dropped_ones_are_scaled_up() -> None:
    graph = weighted_graph()
    assert scaled(graph, "none") is graph.features
    assert scaled(graph, "l1") is scaled(graph, "l1")
    features = random_matrix(40, 30)
    dropped = drop_entries(features, 0.5, training=True)
    kept = dropped.values != 0
    torch.testing.assert_close(dropped.values[kept], 2 * features.values[kept])
    assert drop_entries(features, 0.5, training=False) is features
