"""Tables as people have them: dates, decimal commas, vectors, edges alone, words for unknown."""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import quietgraph as qg
from quietgraph.errors import InvalidParameterError, QuietgraphError
from quietgraph.graph import Graph
from quietgraph.graph.io import read_encoding, read_graph

EDGES = "source,target\na,b\nb,c\nc,d\n"
IDS = "abcd"


def folder(path: Path, nodes: str, edges: str = EDGES) -> Path:
    (path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (path / "edges.csv").write_text(edges, encoding="utf-8")
    return path


def one_column(path: Path, cells: list[str], **options) -> tuple[list[float], str]:
    """Return the feature of one column of four cells, not scaled, and what it became."""
    rows = "".join(f"{name};{cell};x\n" for name, cell in zip(IDS, cells, strict=True))
    read = read_graph(folder(path, f"id;c;label\n{rows}"), **options)
    column = read.encoding.columns[0]
    assert read.graph.num_features == 1
    return (np.asarray(read.graph.features).ravel() * column.spread + column.centre).tolist(), str(
        column
    )


@pytest.mark.parametrize(
    ("cells", "days", "like"),
    [
        ("1970-01-02|1970-01-03||1970-01-05", [1, 2, 7 / 3, 4], "2024-12-31"),
        (
            "1970-01-02T12:00|1970-01-03 00:00:00|1970-01-04|1970-01-05",
            [1.5, 2, 3, 4],
            "2024-12-31",
        ),
        ("02.01.1970|03.01.1970|04.01.1970|31.01.1970", [1, 2, 3, 30], "31.12.2024"),
        ("01/02/1970|01/13/1970|01/04/1970|01/05/1970", [1, 12, 3, 4], "12/31/2024"),
        ("01/02/1970|02/02/1970|03/02/1970|04/02/1970", [31, 32, 33, 34], "31/12/2024"),
        ("1970/01/02|1970/01/03|1970/01/04|1970/01/05", [1, 2, 3, 4], "2024-12-31"),
        ("2 Jan 1970|3 Jan 1970|4 Jan 1970|5 Jan 1970", [1, 2, 3, 4], "31 Dec 2024"),
        (
            "January 2, 1970|January 3, 1970|February 1, 1970|NA",
            [1, 2, 31, 34 / 3],
            "December 31, 2024",
        ),
        (
            "02.01.1970 12:00|03.01.1970 00:00|04.01.1970 00:00|",
            [1.5, 2, 3, 6.5 / 3],
            "31.12.2024 23:59",
        ),
    ],
)
def test_dates_are_numbers_of_days(tmp_path: Path, cells: str, days, like: str) -> None:
    found, words = one_column(tmp_path, cells.split("|"))
    assert found == pytest.approx(days, abs=1e-5)
    assert words == f"c: date (such as {like})"


@pytest.mark.parametrize(
    ("cells", "numbers", "words"),
    [
        (["3,14", "2", "0,5", "-1,25"], [3.14, 2, 0.5, -1.25], "decimal comma"),
        (["1.234,5", "2,5", "", "3"], [1234.5, 2.5, 1240 / 3, 3], "decimal comma"),
        (["1,234", "1,345,678", "5", "0"], [1234, 1345678, 5, 0], "thousands"),
        (["1,234.5", "2", "3", "4"], [1234.5, 2, 3, 4], "thousands"),
    ],
)
def test_numbers_may_have_commas(tmp_path: Path, cells, numbers, words) -> None:
    found, told = one_column(tmp_path, cells)
    assert found == pytest.approx(numbers, rel=1e-6, abs=0.1)
    assert words in told


def test_what_only_looks_like_a_date_is_text(tmp_path: Path) -> None:
    cells = ["1970-01-02", "1970-13-45", "version 1-2-3", "x"]
    rows = "".join(f"{name},{cell},x\n" for name, cell in zip(IDS, cells, strict=True))
    read = read_graph(folder(tmp_path, f"id,c,label\n{rows}"))
    assert read.encoding.columns[0].kind == "text"


def test_a_word_count_does_not_swamp_other_columns(tmp_path: Path) -> None:
    rows = "".join(f"{name},{k % 2},{1000 * k * k},x\n" for k, name in enumerate(IDS))
    read = read_graph(folder(tmp_path, f"id,flag,count,label\n{rows}"))
    features = np.asarray(read.graph.features)
    assert features[:, 0].tolist() == [0, 1, 0, 1]  # 0 and 1 stay
    assert features[:, 1].std() == pytest.approx(1, rel=1e-5)
    kept = read_graph(tmp_path, columns={"count": "number"})
    assert float(kept.graph.features[3, 1]) == 9000


def test_columns_that_are_mostly_zero_stay_so(tmp_path: Path) -> None:
    rows = "".join(f"{name},{4 * (k == 3)},x\n" for k, name in enumerate(IDS))
    read = read_graph(folder(tmp_path, f"id,count,label\n{rows}"))
    assert np.asarray(read.graph.features).ravel().tolist() == [0, 0, 0, 1]


def test_old_encodings_still_read(tmp_path: Path) -> None:
    text = '{"format": 1, "kind": "columns", "columns": [{"name": "c", "kind": "number", "centre": '
    text += '2.0, "spread": 1.0, "values": []}], "id_column": "id", "landmarks": []}'
    (tmp_path / "encoding.json").write_text(text)
    folder(tmp_path, "id,c\na,1\nb,2\nc,\nd,4\n")
    read = read_graph(tmp_path, encoding=read_encoding(tmp_path))
    assert np.asarray(read.graph.features).ravel().tolist() == [1, 2, 2, 4]


@pytest.mark.parametrize("fixed", [False, True])
def test_vector_columns_are_taken_as_they_are(tmp_path: Path, fixed: bool) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    draws = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    kind = pa.list_(pa.float32(), 3) if fixed else pa.list_(pa.float32())
    vectors = pa.array(draws.tolist(), kind)
    table = pa.table({"id": list(IDS), "embedding": vectors, "label": ["x", "y", "x", None]})
    pq.write_table(table, tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text(EDGES)
    read = read_graph(tmp_path)
    np.testing.assert_array_equal(np.asarray(read.graph.features), draws)
    assert read.understood.columns == ("embedding: vector (3 numbers)",)
    assert read.labels.tolist() == ["x", "y", "x", None]
    again = read_graph(tmp_path, encoding=read.encoding)
    assert again.graph.fingerprint == read.graph.fingerprint
    with pytest.raises(QuietgraphError, match="cannot be read as category"):
        read_graph(tmp_path, columns={"embedding": "category"})


def test_vectors_of_different_lengths_are_refused(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": list("ab"), "v": [[1.0, 2.0], [1.0]], "label": ["x", "y"]})
    nodes.to_parquet(tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    with pytest.raises(QuietgraphError, match="vectors of 1 and of 2 numbers"):
        read_graph(tmp_path)


def test_nullable_integers_and_texts_of_parquet(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": pd.array([1, 2, 3, 4], "Int64"), "label": ["x", "y", None, "x"]})
    nodes["size"] = pd.array([5, None, 7, 9], "Int64")
    nodes["word"] = pd.array(["p", "q", "p", None], "string")
    edges = pd.DataFrame({"source": [1.0, 2.0], "target": pd.array([2, 3], "Int32")})
    nodes.to_parquet(tmp_path / "nodes.parquet")
    edges.to_parquet(tmp_path / "edges.parquet")
    read = read_graph(tmp_path)
    assert read.understood.columns == ("size: scaled", "word: text (2,048 hashed words)")
    assert read.graph.num_edges == 2
    assert read.node_ids.tolist() == [1, 2, 3, 4]


def test_nodes_and_edges_in_separate_files(tmp_path: Path) -> None:
    folder(tmp_path, "id,c,label\na,1,x\nb,2,y\nc,3,x\nd,5,y\n")
    whole = read_graph(tmp_path)
    (tmp_path / "nodes.csv").rename(tmp_path / "people.tsv")
    (tmp_path / "edges.csv").rename(tmp_path / "friends.txt")
    read = read_graph(nodes=tmp_path / "people.tsv", edges=str(tmp_path / "friends.txt"))
    assert read.graph.fingerprint == whole.graph.fingerprint
    assert read.understood.form == "people.tsv and friends.txt"
    with pytest.raises(InvalidParameterError, match="not both"):
        read_graph(tmp_path, edges="e.csv")
    with pytest.raises(InvalidParameterError, match="a graph needs edges"):
        read_graph(nodes=tmp_path / "people.tsv")


def test_edges_alone_have_structural_features(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text(EDGES)
    for source in (tmp_path, tmp_path / "edges.csv", pd.read_csv(tmp_path / "edges.csv")):
        read = read_graph(source)
        assert read.node_ids.tolist() == list(IDS)
        assert read.understood.columns[0].startswith("none given, so the structure")
        assert read.understood.label_column is None


def test_dangling_edges_are_dropped_on_request_and_counted(tmp_path: Path) -> None:
    folder(tmp_path, "id,c,label\na,1,x\nb,2,y\nc,3,x\nd,5,y\n", EDGES + "a,nobody\n,a\n")
    with pytest.raises(QuietgraphError, match="--drop-dangling"):
        read_graph(tmp_path)
    read = read_graph(tmp_path, drop_dangling=True)
    assert read.graph.num_edges == 3
    assert "2 edges to ids that are no nodes left out" in read.understood.notes


def test_words_that_mean_unknown(tmp_path: Path) -> None:
    folder(tmp_path, "id,c,d,label\na,1,p,x\nb,?,q,?\nc,3,?,x\nd,5,p,y\n")
    with pytest.raises(QuietgraphError, match="name the word for unknown with --unknown"):
        read_graph(tmp_path)
    read = read_graph(tmp_path, unknown="?")
    assert read.labels.tolist() == ["x", None, "x", "y"]
    assert float(read.graph.features.to_dense()[1, 0]) == 0  # the mean, scaled
    assert read.encoding.columns[1].kind == "text"
    assert read_graph(tmp_path, unknown=["?", "x"]).labels.tolist() == [None, None, None, "y"]


def test_a_copy_of_the_label_and_rare_classes_are_pointed_out(tmp_path: Path) -> None:
    rows = [(f"n{k}", k % 7, k % 3, "xyz"[k % 3]) for k in range(60)] + [("n60", 1, 0, "rare")]
    nodes = pd.DataFrame(rows, columns=["id", "other", "code", "label"])
    edges = pd.DataFrame({"source": nodes["id"][:-1], "target": nodes["id"][1:].tolist()})
    notes = read_graph(nodes=nodes, edges=edges).understood.notes
    assert any("column code alone predicts 98% of the labels" in note for note in notes)
    assert any("--column code=ignore" in note for note in notes)
    assert not any("column other" in note for note in notes)
    assert any("1 of 4 classes have fewer than 5 labels (rare)" in note for note in notes)


def test_decimal_commas_of_a_data_frame_are_numbers_and_codes_are_not() -> None:
    nodes = pd.DataFrame({"id": range(30), "label": ["tea", "oil"] * 15})
    nodes["price"] = [f"{place},50" for place in range(30)]
    nodes["code"] = [f"{place:03d}" for place in range(30)]
    edges = pd.DataFrame({"source": range(29), "target": range(1, 30)})
    columns = read_graph(nodes=nodes, edges=edges).understood.columns
    assert columns == ("price: scaled (decimal comma)", "code: text (2,048 hashed words)")


def test_a_class_that_may_mean_unknown_is_pointed_out() -> None:
    nodes = pd.DataFrame({"id": range(30), "size": range(30), "label": ["tea", "oil", "TBD"] * 10})
    edges = pd.DataFrame({"source": range(29), "target": range(1, 30)})
    (note,) = read_graph(nodes=nodes, edges=edges).understood.notes
    assert note.startswith("10 labels are 'TBD'")
    assert note.endswith("add --unknown TBD")
    assert read_graph(nodes=nodes, edges=edges, unknown="TBD").understood.notes == ()


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    draws = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": range(100, 140), "size": draws.random(40)})
    nodes["label"] = np.where(nodes["size"] > 0.5, "big", "small")
    ends = draws.integers(100, 140, size=(2, 90))
    return nodes, pd.DataFrame({"source": ends[0], "target": ends[1]})


def test_data_frames_go_straight_into_a_graph(tmp_path: Path) -> None:
    nodes, edges = frames()
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    graph = Graph.from_pandas(nodes, edges)
    assert graph.fingerprint == read_graph(tmp_path).graph.fingerprint
    assert graph.num_features == 1
    data = qg.load(nodes=nodes, edges=edges)
    assert data.graph.fingerprint == graph.fingerprint
    assert data.node_ids.tolist() == list(range(100, 140))
    assert set(data.classes) == {"big", "small"}


def test_a_networkx_graph_is_loaded(tmp_path: Path) -> None:
    nodes, edges = frames()
    network = nx.from_pandas_edgelist(edges)
    for row in nodes.itertuples():
        network.add_node(row.id, size=row.size, label=row.label)
    data = qg.load(network)
    assert data.graph.num_nodes == 40
    assert data.node_ids.tolist() == list(network.nodes)
    model = qg.get_method("gcn")(epochs=2, hidden=4).fit(data)
    assert set(model.predict()) <= {"big", "small"}


@pytest.mark.parametrize("source", [frames()[0], 7, np.ones(3), None])
def test_other_things_are_one_sentence(source) -> None:
    with pytest.raises(InvalidParameterError):
        qg.load(source)


def test_several_classes_per_node_are_one_sentence(tmp_path: Path) -> None:
    nodes = pd.DataFrame({"id": [0, 1], "label": [[0, 1], [1, 1]]})
    edges = pd.DataFrame({"source": [0], "target": [1]})
    with pytest.raises(QuietgraphError, match="several classes per node are not read"):
        read_graph(nodes=nodes, edges=edges)
    np.savez(tmp_path / "g.npz", x=np.eye(2), edges=[[0], [1]], y=[[0, 1], [1, 1]])
    with pytest.raises(QuietgraphError, match="one class per node"):
        read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("shape", [(2, 1), (1, 2)])
def test_one_edge_is_enough(tmp_path: Path, shape) -> None:
    np.savez(tmp_path / "g.npz", x=np.eye(2), edge_index=np.array([0, 1]).reshape(shape))
    assert read_graph(tmp_path / "g.npz").graph.num_edges == 1


def test_large_whole_labels_are_not_merged(tmp_path: Path) -> None:
    big = 2**53
    folder(tmp_path, f"id,c,label\na,1,{big}\nb,2,{big + 1}\nc,3,{big}\nd,4,{'9' * 400}\n")
    labels = read_graph(tmp_path).labels.tolist()
    assert labels == [str(big), str(big + 1), str(big), "9" * 400]
    np.savez(tmp_path / "g.npz", x=np.eye(2), edges=[[0], [1]], y=[big, big + 1])
    assert read_graph(tmp_path / "g.npz").labels.tolist() == [big, big + 1]


def test_numbers_beyond_32_bit_floats_are_named(tmp_path: Path) -> None:
    folder(tmp_path, "id,c,label\na,1e39,x\nb,2,y\nc,3,x\nd,4,y\n")
    with pytest.raises(QuietgraphError, match=r"holds 1e\+39, which is beyond the range"):
        read_graph(tmp_path, columns={"c": "number"})
    assert np.isfinite(np.asarray(read_graph(tmp_path).graph.features)).all()
    x = np.array([[1e39], [1.0]])
    np.savez(tmp_path / "g.npz", x=x, edges=[[0], [1]])
    with pytest.raises(QuietgraphError, match="beyond the range of 32-bit floats"):
        read_graph(tmp_path / "g.npz")
    with pytest.raises(QuietgraphError, match=r"range of 32-bit floats, got 1e\+39"):
        Graph.from_arrays(x, [[0], [1]])
    with pytest.raises(QuietgraphError, match="32-bit floats"):
        Graph.from_arrays(np.eye(2), [[0], [1]], weights=[1e39])


def test_wide_tables_are_read_within_their_limit(tmp_path: Path) -> None:
    names = ",".join(f"c{place}" for place in range(12_000))
    rows = [",".join(str(value) for _ in range(12_000)) for value in (1, 2)]
    folder(tmp_path, f"id,{names}\na,{rows[0]}\nb,{rows[1]}\n", "source,target\na,b\n")
    with pytest.raises(QuietgraphError, match="asks for 12,001 columns"):
        read_graph(tmp_path)
    assert read_graph(tmp_path, limit="1GB").graph.num_features == 12_000
