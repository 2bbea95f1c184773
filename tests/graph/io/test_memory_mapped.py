"""Graphs as folders that are mapped into memory: the same graph, written in pieces."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from command_line import call, printed
from quietgraph.errors import InvalidGraphError, UnreadableFileError, UnwritablePathError
from quietgraph.graph import CSR, Graph
from quietgraph.graph.io import arrays, csv_file, edge_sort, features, read_graph, table
from quietgraph.graph.io.convert import convert_graph
from quietgraph.graph.io.edge_sort import EdgeSorter
from quietgraph.graph.io.memory_mapped import is_mapped, read_mapped

NODES = 300


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch) -> None:
    monkeypatch.setattr(table, "_ROWS", 64)
    monkeypatch.setattr(csv_file, "_BLOCK", 2048)
    monkeypatch.setattr(arrays, "_ROWS", 50)
    monkeypatch.setattr(arrays, "_LARGE", 1000)
    monkeypatch.setattr(features, "_CELLS", 600)
    monkeypatch.setattr(edge_sort, "_BUCKET", 200)


def write_tables(folder, *, weighted: bool = False, end: str = "csv", words: bool = False):
    draws = np.random.default_rng(0)
    folder.mkdir()
    names = [f"n{place}" for place in range(NODES)]
    nodes = pd.DataFrame({"id": names, "label": draws.choice(["a", "b", ""], NODES)})
    nodes["size"] = draws.random(NODES).round(4)
    nodes["colour"] = draws.choice(["red", "green", "blue"], NODES)
    if words:
        texts = [" ".join(f"w{one}" for one in draws.integers(900, size=8)) for _ in names]
        nodes["story"] = texts
    ends = draws.integers(NODES - 3, size=(2, 900))  # the last nodes are isolated
    edges = pd.DataFrame({"source": np.array(names)[ends[0]], "target": np.array(names)[ends[1]]})
    if weighted:
        edges["weight"] = draws.integers(1, 5, size=900)
    for name, content in {"nodes": nodes, "edges": edges}.items():
        if end == "csv":
            content.to_csv(folder / f"{name}.csv", index=False)
        else:
            content.replace({"label": {"": None}}).to_parquet(folder / f"{name}.parquet")
    return folder


def dense(features) -> torch.Tensor:
    return features.to_dense() if isinstance(features, CSR) else features


def check_same(mapped, read) -> None:
    torch.testing.assert_close(dense(mapped.graph.features), dense(read.graph.features))
    for name in ("row_pointer", "columns", "values"):
        mine, theirs = (getattr(one.graph.adjacency, name) for one in (mapped, read))
        assert mine.dtype == theirs.dtype
        assert torch.equal(mine, theirs)
    assert list(mapped.labels) == list(read.labels)
    assert list(mapped.node_ids) == list(read.node_ids)
    left, right = mapped.understood.to_dict(), read.understood.to_dict()
    for one in (left, right):
        one.pop("form")
        one.pop("notes")
    assert left == right


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("end", ["csv", "parquet"])
@pytest.mark.parametrize("words", [False, True])
def test_tables_in_pieces_give_the_graph_of_whole_tables(tmp_path, weighted, end, words) -> None:
    if end == "parquet":
        pytest.importorskip("pyarrow")
    source = write_tables(tmp_path / "tables", weighted=weighted, end=end, words=words)
    convert_graph(source, tmp_path / "mapped")
    mapped, read = read_mapped(tmp_path / "mapped"), read_graph(source)
    check_same(mapped, read)
    assert isinstance(mapped.graph.features, CSR) == words
    assert [str(one) for one in mapped.encoding.columns] == [
        str(one) for one in read.encoding.columns
    ]


@pytest.mark.parametrize("turned", [False, True])
def test_loose_arrays_are_written_in_pieces(tmp_path, turned: bool) -> None:
    draws = np.random.default_rng(0)
    edges = draws.integers(NODES, size=(2, 700))
    arrays = {"x": draws.random((NODES, 5)), "y": draws.integers(3, size=NODES)}
    np.savez(tmp_path / "g.npz", edge_index=edges.T if turned else edges, **arrays)
    convert_graph(tmp_path / "g.npz", tmp_path / "mapped")
    check_same(read_mapped(tmp_path / "mapped"), read_graph(tmp_path / "g.npz"))


def test_other_files_are_read_whole_and_written(tmp_path) -> None:
    draws = np.random.default_rng(0)
    words = (draws.random((NODES, 80)) < 0.05).astype(np.float32)
    graph = Graph.from_arrays(words, draws.integers(NODES, size=(2, 700)))
    mask = np.arange(NODES) < 100
    arrays = {"x": words, "edge_index": graph.edge_index.numpy(), "y": mask.astype(int)}
    np.savez(tmp_path / "g.npz", **arrays, train_mask=mask, val_mask=~mask)
    convert_graph(tmp_path / "g.npz", tmp_path / "mapped")
    mapped, read = read_mapped(tmp_path / "mapped"), read_graph(tmp_path / "g.npz")
    check_same(mapped, read)
    np.testing.assert_array_equal(mapped.validation, read.validation)


def test_a_mapped_graph_keeps_the_fingerprint_of_the_graph_in_memory(tmp_path) -> None:
    source = write_tables(tmp_path / "tables", weighted=True)
    convert_graph(source, tmp_path / "mapped")
    mapped = read_mapped(tmp_path / "mapped").graph
    fresh = Graph(mapped.features, mapped.adjacency)
    assert mapped.fingerprint == fresh.fingerprint


def test_features_are_mapped_not_loaded(tmp_path) -> None:
    source = write_tables(tmp_path / "tables")
    convert_graph(source, tmp_path / "mapped")
    features = read_mapped(tmp_path / "mapped").graph.features
    assert isinstance(features.numpy().base, np.memmap) or features.data_ptr() % 4096 != 0
    features[0] = 7.0  # a private copy: the file does not change
    assert not (read_mapped(tmp_path / "mapped").graph.features[0] == 7).any()


def test_a_sorter_of_edges_equals_the_graph(tmp_path) -> None:
    draws = np.random.default_rng(3)
    pairs, weights = draws.integers(50, size=(2, 400)), draws.random(400) + 0.1
    with EdgeSorter(tmp_path, 50, expected=400, bucket=90) as sorter:
        for start in range(0, 400, 70):
            few = slice(start, start + 70)
            sorter.add(pairs[0, few], pairs[1, few], weights[few])
        rows = list(sorter.rows())
    assert len(rows) > 3
    graph = Graph.from_arrays(np.ones((50, 1)), pairs, weights=weights)
    np.testing.assert_array_equal(
        np.concatenate([one.columns for one in rows]), graph.adjacency.columns
    )
    np.testing.assert_array_equal(
        np.concatenate([one.counts for one in rows]), graph.adjacency.row_counts
    )
    np.testing.assert_allclose(
        np.concatenate([one.weights for one in rows]), graph.adjacency.values
    )
    assert sorter.loops == (pairs[0] == pairs[1]).sum()
    assert not list(tmp_path.iterdir())


def test_a_fit_on_a_mapped_folder_is_that_on_the_tables(tmp_path) -> None:
    source = write_tables(tmp_path / "tables")
    convert_graph(source, tmp_path / "mapped")
    mapped, read = read_mapped(tmp_path / "mapped"), read_graph(source)
    scores = [
        qg.get_method("gcl-lrr")(epochs=4, warm_up=1, dim=8, hidden=8)
        .fit(one.graph, one.labels)
        .scores_
        for one in (mapped, read)
    ]
    assert torch.equal(*scores)


def test_the_command_converts_and_fit_reads_the_folder(tmp_path) -> None:
    source = write_tables(tmp_path / "tables")
    printed("convert", source, tmp_path / "mapped")
    quick = [
        "--method",
        "gcl-lr-attention",
        "--set",
        "epochs=2",
        "--set",
        "warm_up=1",
        "--partitions",
        "2",
        "--json",
    ]
    out = ["--out", str(tmp_path / "run")]
    fitted = call("fit", tmp_path / "mapped", *quick, *out)
    assert fitted.exit_code == 0, fitted.output
    facts = json.loads(fitted.stdout)
    assert facts["data"]["nodes"] == NODES
    assert facts["parameters"]["partitions"] == 2
    assert "training in 2 partitions" in fitted.stderr


def test_a_dataset_is_converted_without_its_test_labels(tmp_path) -> None:
    printed("convert", "digits", tmp_path / "digits")
    read = read_mapped(tmp_path / "digits")
    data = qg.load("digits")
    known = np.array([label is not None for label in read.labels])
    np.testing.assert_array_equal(known, data.split.labelled.numpy())
    assert read.graph.fingerprint == data.graph.fingerprint


def test_a_folder_is_written_whole_or_not_at_all(tmp_path) -> None:
    edges = np.array([[0, 1], [1, 9]])
    np.savez(tmp_path / "g.npz", x=np.ones((3, 2)), edge_index=edges, y=[0, 1, 0])
    with pytest.raises(InvalidGraphError, match="got 9"):
        convert_graph(tmp_path / "g.npz", tmp_path / "mapped")
    assert {path.name for path in tmp_path.iterdir()} == {"g.npz"}


def test_other_files_in_the_target_stay(tmp_path) -> None:
    source = write_tables(tmp_path / "tables")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("precious")
    with pytest.raises(UnwritablePathError, match="other files"):
        convert_graph(source, tmp_path / "mine")
    convert_graph(source, tmp_path / "mapped")
    convert_graph(source, tmp_path / "mapped")  # an old one is replaced
    assert is_mapped(tmp_path / "mapped")


def change(folder, name: str, place: int, value: float) -> None:
    array = np.load(folder / f"{name}.npy")
    array.reshape(-1)[place] = value
    np.save(folder / f"{name}.npy", array)


def forge(folder, name: str, place: int, value: float) -> None:
    """Change an array, and the fingerprint with it."""
    graph = read_mapped(folder).graph
    change(folder, name, place, value)
    features = np.load(folder / "features.npy")
    columns = torch.from_numpy(np.load(folder / "columns.npy"))
    adjacency = replace(graph.adjacency, columns=columns)
    meta = json.loads((folder / "meta.json").read_text())
    meta["fingerprint"] = Graph(torch.from_numpy(features), adjacency).fingerprint
    (folder / "meta.json").write_text(json.dumps(meta))


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        (lambda folder: (folder / "columns.npy").unlink(), "columns.npy is missing"),
        (lambda folder: (folder / "features.npy").write_bytes(b"x"), "no readable array"),
        (lambda folder: (folder / "meta.json").unlink(), "does not describe"),
        (lambda folder: (folder / "meta.json").write_text("{}"), "does not describe"),
        (lambda folder: (folder / "meta.json").write_text("[" * 10**5), "does not describe"),
        (lambda folder: (folder / "meta.json").write_text('{"version": 9}'), "version 9"),
        (lambda folder: np.save(folder / "columns.npy", np.zeros(3)), "holds float64"),
        (lambda folder: np.save(folder / "columns.npy", np.zeros(3, np.int32)), "row pointer"),
        (lambda folder: np.save(folder / "features.npy", np.zeros((2, 2))), "holds float64"),
        (lambda folder: np.save(folder / "features.npy", np.zeros((2, 2), "f4")), "not hold"),
        (lambda folder: change(folder, "row_pointer", 5, 2**30), "row pointer"),
        (lambda folder: change(folder, "columns", 5, 2**30), "points outside"),
        (lambda folder: change(folder, "columns", 5, -1), "points outside"),
        (lambda folder: change(folder, "labels", 5, 9), "codes of no class"),
        (lambda folder: change(folder, "features", 5, np.nan), "have changed since"),
        (lambda folder: forge(folder, "features", 5, np.nan), "not in order"),
        (lambda folder: forge(folder, "columns", 5, 7), "not undirected|not in order"),
    ],
)
def test_a_harmed_folder_is_one_sentence(tmp_path, harm, sentence: str) -> None:
    convert_graph(write_tables(tmp_path / "tables"), tmp_path / "mapped")
    harm(tmp_path / "mapped")
    assert is_mapped(tmp_path / "mapped")
    with pytest.raises(UnreadableFileError, match=sentence):
        read_mapped(tmp_path / "mapped")


@pytest.mark.parametrize(
    ("table", "change", "sentence"),
    [
        ("edges", lambda text: text + "n1,nobody\n", "no id of a node"),
        ("nodes", lambda text: text + "n1,a,0.1,red\n", "more than one node"),
        ("nodes", lambda text: text + "n999,a,heavy,red\n", "mixes numbers with text"),
        ("nodes", lambda text: "", "nodes.csv is empty"),
    ],
)
def test_a_mistake_in_a_late_row_is_one_sentence(tmp_path, table, change, sentence) -> None:
    source = write_tables(tmp_path / "tables")
    path = source / f"{table}.csv"
    path.write_text(change(path.read_text()))
    with pytest.raises(UnreadableFileError, match=sentence):
        convert_graph(source, tmp_path / "mapped")
    assert not (tmp_path / "mapped").exists()
