"""Graph files: arrays, PyG and network formats, each with its mistakes."""

import pickle
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch

from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph
from quietgraph.graph.io import read_graph
from quietgraph.testing import small_problem

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
EDGES = np.array([[0, 1], [1, 2]])
GRAPH = Graph.from_arrays(X, EDGES)


def test_loose_arrays_of_an_npz(tmp_path: Path) -> None:
    names = np.array(["p", "q", "r"])
    np.savez(tmp_path / "g.npz", x=X, edge_index=EDGES, y=[1, -1, 0], node_ids=names, extra=X)
    read = read_graph(tmp_path / "g.npz")
    assert read.graph.fingerprint == GRAPH.fingerprint
    assert read.labels.tolist() == [1, None, 0]
    assert read.node_ids.tolist() == ["p", "q", "r"]
    assert read.understood.notes[0] == "arrays not used: extra"


def test_pairs_in_rows_and_texts_as_labels(tmp_path: Path) -> None:
    classes = np.array(["a", "b", ""])
    pairs = np.array([[0, 1], [1, 2], [2, 0]])
    np.savez(tmp_path / "g.npz", node_features=X, edges=pairs, node_labels=classes)
    read = read_graph(tmp_path / "g.npz")
    assert read.graph.num_edges == 3
    assert read.labels.tolist() == ["a", "b", None]


def test_the_layout_of_amazon_and_coauthor(tmp_path: Path) -> None:
    parts = {}
    for start, matrix in (("adj", GRAPH.adjacency.to_scipy()), ("attr", X)):
        csr = scipy.sparse.csr_matrix(matrix)
        for part in ("data", "indices", "indptr", "shape"):
            parts[f"{start}_{part}"] = getattr(csr, part)
    objects = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "g.npz", **parts, labels=[0, 1, 1], class_names=objects)
    read = read_graph(tmp_path / "g.npz")
    assert read.graph.fingerprint == GRAPH.fingerprint
    assert read.understood.notes[0] == "arrays of Python objects not read: class_names"


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_a_scipy_matrix_alone_gets_structural_features(tmp_path: Path, layout: str) -> None:
    scipy.sparse.save_npz(tmp_path / "g.npz", GRAPH.adjacency.to_scipy().asformat(layout))
    read = read_graph(tmp_path / "g.npz")
    assert torch.equal(read.graph.edge_index, GRAPH.edge_index)
    assert read.understood.columns[0].startswith("none given, so the structure")
    assert read.understood.label_column is None


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"x": X}, "holds no edges"),
        ({"x": X, "edges": EDGES + 0.5}, "edges must be pairs of whole numbers"),
        ({"x": X, "edges": EDGES + 5}, "edge ids must lie in 0 ... 2"),
        ({"x": X, "edges": EDGES, "y": [0, 1]}, "must agree on the nodes, got features 3"),
        ({"x": X, "edges": EDGES, "y": np.eye(3)}, "labels must have one entry for each"),
        ({"x": X, "edges": EDGES, "ids": [1, 1, 2]}, "gives the id '1' to more than one"),
        ({"x": X * np.nan, "edges": EDGES}, "features must be finite"),
        (
            {"adj_data": [1.0], "adj_indices": [9], "adj_indptr": [0, 1, 1], "adj_shape": [2, 2]},
            "is no readable sparse matrix",
        ),
        *(
            (
                {
                    "adj_data": np.ones(1),
                    "adj_indices": np.zeros(1, dtype=np.int32),
                    "adj_indptr": np.array(pointer, dtype=np.int32),
                    "adj_shape": [len(pointer) - 1] * 2,
                },
                "pointer does not rise",  # SciPy's check passes over both
            )
            for pointer in (
                [0, 4000, 0, 0],
                [0, 2**30, 2**31 - 1, -(2**31), -(2**30), 0, 1],
            )
        ),
        (
            {"adj_data": [1.0], "adj_indices": [1j], "adj_indptr": [0, 1, 1], "adj_shape": [2, 2]},
            "adj_indices must be whole numbers",
        ),
    ],
)
def test_bad_arrays_get_their_sentence(tmp_path: Path, arrays, sentence: str) -> None:
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(QuietgraphError, match=sentence):
        read_graph(tmp_path / "g.npz")


@pytest.mark.parametrize("content", [b"", b"PK no zip", pickle.dumps({"x": 1})])
def test_what_is_no_npz_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "g.npz").write_bytes(content)
    with pytest.raises(QuietgraphError, match=r"is no readable \.npz file"):
        read_graph(tmp_path / "g.npz")


def test_named_columns_are_not_in_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=X, edges=EDGES)
    with pytest.raises(QuietgraphError, match="has no named columns"):
        read_graph(tmp_path / "g.npz", columns={"x": "label"})


def pyg_data():
    problem, _, validation = small_problem()
    data = problem.graph.to_pyg()
    data.y = torch.from_numpy(problem.classes)[:, None]
    data.train_mask = torch.arange(120) < 30
    data.val_mask = torch.from_numpy(validation)
    return problem, data


