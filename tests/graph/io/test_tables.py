"""Folders of tables: what is understood, and a sentence for every mistake."""

import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from quietgraph.errors import InvalidLabelsError, QuietgraphError
from quietgraph.graph.io import read_encoding, read_graph

NODES = """id,age,country,label
a,1.5,de,cat
b,2,fr,dog
c,,de,
d,-4,fr,cat
"""
EDGES = """source,target
a,b
b,a
a,b
c,c
a,d
"""


def folder(path: Path, nodes: str = NODES, edges: str = EDGES) -> Path:
    (path / "nodes.csv").write_text(nodes, encoding="utf-8")
    (path / "edges.csv").write_text(edges, encoding="utf-8")
    return path


def test_csv_tables_become_a_graph_with_ids_and_labels(tmp_path: Path) -> None:
    read = read_graph(folder(tmp_path), columns={"age": "number"})
    assert read.node_ids.tolist() == ["a", "b", "c", "d"]
    assert read.labels.tolist() == ["cat", "dog", None, "cat"]
    np.testing.assert_allclose(
        read.graph.features, [[1.5, 1, 0], [2, 0, 1], [-1 / 6, 1, 0], [-4, 0, 1]], rtol=1e-6
    )
    assert read.graph.edge_index.T.tolist() == [[0, 1], [0, 3], [1, 0], [3, 0]]


def test_it_tells_what_it_understood(tmp_path: Path) -> None:
    read = read_graph(folder(tmp_path))
    facts = read.understood
    assert (facts.nodes, facts.edges, facts.features) == (4, 2, 3)
    assert (facts.labelled, facts.classes) == (3, {"cat": 2, "dog": 1})
    assert (facts.self_loops, facts.duplicates, facts.opposite) == (1, 1, 1)
    assert facts.isolated == 1
    assert facts.homophily == 0.5
    told = " ".join(facts.sentences())
    for words in ("3 of 4 nodes (75.0 %)", "age: scaled", "country: category (2 values)"):
        assert words in told
    assert "1 empty cells count as its mean" in told


def test_ids_labels_and_names_may_be_anything(tmp_path: Path) -> None:
    nodes = "x;zip;species\n 007 ;1;01\n7;2;02\nnode;3;01\n"
    read = read_graph(
        folder(tmp_path, nodes, "from\tto\tkind\tWeight\n007\tnode\tk\t2.5\n"),
        columns={"species": "label", "zip": "category"},
    )
    assert read.node_ids.tolist() == ["007", "7", "node"]
    assert read.labels.tolist() == ["01", "02", "01"]
    assert read.graph.adjacency.values.tolist() == [2.5, 2.5]
    assert read.graph.num_features == 3
    assert "columns of edges.csv not used: kind" in read.understood.notes


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (("1", "2", "1", ""), [1, 2, 1, None]),
        (("1.0", "0.0", "-1", "NA"), [1, 0, None, None]),
        (("1", "two", "1", "nan"), ["1", "two", "1", None]),
    ],
)
def test_labels_are_whole_numbers_or_texts(tmp_path: Path, cells, labels) -> None:
    rows = "\n".join(f"{place},{cell}" for place, cell in enumerate(cells))
    assert read_graph(folder(tmp_path, f"id,y\n{rows}\n", "a,b\n0,1\n")).labels.tolist() == labels


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
    (tmp_path / "csv").mkdir()
    written = read_graph(folder(tmp_path / "csv"))
    nodes = pd.read_csv(tmp_path / "csv" / "nodes.csv")
    nodes.to_parquet(tmp_path / "nodes.parquet")
    pd.read_csv(tmp_path / "csv" / "edges.csv").to_parquet(tmp_path / "edges.parquet")
    read = read_graph(tmp_path)
    assert read.graph.fingerprint == written.graph.fingerprint
    assert read.labels.tolist() == written.labels.tolist()


def test_texts_of_a_typed_file_stay_texts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
    nodes = pd.DataFrame({"id": [5, 6, 7, 8], "zip": ["1", "2", "1", "2"], "y": [1.0, 0, None, 1]})
    nodes.to_parquet(tmp_path / "nodes.parquet")
    (tmp_path / "edges.csv").write_text("source,target\n5,6\n")
    read = read_graph(tmp_path)
    assert read.understood.columns == ("zip: category (2 values)",)
    assert read.labels.tolist() == [1, 0, None, 1]
    assert read.node_ids.tolist() == [5, 6, 7, 8]


@pytest.mark.parametrize(
    ("nodes", "edges", "sentence"),
    [
        ("", EDGES, "nodes.csv is empty"),
        ("id,label\n", EDGES, "nodes.csv has no rows"),
        (NODES, "", "edges.csv is empty"),
        (NODES, "source\na\n", "must have two columns, source and target"),
        (NODES + "a,1,de,cat\n", EDGES, "gives the id 'a' to more than one node"),
        (NODES + ",1,de,cat\n", EDGES, "must give every node an id, 1 have none"),
        (NODES, EDGES + "a,zz\n", "edges.csv line 7 names the target 'zz', which is no id"),
        (NODES, EDGES + "a,\n", "line 7 names the target '', which is no id"),
        (NODES, "source,target,weight\na,b,heavy\n", "line 2 has the weight 'heavy'"),
        (NODES, "source,target,weight\na,b,-1\n", "line 2 has the weight '-1'"),
        (NODES.replace("-4", "four"), EDGES, "'age' mixes numbers with text: 1 cells"),
        (NODES.replace("-4", "inf"), EDGES, "'age' holds infinite numbers"),
        (NODES + "e,1,de\n", EDGES, "line 6 has 3 cells, but its header names 4 columns"),
        (NODES + 'e,"1,de,cat\n', EDGES, "line 6 is not valid CSV"),
        (NODES.replace("age", "id"), EDGES, "names the column 'id' twice"),
    ],
)
def test_every_mistake_has_its_sentence(tmp_path: Path, nodes, edges, sentence: str) -> None:
    with pytest.raises(QuietgraphError) as caught:
        read_graph(folder(tmp_path, nodes, edges))
    assert sentence in str(caught.value)
    assert str(caught.value).count("\n") == 0


