"""Every mistake in every format from the command line: one sentence, and nothing is written."""

import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from quietgraph.cli.app import main

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
EDGES = np.array([[0, 1], [1, 2]])
ARRAYS = {"x": X, "edge_index": EDGES, "y": np.array([0, 1, 0])}
NODES = {"id": ["a", "b", "c"], "age": [1.0, 2.0, 3.0], "label": ["x", "y", "x"]}
LINKS = {"source": ["a", "b"], "target": ["b", "c"]}
KEY = '<key id="d0" for="node" attr.name="age" attr.type="double"/>'
Writer = Callable[[Path], None]


def parquet(nodes: Any = NODES, edges: Any = LINKS) -> Writer:
    def write(folder: Path) -> None:
        pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
        for name, content in (("nodes", nodes), ("edges", edges)):
            if isinstance(content, bytes):
                (folder / f"{name}.parquet").write_bytes(content)
            else:
                pd.DataFrame(content).to_parquet(folder / f"{name}.parquet")

    return write


def csv(nodes: bytes, edges: bytes = b"source,target\na,b\n") -> Writer:
    def write(folder: Path) -> None:
        (folder / "nodes.csv").write_bytes(nodes)
        (folder / "edges.csv").write_bytes(edges)

    return write


def npz(**arrays: Any) -> Writer:
    return lambda folder: np.savez(folder / "g.npz", **arrays)


def pt(**arrays: Any) -> Writer:
    tensors = {name: torch.as_tensor(value) for name, value in arrays.items()}
    return lambda folder: torch.save(tensors, folder / "g.pt")


def content(name: str, data: bytes, *, size: int = 0) -> Writer:
    def write(folder: Path) -> None:
        with (folder / name).open("wb") as file:
            file.write(data)
            if size:
                file.truncate(size)  # a hole: it takes no room on disk

    return write


def graphml(body: str, encoding: str = "utf-8") -> Writer:
    start = '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org'
    start += f'/xmlns">{KEY}<graph edgedefault="directed">'
    return content("g.graphml", f"{start}{body}</graph></graphml>".encode(encoding))


def node(name: str, age: str = "1") -> str:
    return f'<node id="{name}"><data key="d0">{age}</data></node>'


def gml(body: str, encoding: str = "utf-8") -> Writer:
    return content("g.gml", f"graph [ {body} ]".encode(encoding))


