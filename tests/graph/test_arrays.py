"""Files of arrays: their layouts, their mistakes, and no code that they may carry."""

import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from quietgraph.errors import QuietgraphError
from quietgraph.graph import Graph
from quietgraph.graph.io.arrays import Arrays, read_arrays

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
EDGES = np.array([[0, 1], [1, 2]])
GRAPH = Graph.from_arrays(X, EDGES)


def graph_of(found: Arrays) -> Graph:
    return Graph.from_arrays(found.features, found.edges, weights=found.weights)


def test_loose_arrays_of_an_npz(tmp_path: Path) -> None:
    names, objects = np.array([b"p", b"q", b"r"]), np.array([{}, None], dtype=object)
    path = tmp_path / "g.npz"
    np.savez(
        path, x=X, edge_index=EDGES.T[:, :, None][:, :, 0].T, y=[[1], [-1], [0]], node_ids=names, more=X, code=objects
    )
    found = read_arrays(path)
    assert graph_of(found).fingerprint == GRAPH.fingerprint
    assert found.labels.tolist() == [1, -1, 0]
    assert found.ids.tolist() == ["p", "q", "r"]
    assert found.notes == ("arrays of Python objects not read: code", "arrays not used: more")


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_a_scipy_matrix_gives_edges(tmp_path: Path, layout: str) -> None:
    scipy.sparse.save_npz(tmp_path / "g.npz", GRAPH.adjacency.to_scipy().asformat(layout))
    found = read_arrays(tmp_path / "g.npz")
    assert found.features is None
    assert torch.equal(Graph.from_arrays(X, found.edges).edge_index, GRAPH.edge_index)


def test_the_layout_of_amazon_and_coauthor(tmp_path: Path) -> None:
    matrices = {"adj": GRAPH.adjacency.to_scipy(), "attr": scipy.sparse.csr_matrix(X)}
    parts = {f"{a}_{b}": getattr(m, b) for a, m in matrices.items() for b in ("data", "indices", "indptr", "shape")}
    np.savez(tmp_path / "g.npz", **parts, labels=[0, 1, 1])
    found = read_arrays(tmp_path / "g.npz")
    assert graph_of(found).fingerprint == GRAPH.fingerprint
    assert found.labels.tolist() == [0, 1, 1]


def test_a_pyg_file_shows_only_labels_inside_its_masks(tmp_path: Path, problem) -> None:
    data = problem.graph.to_pyg()
    data.y = problem.codes[:, None]
    data.train_mask, data.val_mask = problem.split.train, problem.split.validation
    stored = {"data": data, "dict": data.to_dict(), "dataset": (data.to_dict(), None, type(data))}
    for name, one in stored.items():
        torch.save(one, tmp_path / f"{name}.pt")
        found = read_arrays(tmp_path / f"{name}.pt")
        assert graph_of(found).fingerprint == problem.graph.fingerprint
        shown = problem.split.labelled.numpy()
        assert (found.labels[shown] == problem.codes.numpy()[shown]).all()
        assert all(label is None for label in found.labels[~shown])
        assert found.validation.tolist() == data.val_mask.tolist()


@pytest.mark.parametrize(
    "x", [torch.ones(3, 2, dtype=torch.bfloat16), torch.ones(3, 2).requires_grad_(), torch.ones(3, 2).to_sparse()]
)
def test_tensors_of_any_kind_are_read(tmp_path: Path, x: torch.Tensor) -> None:
    torch.save({"x": x, "edge_index": torch.tensor(EDGES), "edge_attr": torch.ones(2, 1)}, tmp_path / "g.pt")
    found = read_arrays(tmp_path / "g.pt")
    assert np.asarray(graph_of(found).features).tolist() == [[1.0, 1.0]] * 3
    assert found.weights.tolist() == [1, 1]


class Attack:
    def __reduce__(self):
        return Path.touch, (Path("ran"),)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = {*torch.serialization.get_safe_globals()}
    torch.save({"x": Attack()}, tmp_path / "g.pt")
    np.savez(tmp_path / "g.npz", x=np.array([Attack()], dtype=object), edge_index=EDGES)
    with pytest.raises(QuietgraphError, match="loading it could run code"):
        read_arrays(tmp_path / "g.pt")
    assert read_arrays(tmp_path / "g.npz").features is None
    assert not Path("ran").exists()
    assert {*torch.serialization.get_safe_globals()} >= before


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"x": X}, r"holds no edges.*only nothing"),
        ({"x": X, "edges": EDGES + 0.5}, "pairs of whole numbers"),
        ({"x": X, "edges": EDGES, "y": [0, 1]}, "labels must have one entry for each of 3 nodes"),
        ({"x": X, "edges": EDGES, "y": np.eye(3)}, "Choose one split, one class per node"),
        (
            {"adj_data": [1.0], "adj_indices": [9], "adj_indptr": [0, 1, 1], "adj_shape": [2, 2]},
            "no readable .npz file",
        ),
        ({"adj_data": [1.0], "adj_indices": [0], "adj_indptr": [0, 4000, 0, 0], "adj_shape": [3, 3]}, "no readable"),
    ],
)
def test_bad_arrays_get_their_sentence(tmp_path: Path, arrays: dict, sentence: str) -> None:
    np.savez(tmp_path / "g.npz", **arrays)
    with pytest.raises(QuietgraphError, match=sentence):
        read_arrays(tmp_path / "g.npz")


@pytest.mark.parametrize("name", ["g.npz", "g.pt"])
@pytest.mark.parametrize("content", [b"", b"PK no zip", pickle.dumps({"x": 1})])
def test_what_is_no_such_file_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(QuietgraphError, match=r"is no readable|must hold a PyG|holds no edges"):
        read_arrays(tmp_path / name)
