"""Folders of mapped arrays: the same data, whole or refused."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.data.load import load_like
from quietgraph.data.mapped import convert, is_mapped, open_folder, save
from quietgraph.errors import InvalidGraphError, InvalidParameterError, QuietgraphError, UnwritablePathError


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    draws = np.random.default_rng(0)
    nodes = pd.DataFrame(
        {"id": [f"n{n}" for n in range(60)], "size": draws.random(60), "y": draws.choice(["x", "y"], 60)}
    )
    edges = pd.DataFrame(draws.integers(0, 60, (150, 2)), columns=["source", "target"]).map("n{}".format)
    return {"nodes": nodes, "edges": edges.assign(weight=draws.random(150) + 0.1)}


def test_benchmarks_keep_their_split(problem, tmp_path: Path) -> None:
    save(problem, tmp_path / "m")
    found = open_folder(tmp_path / "m")
    assert is_mapped(tmp_path / "m")
    assert found.graph.fingerprint == problem.graph.fingerprint
    assert found.ids.tolist() == list(range(40))
    for name in ("train", "validation", "test"):
        assert torch.equal(getattr(found.split, name), getattr(problem.split, name))


def test_ids_keep_their_form(tables, tmp_path: Path) -> None:
    """Float ids became 7.0, so decisions on 7 were lost."""
    nodes = tables["nodes"].assign(id=np.arange(60.0))
    edges = pd.DataFrame({"source": [0, 7], "target": [1, 8]})
    convert(None, tmp_path / "m", nodes=nodes, edges=edges)
    assert qg.load(tmp_path / "m").ids[7] == qg.load(nodes=nodes, edges=edges).ids[7] == 7


def test_a_converted_graph_is_predicted_only_with_the_columns_of_the_fit(tables, tmp_path: Path) -> None:
    convert(None, tmp_path / "m", **tables)
    data = qg.load(tmp_path / "m")
    assert load_like(data.source, data, {}) is data.graph
    grown = {**tables, "nodes": tables["nodes"].assign(size=tables["nodes"]["size"] * 2)}
    convert(None, tmp_path / "grown", **grown)
    with pytest.raises(InvalidGraphError, match="give the tables instead of a converted folder"):
        load_like(data.source, tmp_path / "grown", {})
    with pytest.raises(InvalidParameterError, match="is converted already, so --column does not apply"):
        qg.load(tmp_path / "m", columns={"size": "ignore"})


def test_a_graph_without_labels_is_converted_but_not_fitted(tables, tmp_path: Path) -> None:
    told = convert(None, tmp_path / "m", nodes=tables["nodes"].drop(columns="y"), edges=tables["edges"])
    assert told[0].startswith("graph: 60 nodes")
    with pytest.raises(QuietgraphError, match="has no labels"):
        qg.load(tmp_path / "m")


def test_only_such_a_folder_is_replaced_and_nothing_else_in_it(tables, tmp_path: Path) -> None:
    convert(None, tmp_path / "m", **tables)
    convert(None, tmp_path / "m", **tables)
    (tmp_path / "m" / "notes.txt").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.txt").write_text("mine")
    for folder in ("m", "other", "other/x.txt"):
        with pytest.raises(
            UnwritablePathError, match=r"holds other files \(notes.txt\)|holds other files|cannot be written"
        ):
            convert(None, tmp_path / folder, **tables)
    assert (tmp_path / "m" / "notes.txt").read_text() == (tmp_path / "other" / "x.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m", "other"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meta.json", b"{}"),
        ("meta.json", b"\xff"),
        ("columns.npy", b""),
        ("columns.npy", np.array([99], dtype=np.int32)),
        ("columns.npy", np.full(286, 99, dtype=np.int32)),
        ("row_pointer.npy", np.arange(61, dtype=np.int32)[::-1].copy()),
        ("codes.npy", np.full(60, 7)),
        ("ids.npy", np.array([{}], dtype=object)),
        ("features.npy", None),
    ],
)
def test_a_damaged_folder_is_one_sentence(tables, tmp_path: Path, name: str, content) -> None:
    convert(None, tmp_path / "m", **tables)
    path = tmp_path / "m" / name
    path.unlink()
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, content)
    with pytest.raises(QuietgraphError, match=r"is missing a part or damaged: .* Convert the graph again\."):
        qg.load(tmp_path / "m")