def test_fractions_are_no_classes(tmp_path: Path) -> None:
    nodes = NODES.replace("cat", "0.5").replace("dog", "1")
    with pytest.raises(InvalidLabelsError, match=r"there are fractions \(0.5\)"):
        read_graph(folder(tmp_path, nodes))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_another_encoding_is_named(tmp_path: Path, encoding: str) -> None:
    folder(tmp_path)
    (tmp_path / "nodes.csv").write_bytes(NODES.replace("cat", "Kätzchen").encode(encoding))
    with pytest.raises(QuietgraphError, match="is not UTF-8 text"):
        read_graph(tmp_path)


def test_a_line_of_a_gigabyte_is_refused_in_little_memory(tmp_path: Path) -> None:
    folder(tmp_path)
    with (tmp_path / "nodes.csv").open("wb") as file:
        file.write(b"id,label\n")
        file.truncate(2**30)  # a hole: it takes no room on disk
    tracemalloc.start()
    with pytest.raises(QuietgraphError, match="line 2 is longer than"):
        read_graph(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6


def test_a_quote_that_is_never_closed_does_not_swallow_the_file(tmp_path: Path) -> None:
    folder(tmp_path, 'id,label\n"a,cat\n' + "b,dog\n" * 50_000)
    with pytest.raises(QuietgraphError, match="is not valid CSV: field larger than"):
        read_graph(tmp_path)


def test_missing_or_doubled_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(QuietgraphError, match=r"holds no nodes.csv or nodes.parquet"):
        read_graph(tmp_path)
    folder(tmp_path)
    (tmp_path / "nodes.parquet").write_bytes(b"PAR1")
    with pytest.raises(QuietgraphError, match="not both"):
        read_graph(tmp_path)
    (tmp_path / "nodes.csv").unlink()
    with pytest.raises(QuietgraphError, match="is no readable Parquet file"):
        read_graph(tmp_path)
    with pytest.raises(QuietgraphError, match="there is no file or folder"):
        read_graph(tmp_path / "nowhere")
    (tmp_path / "graph.xlsx").write_bytes(b"PK")
    with pytest.raises(QuietgraphError, match=r"must be a folder with nodes\.csv"):
        read_graph(tmp_path / "graph.xlsx")


def test_unknown_columns_and_kinds_offer_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(QuietgraphError, match="Did you mean 'age'"):
        read_graph(folder(tmp_path), columns={"agee": "number"})
    with pytest.raises(QuietgraphError, match="Did you mean 'number'"):
        read_graph(folder(tmp_path), columns={"age": "numbr"})
    with pytest.raises(QuietgraphError, match="only one column can be the label"):
        read_graph(folder(tmp_path), columns={"age": "label", "country": "label"})


def test_a_grown_graph_is_read_as_the_first_one_was(tmp_path: Path) -> None:
    nodes = NODES.replace("country", "text").replace(",de,", ",red old car,")
    first = read_graph(folder(tmp_path, nodes), columns={"text": "text", "age": "scaled"})
    (tmp_path / "encoding.json").write_text(first.encoding.to_json())
    grown = folder(tmp_path, nodes + "e,100,a new car,\n", EDGES + "e,a\n")
    read = read_graph(grown, encoding=read_encoding(tmp_path))
    np.testing.assert_array_equal(
        read.graph.features.to_dense()[:4], first.graph.features.to_dense()
    )
    assert read.graph.num_nodes == 5
    assert read.labels.tolist() == [None] * 5


def test_new_categories_count_as_none_and_lost_columns_are_named(tmp_path: Path) -> None:
    first = read_graph(folder(tmp_path), columns={"age": "number"})
    read = read_graph(folder(tmp_path, NODES.replace("fr", "es")), encoding=first.encoding)
    assert read.graph.features[1].tolist() == [2, 0, 0]
    assert "column country: 2 cells hold values not seen in fit" in " ".join(read.understood.notes)
    with pytest.raises(QuietgraphError, match="must have the column 'age'"):
        read_graph(folder(tmp_path, NODES.replace("age", "years")), encoding=first.encoding)
    with pytest.raises(QuietgraphError, match="has no column 'id'"):
        read_graph(folder(tmp_path, NODES.replace("id,", "key,")), encoding=first.encoding)


def test_a_broken_encoding_is_named(tmp_path: Path) -> None:
    (tmp_path / "encoding.json").write_text("{}")
    with pytest.raises(QuietgraphError, match="does not say how columns become features"):
        read_encoding(tmp_path)
