"""Features of columns and of the structure, against slow twins."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph, block_model
from quietgraph.graph.io import read_graph
from quietgraph.graph.io.columns import Encoder
from quietgraph.graph.io.limits import Budget
from quietgraph.graph.io.nodes import Options, read_nodes
from quietgraph.graph.io.structural import (
    choose_landmarks,
    page_rank,
    structural_features,
)
from quietgraph.graph.io.table import FrameTable

TEXTS = ["the red car", "a blue car and a red bus", "", "bus bus bus"]


def column(cells: list[str], kind: str | None = None):
    """Return what cells of a CSV file become, and their features."""
    frame = pd.DataFrame({"id": range(len(cells)), "c": pd.Series(cells, dtype="str")})
    table = FrameTable(frame, "nodes", typed=False)
    options = Options(Budget("nodes", 10**9), {"c": kind} if kind else {})
    columns = read_nodes(table, options, "id").columns
    return columns[0], Encoder(columns).encode(next(table.pieces()))


def test_hashed_text_equals_tf_idf_up_to_the_order_of_words() -> None:
    _, hashed = column(TEXTS, "text")
    exact = TfidfVectorizer().fit_transform(TEXTS).toarray()
    used = hashed[:, hashed.any(axis=0)]
    assert hashed.shape == (4, 2048)
    np.testing.assert_allclose(used @ used.T, exact @ exact.T)
    np.testing.assert_allclose(np.sort(used.max(axis=0)), np.sort(exact.max(axis=0)))


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e2", ""], "scaled"),
        (["1", "0", "0", "NA", "1"], "number"),
        (["2", "0", "0", "0"], "scaled"),
        (["a", "b", "a", "b"], "category"),
        (["a", "b", "c", "d"], "text"),
        ([str(k // 2) + "x" for k in range(202)], "text"),
        (["1984", "brave new world", "dune", "emma"], "text"),
    ],
)
def test_kinds_are_seen_from_the_cells(cells, kind: str) -> None:
    assert column(cells)[0].kind == kind


def test_scaled_numbers_have_mean_0_and_spread_1_and_constants_do_no_harm() -> None:
    numbers = column(["1", "2", "6"], "scaled")[1]
    assert numbers.mean() == pytest.approx(0)
    assert numbers.std() == pytest.approx(1)
    assert column(["5", "5"], "scaled")[1].tolist() == [[0], [0]]


def test_empty_columns_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,a,b,label\n1,,1,x\n2,,200,y\n3,,3,x\n")
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n")
    read = read_graph(tmp_path)
    assert read.understood.columns == ("b: scaled",)
    assert read.understood.notes[0] == "column a is empty and not used"


def small_graph() -> Graph:
    drawn = block_model(40, mean_degree=3.0, generator=np.random.default_rng(0)).graph
    rows, columns = drawn.edge_index.numpy()
    kept = (rows > 1) & (columns > 1)  # two isolated nodes
    return Graph.from_arrays(np.ones((40, 1)), np.vstack([rows[kept], columns[kept]]))


def test_page_rank_equals_networkx() -> None:
    matrix = small_graph().adjacency.to_scipy()
    degree = np.maximum(np.asarray(matrix.sum(axis=1)), 1)
    slow = nx.pagerank(nx.from_scipy_sparse_array(matrix), tol=1e-12, max_iter=500)
    np.testing.assert_allclose(page_rank(matrix.multiply(1 / degree).tocsr()), list(slow.values()))


def test_structural_features_equal_their_definition() -> None:
    graph = small_graph()
    landmarks = choose_landmarks(graph.adjacency, 5)
    features = structural_features(graph.adjacency, landmarks)
    dense = graph.adjacency.to_scipy().toarray()
    degree = dense.sum(axis=1)
    steps = dense / np.maximum(degree, 1)[:, None]
    walks = sum(np.linalg.matrix_power(steps, t) for t in (1, 2, 3, 4)) / 4
    endless = degree / degree.sum()
    np.testing.assert_allclose(features[:, 0], np.log1p(degree), rtol=1e-6)
    expected = np.log1p(walks[:, landmarks] / endless[landmarks])
    np.testing.assert_allclose(features[:, 2:], expected, rtol=1e-5, atol=1e-6)
    assert np.isfinite(features).all()


def test_landmarks_are_linked_and_first_no_neighbours_of_each_other() -> None:
    graph = small_graph()
    dense = graph.adjacency.to_scipy().toarray()
    chosen = choose_landmarks(graph.adjacency, 6)
    assert chosen[0] == dense.sum(axis=1).argmax()
    assert not dense[np.ix_(chosen, chosen)].any()
    every = choose_landmarks(graph.adjacency, 1000)
    assert sorted(every) == np.flatnonzero(dense.any(axis=1)).tolist()


def write_bare(path: Path, graph: Graph, *, extra: str = "") -> Path:
    rows, columns = graph.edge_index.numpy()
    (path / "nodes.csv").write_text(
        "id,label\n" + "".join(f"n{i},{i % 2}\n" for i in range(graph.num_nodes)) + extra
    )
    pairs = "".join(f"n{a},n{b}\n" for a, b in zip(rows, columns, strict=True))
    (path / "edges.csv").write_text("source,target\n" + pairs + ("new,n5\n" if extra else ""))
    return path


def test_a_graph_without_features_gets_structural_ones_that_survive_growth(tmp_path: Path) -> None:
    graph = small_graph()
    first = read_graph(write_bare(tmp_path, graph))
    linked = int((graph.adjacency.row_counts > 0).sum())
    assert first.graph.num_features == 2 + linked
    assert "none given" in first.understood.columns[0]
    grown = read_graph(write_bare(tmp_path, graph, extra="new,\n"), encoding=first.encoding)
    assert grown.graph.num_features == first.graph.num_features
    assert grown.encoding.landmarks == first.encoding.landmarks
    far = graph.adjacency.to_scipy().toarray()[5] == 0
    far[5] = False
    difference = (grown.graph.features[:-1] - first.graph.features)[far].abs()
    assert float(difference.median()) < 0.05


def test_a_landmark_that_is_gone_is_named(tmp_path: Path) -> None:
    graph = small_graph()
    first = read_graph(write_bare(tmp_path, graph))
    (tmp_path / "edges.csv").write_text("source,target\nn5,n6\n")
    with pytest.raises(QuietgraphError, match="must still be there with its edges"):
        read_graph(tmp_path, encoding=first.encoding)