def test_a_pyg_file_shows_only_labels_inside_its_masks(tmp_path: Path) -> None:
    problem, data = pyg_data()
    torch.save(data, tmp_path / "g.pt")
    read = read_graph(tmp_path / "g.pt")
    assert read.graph.fingerprint == problem.graph.fingerprint
    assert read.labels.tolist() == [*problem.classes[:60].tolist(), *[None] * 60]
    assert read.validation.tolist() == data.val_mask.tolist()


def test_reading_a_pyg_file_takes_nothing_away_from_pyg(tmp_path: Path) -> None:
    small_problem()[0].graph.to_pyg()  # imports PyG, which allows its classes to be loaded
    before = set(torch.serialization.get_safe_globals())
    torch.save({"x": torch.tensor(X), "edge_index": torch.tensor(EDGES)}, tmp_path / "g.pt")
    read_graph(tmp_path / "g.pt")
    assert set(torch.serialization.get_safe_globals()) >= before


def test_a_pyg_file_may_be_a_dict_or_a_dataset(tmp_path: Path) -> None:
    problem, data = pyg_data()
    parts = data.to_dict()
    parts["edge_attr"] = parts.pop("edge_weight", torch.ones(data.edge_index.shape[1], 1))
    for number, stored in enumerate((parts, (parts, None, type(data)))):
        torch.save(stored, tmp_path / f"{number}.pt")
        assert read_graph(tmp_path / f"{number}.pt").graph.fingerprint == problem.graph.fingerprint


class Attack:
    def __reduce__(self):
        return Path.touch, (Path("ran"),)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"x": Attack()}, tmp_path / "g.pt")
    with pytest.raises(QuietgraphError, match="loading it could run code"):
        read_graph(tmp_path / "g.pt")
    assert not Path("ran").exists()


@pytest.mark.parametrize("stored", [torch.ones(3), {"a": torch.ones(2)}, [], "text"])
def test_other_pt_files_say_what_is_missing(tmp_path: Path, stored) -> None:
    torch.save(stored, tmp_path / "g.pt")
    with pytest.raises(QuietgraphError, match=r"must hold a PyG Data|holds no edges"):
        read_graph(tmp_path / "g.pt")


def test_a_cut_pt_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.pt").write_bytes(b"nothing")
    with pytest.raises(QuietgraphError, match=r"could run code|is no readable .pt file"):
        read_graph(tmp_path / "g.pt")


def network() -> nx.DiGraph:
    source = nx.DiGraph()
    for name, age, group in (("a", 1.5, "x"), ("b", 2.0, "y"), ("c", 0.5, "x")):
        source.add_node(name, age=age, group=group)
    source.add_edge("a", "b", weight=2.0)
    source.add_edge("b", "c", weight=1.0)
    return source


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_network_files_keep_attributes_ids_and_weights(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"g.{ending}"
    getattr(nx, f"write_{ending}")(network(), path)
    read = read_graph(path, columns={"group": "label", "age": "number"})
    assert read.node_ids.tolist() == ["a", "b", "c"]
    assert read.labels.tolist() == ["x", "y", "x"]
    assert read.graph.features.reshape(-1).tolist() == [1.5, 2.0, 0.5]
    expected = Graph.from_networkx(network(), "age", weight="weight")
    assert read.graph.fingerprint == expected.fingerprint


def test_gml_labels_that_repeat_are_classes(tmp_path: Path) -> None:
    nodes = " ".join(f'node [ id {i} label "{label}" size {i} ]' for i, label in enumerate("xyx"))
    (tmp_path / "g.gml").write_text(f"graph [ {nodes} edge [ source 0 target 2 ] ]")
    assert read_graph(tmp_path / "g.gml").labels.tolist() == ["x", "y", "x"]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("g.graphml", "<graphml>", "is no readable .graphml file"),
        ("g.graphml", "", "is no readable .graphml file"),
        ("g.gml", "graph [ node", "is no readable .gml file"),
        ("g.gml", "graph [ ]", "holds no nodes"),
        ("g.gml", "graph [ node [ id 0 ] node [ id 1 ] ]", "neither features nor edges"),
    ],
)
def test_bad_network_files_get_their_sentence(tmp_path: Path, name, content, sentence) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(QuietgraphError, match=sentence):
        read_graph(tmp_path / name)


def test_attributes_of_mixed_types_and_half_given_weights_are_refused(tmp_path: Path) -> None:
    source = network()
    source.nodes["a"]["age"] = "old"
    nx.write_gml(source, tmp_path / "g.gml")
    with pytest.raises(QuietgraphError, match="only numbers or only texts, got float, str"):
        read_graph(tmp_path / "g.gml")
    source = network()
    del source.edges["a", "b"]["weight"]
    nx.write_gml(source, tmp_path / "g.gml")
    with pytest.raises(QuietgraphError, match="positive number on every edge"):
        read_graph(tmp_path / "g.gml")


def test_an_overlong_line_of_gml_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "g.gml").open("wb") as file:
        file.truncate(2**30)
    with pytest.raises(QuietgraphError, match="a piece of text longer than"):
        read_graph(tmp_path / "g.gml")
