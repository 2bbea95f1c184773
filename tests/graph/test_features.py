"""Features of columns and of the structure, against slow twins."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.feature_extraction.text import TfidfVectorizer

from quietgraph.errors import QuietgraphError
from quietgraph.graph import CSR, Graph
from quietgraph.graph.io.columns import Column, check_columns, learn_columns
from quietgraph.graph.io.encode import encode
from quietgraph.graph.io.structure import choose_landmarks, features_of_structure, page_rank, structural_features
from quietgraph.graph.io.tables import MISSING, open_database, open_table


def column(
    folder: Path, cells: list[str], kind: str | None = None, *, like: Column | None = None
) -> tuple[Column, np.ndarray, list[str]]:
    """Return what the cells of a CSV file become, their features, and notes."""
    (folder / "t.csv").write_text("id;c\n" + "".join(f"{n};{cell}\n" for n, cell in enumerate(cells)), encoding="utf-8")
    with open_database() as db:
        table = open_table(db, "t", folder / "t.csv")
        table.fill(["c"], missing=MISSING)
        learned, notes = learn_columns(table, ["c"], {"c": kind} if kind else {})
        known = [like] if like else learned
        notes = check_columns(table, known) if like else notes
        features = encode(table, known, lambda _, shape, dtype: np.empty(shape, dtype))
    dense = features.to_dense() if isinstance(features, CSR) else features
    return known[0], dense.numpy(), notes


def test_hashed_text_equals_tf_idf_up_to_the_order_of_words(tmp_path: Path) -> None:
    texts = ["the red car", "a blue car and a red bus", "", "bus bus bus"]
    found, hashed, _ = column(tmp_path, texts, "text")
    exact = TfidfVectorizer().fit_transform(texts).toarray()
    used = hashed[:, hashed.any(axis=0)]
    assert hashed.shape == (4, found.width) == (4, 2048)
    np.testing.assert_allclose(used @ used.T, exact @ exact.T, rtol=1e-6)
    np.testing.assert_allclose(np.sort(used.max(axis=0)), np.sort(exact.max(axis=0)), rtol=1e-6)


@pytest.mark.parametrize(
    ("cells", "words", "values"),
    [
        ("1|2.5|-3e2|", "scaled", [1, 2.5, -300, -296.5 / 3]),
        ("+5|.5|5.|1e2", "scaled", [5, 0.5, 5, 100]),
        ("3,14|2|0,5|-1,25", "scaled (decimal comma)", [3.14, 2, 0.5, -1.25]),
        ("1.234,5|2,5||3", "scaled (decimal comma)", [1234.5, 2.5, 1240 / 3, 3]),
        ("1,234|1,345,678|5|0", "scaled (thousands)", [1234, 1345678, 5, 0]),
        ("1,234.5|2|3|4", "scaled (thousands)", [1234.5, 2, 3, 4]),
        ("1970-01-02|1970-01-03||1970-01-05", "date (such as 2024-12-31)", [1, 2, 7 / 3, 4]),
        ("1970-01-02T12:00|1970/01/03|1970-01-04|1970-01-05 06:00", "date (such as 2024-12-31)", [1.5, 2, 3, 4.25]),
        ("02.01.1970|03.01.1970 12:00|4.1.1970|31.01.1970", "date (such as 31.12.2024)", [1, 2.5, 3, 30]),
        ("01/02/1970|02/02/1970|03/02/1970|04/02/1970", "date (such as 31/12/2024)", [31, 32, 33, 34]),
        ("01/02/1970|01/13/1970|01/04/1970|NA", "date (such as 12/31/2024)", [1, 12, 3, 16 / 3]),
        ("1|0|0|1", "number", [1, 0, 0, 1]),
        ("1|0|NaN|1", "number", [1, 0, 2 / 3, 1]),
        ("0|0|0|4", "scaled", [0, 0, 0, 4]),
        ("5|5|5|5", "scaled", [5, 5, 5, 5]),
    ],
)
def test_numbers_and_dates_are_read_as_they_are_written(tmp_path: Path, cells: str, words: str, values) -> None:
    found, features, _ = column(tmp_path, cells.split("|"))
    assert str(found) == f"c: {words}"
    np.testing.assert_allclose(features[:, 0], (np.array(values) - found.shift) / found.scale, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ("a|b|a|b", "category (2 values)"),
        ("none|dent|none|dent", "category (2 values)"),
        ("a|b|c|d", "text (2,048 hashed words)"),
        ("1_000|2_000|3|x", "text (2,048 hashed words)"),
        ("1984|brave new world|dune|emma", "text (2,048 hashed words)"),
        ("1970-01-02|1970-13-45|version 1-2-3|x", "text (2,048 hashed words)"),
        ("31.12.24|01.01.25|02.01.25|03.01.25", "text (2,048 hashed words)"),  # of two digits, the year is a guess
    ],
)
def test_other_cells_are_categories_and_texts(tmp_path: Path, cells: str, words: str) -> None:
    assert str(column(tmp_path, cells.split("|"))[0]) == f"c: {words}"


def test_scaled_numbers_have_mean_0_and_spread_1_and_counts_stay_mostly_0(tmp_path: Path) -> None:
    scaled = column(tmp_path, ["1", "2", "6", ""])[1]
    assert (scaled.mean(), scaled[:3].std()) == pytest.approx((0, 1), abs=1e-6)
    assert scaled[3] == 0
    assert column(tmp_path, ["0", "4", "0", "", "0"])[1].ravel().tolist() == [0, 1, 0, 0, 0]


@pytest.mark.parametrize("cells", [["k.A.", *map(str, range(40))], ["k.A.", *(f"{n},5" for n in range(40))]])
def test_a_foreign_word_among_numbers_is_named_with_the_option(tmp_path: Path, cells: list[str]) -> None:
    with pytest.raises(QuietgraphError, match=r"'c' mixes .* 1 cells .* 'k\.A\.' \(line 2\).*--missing 'k\.A\.'"):
        column(tmp_path, cells)


def test_a_grown_column_is_encoded_as_the_first_one(tmp_path: Path) -> None:
    first, features, _ = column(tmp_path, ["1,5", "2,5", "3,5"])
    again, grown, notes = column(tmp_path, ["1,5", "2,5", "3,5", "90,25", ""], like=first)
    assert again == first
    np.testing.assert_array_equal(grown[:3], features)
    assert grown[4] == 0
    assert notes == ["column c: 1 empty cells count as its mean 2.5"]
    with pytest.raises(
        QuietgraphError, match=r"'c' mixes numbers with text: 1 cells are no numbers, the first is '1\.5'"
    ):
        column(tmp_path, ["1.5", "2,5"], like=first)
    kinds = column(tmp_path, ["de", "fr", "de", "fr"])[0]
    _, new, notes = column(tmp_path, ["fr", "es", "", "de"], like=kinds)
    assert new.tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    assert notes == ["column c: 1 cells hold values not seen in fit and count as none"]
    assert not column(tmp_path, ["", "NA"], like=kinds)[1].any()


def test_the_fullness_of_all_rows_decides_whether_features_are_sparse(tmp_path: Path) -> None:
    wide = pd.DataFrame(np.eye(40).repeat(3, axis=1), columns=[f"w{n}" for n in range(120)])
    wide.iloc[0] = 1.0  # a full first row
    with open_database() as db:
        table = open_table(db, "t", wide)
        table.fill(table.names)
        columns, _ = learn_columns(table, table.names, {})
        features = encode(table, columns, lambda *_: pytest.fail("dense"))
    assert isinstance(features, CSR)
    np.testing.assert_array_equal(features.to_dense(), wide.to_numpy(np.float32))


def small_graph() -> Graph:
    draws = np.random.default_rng(0).integers(2, 40, size=(2, 60))  # two isolated nodes
    return Graph.from_arrays(np.ones((40, 1)), draws)


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
    np.testing.assert_allclose(features[:, 0], np.log1p(degree), rtol=1e-6)
    expected = np.log1p(walks[:, landmarks] / (degree / degree.sum())[landmarks])
    np.testing.assert_allclose(features[:, 2:], expected, rtol=1e-5, atol=1e-6)


def test_landmarks_are_linked_and_first_no_neighbours_of_each_other() -> None:
    adjacency = small_graph().adjacency
    dense, chosen = adjacency.to_dense().numpy(), choose_landmarks(adjacency, 6)
    assert chosen[0] == (dense > 0).sum(axis=1).argmax()
    assert not dense[np.ix_(chosen, chosen)].any()
    assert sorted(choose_landmarks(adjacency, 1000)) == np.flatnonzero(dense.any(axis=1)).tolist()


def test_a_landmark_that_is_gone_is_named() -> None:
    adjacency, keys = small_graph().adjacency, np.array([f"n{n}" for n in range(40)], dtype=object)
    features, landmarks = features_of_structure(adjacency, keys)
    assert torch.equal(features, features_of_structure(adjacency, keys, landmarks)[0])
    with pytest.raises(QuietgraphError, match="must still be there with its edges"):
        features_of_structure(adjacency, keys, ("n0",))