def claims_too_much(folder: Path) -> None:
    """Write an array whose header promises 7 terabytes."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117)
    magic = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1)
    with zipfile.ZipFile(folder / "g.npz", "w") as file:
        file.writestr("x.npy", magic + head + b"\n")


SMALL = 'node [ id 0 label "a" size 1 ] node [ id 1 label "b" size 2 ]'
MISTAKES: dict[str, tuple[Writer, str]] = {
    "csv missing column": (csv(b"id,age\na,1\nb,2\n"), "has no labels"),
    "csv duplicate id": (csv(b"id,label\na,x\na,y\nb,y\n"), "gives the id 'a' to more than one"),
    "csv unknown id": (csv(b"id,label\na,x\nc,y\n"), "names the target 'b', which is no id"),
    "csv mixed types": (csv(b"id,age,label\na,1,x\nb,old,y\nc,2,x\n"), "'age' mixes numbers with"),
    "csv empty file": (csv(b""), "nodes.csv is empty"),
    "csv wrong encoding": (csv("id,label\nä,x\n".encode("latin-1")), "is not UTF-8 text"),
    "parquet missing column": (parquet(edges={"source": ["a"]}), "must have two columns"),
    "parquet no columns": (parquet(edges={}), "must have two columns"),
    "parquet duplicate id": (parquet(NODES | {"id": ["a", "a", "b"]}), "the id 'a' to more than"),
    "parquet unknown id": (parquet(edges={"source": ["a"], "target": ["z"]}), "row 1 names the"),
    "parquet mixed types": (parquet(NODES | {"age": [["a"], ["b"], ["c"]]}), "vectors of numbers"),
    "parquet empty file": (parquet(b""), "is no readable Parquet file"),
    "parquet wrong encoding": (parquet(NODES | {"label": [b"\xe4", b"x", b"y"]}), "not UTF-8"),
    "npz missing column": (npz(x=X), "holds no edges"),
    "npz missing labels": (npz(x=X, edges=EDGES), "has no labels"),
    "npz duplicate id": (npz(**ARRAYS, ids=[1, 1, 2]), "gives the id '1' to more than one"),
    "npz unknown id": (npz(**ARRAYS | {"edge_index": EDGES + 5}), "edge ids must lie in 0 ... 2"),
    "npz mixed types": (npz(**ARRAYS | {"x": np.array([["1", "a"]] * 3)}), "must be real numbers"),
    "npz text as weight": (npz(**ARRAYS, edge_weight=["a", "b"]), "weights must be real numbers"),
    "npz complex": (npz(**ARRAYS | {"x": X * 1j}), "features must be real numbers"),
    "npz empty file": (content("g.npz", b""), "is no readable .npz file"),
    "npz wrong encoding": (npz(**ARRAYS | {"y": np.array([b"\xe4", b"x", b"x"])}), "not UTF-8"),
    "npz endless": (claims_too_much, "asks for 1,000,000,000,000 entries"),
    "pt missing column": (pt(x=X), "holds no edges"),
    "pt duplicate id": (pt(**ARRAYS, ids=[1, 1, 2]), "gives the id '1' to more than one"),
    "pt unknown id": (pt(**ARRAYS | {"edge_index": EDGES + 5}), "edge ids must lie in 0 ... 2"),
    "pt mixed types": (pt(**ARRAYS | {"y": [0.5, 1.0, 2.0]}), "there are fractions (0.5)"),
    "pt empty file": (content("g.pt", b""), "is no readable .pt file"),
    "pt text": (content("g.pt", b"id,label\n"), "is no readable .pt file"),
    "graphml missing column": (graphml(node("a") + node("b")), "has no labels"),
    "graphml missing id": (graphml("<node/>"), "must give every node an id"),
    "graphml duplicate id": (graphml(node("a") + node("a")), "gives the id 'a' to more than one"),
    "graphml unknown id": (
        graphml(node("a") + '<edge source="a" target="z"/>'),
        "an edge with the target 'z', which is no id of a node",
    ),
    "graphml mixed types": (graphml(node("a") + node("b", "old")), "no readable .graphml file"),
    "graphml empty file": (content("g.graphml", b""), "is no readable .graphml file"),
    "graphml wrong encoding": (graphml(node("ä"), "latin-1"), "is no readable .graphml file"),
    "graphml endless text": (graphml(node("a", "1" * 5_000_000)), "a piece of text longer than"),
    "graphml endless tag": (graphml(node("a" * 9_000_000)), "a piece of text longer than"),
    "graphml 1 GB line": (content("g.graphml", b"<graphml>", size=2**30), "no readable .graphml"),
    "gml missing column": (gml(SMALL.replace("label", "name")), "has no labels"),
    "gml duplicate id": (gml(SMALL.replace("id 1", "id 0")), "node id 0 is duplicated"),
    "gml unknown id": (gml(f"{SMALL} edge [ source 0 target 9 ]"), "undefined target 9"),
    "gml mixed types": (gml(SMALL.replace("size 2", 'size "big"')), "only numbers or only texts"),
    "gml empty file": (content("g.gml", b""), "is no readable .gml file"),
    "gml wrong encoding": (gml(SMALL.replace("a", "ä"), "latin-1"), "is not ASCII-encoded"),
    "gml 1 GB line": (content("g.gml", b"graph [", size=2**30), "a piece of text longer than"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence_and_nothing_is_written(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    write, sentence = MISTAKES[mistake]
    source = tmp_path / "in"
    source.mkdir()
    write(source)
    before = sorted(source.rglob("*"))
    monkeypatch.chdir(tmp_path)
    files = [path.name for path in before if path.stem == "g"]
    monkeypatch.setattr(sys, "argv", ["quietgraph", "fit", "/".join(["in", *files])])
    with pytest.raises(SystemExit) as caught:
        main()
    told = capsys.readouterr()
    assert caught.value.code == 2
    assert sentence in " ".join(told.err.split())
    assert "Traceback" not in told.err
    assert told.err.count("error:") == 1
    assert told.out == ""
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert sorted(source.rglob("*")) == before


@pytest.mark.parametrize(
    "tensors",
    [
        {"x": torch.ones(3, 2, dtype=torch.bfloat16)},
        {"x": torch.ones(3, 2, requires_grad=True)},
        {"x": torch.ones(3, 2).to_sparse()},
    ],
)
def test_tensors_of_any_kind_are_read(tmp_path: Path, tensors: dict[str, Any]) -> None:
    from quietgraph.graph.io import read_graph

    pt(**ARRAYS | tensors)(tmp_path)
    assert np.asarray(read_graph(tmp_path / "g.pt").graph.features).tolist() == [[1.0, 1.0]] * 3


def test_bytes_that_are_utf_8_are_texts(tmp_path: Path) -> None:
    from quietgraph.graph.io import read_graph

    names = np.array(["ä".encode(), b"x", b"x"])
    npz(**ARRAYS | {"y": names, "ids": [*names[:1].tolist(), b"b", b"c"]})(tmp_path)
    read = read_graph(tmp_path / "g.npz")
    assert read.labels.tolist() == ["ä", "x", "x"]
    assert read.node_ids.tolist() == ["ä", "b", "c"]
