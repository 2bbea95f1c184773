"""Graphs of arrays: checked, folded, equal to their slow twins."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from quietgraph.errors import InvalidGraphError
from quietgraph.graph import CSR, Graph

EDGES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([0.5, 1.0, 2.0])), max_size=20)


def folded_slow(edges: list[tuple[int, int, float]]) -> np.ndarray:
    dense = np.zeros((6, 6))
    for one, other, weight in edges:
        if one != other:
            dense[one, other] = dense[other, one] = max(dense[one, other], weight)
    return dense


@given(EDGES)
@settings(max_examples=60, deadline=None)
def test_directions_loops_and_duplicates_are_folded(edges: list[tuple[int, int, float]]) -> None:
    pairs, weights = np.array([edge[:2] for edge in edges]).reshape(-1, 2), [edge[2] for edge in edges]
    graph = Graph.from_arrays(np.eye(6), pairs.T, weights=weights)
    np.testing.assert_array_equal(graph.adjacency.to_dense(), folded_slow(edges))
    loops = sum(one == other for one, other, _ in edges)
    assert (f"{loops} self-loops removed" in graph.notes) == (loops > 0)


@pytest.mark.parametrize("density", [0.05, 0.5])
def test_features_are_kept_in_the_form_that_computes_faster(density: float) -> None:
    dense = np.where(np.random.default_rng(0).random((20, 100)) < density, 1.5, 0.0)
    forms = (dense, torch.tensor(dense), scipy.sparse.csr_matrix(dense), torch.tensor(dense).to_sparse())
    for features in forms:
        graph = Graph.from_arrays(features, [[0, 1]])
        assert isinstance(graph.features, CSR) == (density < 0.1)
        found = graph.features.to_dense() if isinstance(graph.features, CSR) else graph.features
        np.testing.assert_array_equal(found, dense.astype(np.float32))
        assert graph.fingerprint == Graph.from_arrays(dense, [[0, 1]]).fingerprint


@pytest.mark.parametrize(
    ("features", "edges", "weights", "sentence"),
    [
        ([["a"]], [[0, 0]], None, "features must be numbers"),
        (np.zeros((0, 2)), [], None, "at least one node and one column"),
        ([[1.0], [np.nan]], [], None, "must be finite.*first at node 1, column 0"),
        ([[1e39], [1.0]], [], None, r"range of 32-bit floats, got 1e\+39"),
        (scipy.sparse.csr_matrix([[np.inf]]), [], None, "must be finite"),
        (np.eye(2), [[0.5, 1]], None, "whole numbers, got float64"),
        (np.eye(2), [[0, 1, 1]], None, r"shape \(1, 3\)"),
        (np.eye(2), [[0, 5]], None, r"must lie in 0 \.\.\. 1, got 5"),
        (np.eye(2), [[0, 1]], [0.0], "must be positive"),
        (np.eye(2), [[0, 1]], [1.0, 2.0], r"one entry per edge \(1\), got 2"),
        (np.eye(2), [[0, 1]], ["x"], "weights must be numbers"),
    ],
)
def test_what_is_no_graph_gets_its_sentence(features, edges, weights, sentence: str) -> None:
    with pytest.raises(InvalidGraphError, match=sentence):
        Graph.from_arrays(features, edges, weights=weights)


def test_a_scipy_adjacency_gives_edges_and_weights() -> None:
    matrix = scipy.sparse.csr_matrix([[0, 2.0, 0], [0, 0, 0], [0, 0, 0]])
    assert Graph.from_scipy(matrix, np.eye(3)).adjacency.values.tolist() == [2, 2]
    with pytest.raises(InvalidGraphError, match="one row and column per node"):
        Graph.from_scipy(matrix, np.eye(2))


def test_compressed_rows_equal_dense_ones() -> None:
    draws = np.random.default_rng(1)
    dense = draws.random((7, 9)) * (draws.random((7, 9)) < 0.4)
    matrix = CSR.from_scipy(scipy.sparse.csr_matrix(dense), dtype=torch.float64)
    rows = torch.tensor([3, 3, 0, 6])
    np.testing.assert_array_equal(matrix.to_dense(), dense)
    np.testing.assert_array_equal(matrix.transposed().to_dense(), dense.T)
    np.testing.assert_array_equal(matrix.take_rows(rows).to_dense(), dense[rows])
    np.testing.assert_array_equal(matrix.with_values(2 * matrix.values).transposed().to_dense(), 2 * dense.T)
    assert matrix.row_counts.tolist() == (dense != 0).sum(axis=1).tolist()


def test_what_was_computed_once_belongs_to_one_graph() -> None:
    graph = Graph.from_arrays(np.eye(3), [[0, 1]])
    assert graph.once("x", lambda: 1) == graph.once("x", lambda: 2) == 1
    assert graph.with_features(torch.ones(3, 2)).once("x", lambda: 2) == 2
    with pytest.raises(InvalidGraphError, match="one row per node"):
        graph.with_features(torch.ones(2, 2))
