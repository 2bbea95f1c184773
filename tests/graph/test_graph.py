"""A graph is checked once; every mistake has its sentence."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import torch
from torch_geometric.data import Data

from quietgraph.errors import InvalidGraphError
from quietgraph.graph import CSR, Graph, block_model, digits_graph

FEATURES = np.arange(8.0).reshape(4, 2)
EDGES = [[0, 1, 2], [1, 2, 3]]


def test_edges_are_folded_and_the_changes_are_told() -> None:
    graph = Graph.from_arrays(FEATURES, [[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]])
    assert graph.num_edges == 2
    assert graph.notes == (
        "1 self-loops removed",
        "repeated or opposite edges merged: 4 given, 2 kept",
    )
    dense = graph.adjacency.to_dense()
    assert torch.equal(dense, dense.T)
    assert float(dense.diagonal().sum()) == 0


def test_edges_may_stand_in_rows_or_columns() -> None:
    rows = Graph.from_arrays(FEATURES, np.array(EDGES).T)
    assert rows.fingerprint == Graph.from_arrays(FEATURES, EDGES).fingerprint


def test_of_parallel_edges_the_heaviest_stays() -> None:
    graph = Graph.from_arrays(FEATURES, [[0, 1], [1, 0]], weights=[0.5, 2.0])
    assert graph.adjacency.values.tolist() == [2.0, 2.0]
    assert graph.is_weighted


@pytest.mark.parametrize(
    "features",
    [
        FEATURES.tolist(),
        torch.from_numpy(FEATURES),
        pd.DataFrame(FEATURES),
        scipy.sparse.csr_matrix(FEATURES),
        torch.from_numpy(FEATURES).to_sparse(),
    ],
    ids=["list", "tensor", "frame", "scipy", "sparse tensor"],
)
def test_features_come_in_many_forms(features) -> None:
    graph = Graph.from_arrays(features, EDGES)
    torch.testing.assert_close(graph.features, torch.from_numpy(FEATURES).float())


def test_wide_sparse_features_stay_sparse() -> None:
    words = np.zeros((4, 100))
    words[[0, 1, 3], [5, 70, 99]] = 1
    graph = Graph.from_arrays(words, EDGES)
    assert isinstance(graph.features, CSR)
    assert graph.features.num_entries == 3
    np.testing.assert_array_equal(graph.features.to_dense().numpy(), words)
    torch.testing.assert_close(graph.features.transposed().to_dense(), graph.features.to_dense().T)


def test_every_source_gives_the_same_graph() -> None:
    wanted = Graph.from_arrays(FEATURES, EDGES).fingerprint
    data = Data(x=torch.from_numpy(FEATURES), edge_index=torch.tensor(EDGES))
    assert Graph.from_pyg(data).fingerprint == wanted
    matrix = scipy.sparse.coo_matrix((np.ones(3), EDGES), shape=(4, 4))
    assert Graph.from_scipy(matrix, FEATURES).fingerprint == wanted
    network = nx.path_graph(4)
    assert Graph.from_networkx(network, FEATURES).fingerprint == wanted
    for node, row in enumerate(FEATURES):
        network.nodes[node]["x"] = row
    assert Graph.from_networkx(network).fingerprint == wanted
    again = Graph.from_pyg(Graph.from_arrays(FEATURES, EDGES).to_pyg())
    assert again.fingerprint == wanted


def test_pyg_and_networkx_weights_are_read() -> None:
    data = Data(
        x=torch.zeros(2, 1), edge_index=torch.tensor([[0], [1]]), edge_attr=torch.ones(1) * 3
    )
    assert Graph.from_pyg(data).adjacency.values.tolist() == [3.0, 3.0]
    network = nx.Graph()
    network.add_edge("a", "b", w=2.5)
    graph = Graph.from_networkx(network, np.zeros((2, 1)), weight="w")
    assert graph.adjacency.values.tolist() == [2.5, 2.5]


NAN = FEATURES.copy()
NAN[2, 1] = np.nan
INFINITE = scipy.sparse.csr_matrix(np.where(FEATURES == 3, np.inf, FEATURES))


@pytest.mark.parametrize(
    ("features", "edges", "options", "sentence"),
    [
        (NAN, EDGES, {}, "1 NaN or infinite entries (first at node 2, column 1)"),
        (INFINITE, EDGES, {}, "1 NaN or infinite entries"),
        (np.zeros((0, 3)), [], {}, "at least one node"),
        (np.zeros(5), EDGES, {}, "must be a matrix"),
        ([["a", "b"]], [], {}, "features must be numbers"),
        (FEATURES, [[0], [4]], {}, "edge ids must lie in 0 ... 3, got 4 (1 such edges)"),
        (FEATURES, [[-1], [0]], {}, "edge ids must lie in 0 ... 3, got -1"),
        (FEATURES, [[0.5], [1.0]], {}, "edges must be whole numbers"),
        (FEATURES, [0, 1, 2], {}, "edges must be pairs"),
        (FEATURES, EDGES, {"weights": [1.0]}, "one entry per edge (3), got 1"),
        (FEATURES, EDGES, {"weights": [1.0, -1.0, 1.0]}, "positive and finite"),
        (FEATURES, EDGES, {"weights": [1.0, np.nan, 1.0]}, "positive and finite"),
    ],
)
def test_bad_input_gets_its_sentence(features, edges, options, sentence: str) -> None:
    with pytest.raises(InvalidGraphError) as caught:
        Graph.from_arrays(features, edges, **options)
    assert sentence in str(caught.value)


def test_sources_that_lack_something_say_what() -> None:
    with pytest.raises(InvalidGraphError, match="must have x and edge_index"):
        Graph.from_pyg(Data(edge_index=torch.tensor(EDGES)))
    with pytest.raises(InvalidGraphError, match="must be square, got 2 x 3"):
        Graph.from_scipy(np.zeros((2, 3)), FEATURES)
    with pytest.raises(InvalidGraphError, match=r"one row per node \(3\), got 4"):
        Graph.from_networkx(nx.path_graph(3), FEATURES)
    with pytest.raises(InvalidGraphError, match="attribute 'x', 3 have not"):
        Graph.from_networkx(nx.path_graph(3))


def test_a_graph_without_edges_is_a_graph() -> None:
    graph = Graph.from_arrays(FEATURES, np.empty((2, 0), dtype=int))
    assert (graph.num_nodes, graph.num_edges) == (4, 0)


def test_fingerprint_sees_features_and_edges() -> None:
    prints = {
        Graph.from_arrays(FEATURES, EDGES).fingerprint,
        Graph.from_arrays(FEATURES + 1, EDGES).fingerprint,
        Graph.from_arrays(FEATURES, [[0], [1]]).fingerprint,
    }
    assert len(prints) == 3


def test_digits_are_real_and_always_the_same() -> None:
    digits = digits_graph()
    assert (digits.graph.num_nodes, digits.graph.num_features) == (1797, 64)
    assert digits.graph.fingerprint == digits_graph().graph.fingerprint
    rows, columns = digits.graph.edge_index.numpy()
    assert (digits.classes[rows] == digits.classes[columns]).mean() > 0.95


def test_block_model_has_the_degree_and_homophily_asked_for() -> None:
    drawn = block_model(
        4000, num_classes=5, mean_degree=12, homophily=0.7, generator=np.random.default_rng(0)
    )
    rows, columns = drawn.graph.edge_index.numpy()
    assert (drawn.classes[rows] == drawn.classes[columns]).mean() == pytest.approx(0.7, abs=0.02)
    assert len(rows) / 4000 == pytest.approx(12, rel=0.02)
    assert np.bincount(drawn.classes).tolist() == [800] * 5
