"""`load` and `load_like`: any source to one `Data`, and a grown graph encoded as in the fit."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph
import quietgraph as qg
from quietgraph.data.load import Source, load_like, load_like_with_ids
from quietgraph.errors import DataNotFoundError, InvalidGraphError, QuietgraphError
from quietgraph.graph import CSR, Graph
from quietgraph.methods.gcn import GCN


def shop(folder: Path, products: int = 240, *, label: bool = True) -> Path:
    """Write a German export: byte order mark, semicolons, decimal commas, days with dots, k.A. for unknown."""
    draws = np.random.default_rng(0)
    kinds, words = ["Garten", "Küche", "Spiel"], ["rot", "groß", "neu", "Holz", "Stahl", "Set"]
    folder.mkdir(exist_ok=True)
    rows = ["Artikel;Titel;Preis;Seit;Marke" + ";Rubrik" * label]
    for place in range(260):
        cells = [f"A{place}", " ".join(draws.choice(words, 3)), f"{draws.gamma(4, 6):.2f}".replace(".", ",")]
        cells += [f"{draws.integers(1, 29):02}.{draws.integers(1, 13):02}.2024", draws.choice(["acme", "bolt", "cusp"])]
        cells[2] = "k.A." if place % 50 == 7 else cells[2]
        given = "" if draws.random() < 0.3 else str(draws.choice(kinds))
        rows.append(";".join([*cells, given][: 5 + label]))
    (folder / "nodes.csv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join(rows[: products + 1]).encode() + b"\r\n")
    pairs = [(a, b) for a, b in draws.integers(0, 260, size=(900, 2)) if max(a, b) < products]
    lines = [f"A{a};A{b};{1 + a % 3},5" for a, b in pairs]
    (folder / "edges.csv").write_text("\n".join(["von;nach;Menge", *lines]), encoding="utf-8")
    return folder


OPTIONS: dict[str, Any] = {"columns": {"Rubrik": "label", "Menge": "weight"}, "missing": "k.A."}


def dense(graph: Graph) -> torch.Tensor:
    return graph.features.to_dense() if isinstance(graph.features, CSR) else graph.features


def test_a_german_export_is_read_without_a_renamed_file(tmp_path: Path) -> None:
    data = qg.load(shop(tmp_path / "laden"), **OPTIONS)
    told = "\n".join(data.describe())
    assert told.startswith("nodes.csv and edges.csv: 240 nodes")
    assert "in Rubrik, 3 classes" in told
    assert "Preis: scaled (decimal comma), Seit: date (such as 31.12.2024), Marke: category (3 values)" in told
    assert data.name == "laden"
    assert data.graph.is_weighted
    assert {*data.classes} == {"Garten", "Küche", "Spiel"}
    with pytest.raises(QuietgraphError, match=r"'Preis' mixes numbers with text: 5 cells .* 'k\.A\.' \(line 9\)"):
        qg.load(tmp_path / "laden", columns=OPTIONS["columns"])


@pytest.mark.parametrize("way", ["path", "data", "tables", "frames", "labelled data of a saved model"])
def test_a_grown_graph_is_encoded_as_in_the_fit(tmp_path: Path, way: str) -> None:
    """Features of the first rows were others, because means, words and categories were learned again."""
    data = qg.load(shop(tmp_path / "shop"), **OPTIONS)
    grown = shop(tmp_path / "grown", 260, label=way in {"data", "labelled data of a saved model"})
    source, graph, tables = data.source, None, {}
    if way == "path":
        graph = grown
    elif way == "tables":
        tables = {"nodes": grown / "nodes.csv", "edges": str(grown / "edges.csv")}
    elif way == "frames":
        tables = {
            "nodes": pd.read_csv(grown / "nodes.csv", sep=";", dtype=str, keep_default_na=False),
            "edges": pd.read_csv(grown / "edges.csv", sep=";", decimal=","),
        }
    else:
        graph = qg.load(grown, **OPTIONS)
        assert not torch.equal(dense(graph.graph)[:240], dense(data.graph))
    if way == "labelled data of a saved model":
        source = Source.of_columns(data.source.columns_json())
    found, ids = load_like_with_ids(source, graph, tables)
    assert torch.equal(dense(found)[:240], dense(data.graph))
    assert found.is_weighted
    assert ids.tolist() == [f"A{place}" for place in range(260)]


def test_a_model_predicts_for_a_folder_of_new_rows(tmp_path: Path) -> None:
    data = qg.load(shop(tmp_path / "shop"), **OPTIONS)
    model = GCN(epochs=3, hidden=4).fit(data)
    np.testing.assert_array_equal(model.predict(data), model.predict(tmp_path / "shop"))
    assert len(model.predict(shop(tmp_path / "grown", 260, label=False))) == 260


def test_what_the_fit_had_must_be_there(tmp_path: Path) -> None:
    data = qg.load(shop(tmp_path / "shop"), **OPTIONS)
    for table, old, new, sentence in [
        ("nodes", "Preis", "Price", r"must have the column 'Preis' as in the fit \(Preis: scaled \(decimal comma\)\)"),
        ("edges", "Menge", "Anzahl", "must have the column 'Menge', the weights of the fit"),
    ]:
        path = shop(tmp_path / "grown") / f"{table}.csv"
        path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
        with pytest.raises(QuietgraphError, match=sentence):
            load_like(data.source, tmp_path / "grown", {})
    with pytest.raises(QuietgraphError, match=r"features of nodes that .*edges\.csv lacks"):
        load_like(data.source, shop(tmp_path / "grown") / "edges.csv", {})
    with pytest.raises(InvalidGraphError, match="cannot be encoded as those of the fit"):
        load_like(None, tmp_path / "shop", {})


def test_structure_of_a_grown_graph_is_measured_from_the_same_nodes(tmp_path: Path) -> None:
    lines = [f"n{a},n{(a * 7 + 3) % 30}" for a in range(30)]
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *lines]))
    labels = pd.DataFrame({"node": [f"n{n}" for n in range(20)], "ann": ["x", "y"] * 10})
    for source in (tmp_path, tmp_path / "edges.csv", pd.read_csv(tmp_path / "edges.csv")):
        with pytest.raises(QuietgraphError, match="has edges alone, and so no labels"):
            qg.load(source)
        data = qg.load(source, annotations=labels)
        assert data.ids[:3].tolist() == ["n0", "n3", "n1"]
        assert data.notes[0].startswith("features: none given, so the structure")
    (tmp_path / "edges.csv").write_text("\n".join(["a,b", *lines, "n30,n5"]))
    grown = load_like(data.source, tmp_path / "edges.csv", {})
    assert grown.num_features == data.graph.num_features
    assert float((dense(grown)[:-1] - dense(data.graph)).abs().median()) < 0.05


def test_here_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop(tmp_path / "shop")
    monkeypatch.chdir(tmp_path)
    named = qg.load("shop", **OPTIONS)
    monkeypatch.chdir(tmp_path / "shop")
    here = qg.load(".", **OPTIONS)
    assert here.graph.fingerprint == named.graph.fingerprint
    assert here.name == named.name == "shop"


def test_frames_files_networks_and_excel_say_the_same(tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": [f"n{n}" for n in range(40)], "size": draws.random(40).round(3)})
    nodes["label"] = np.where(nodes["size"] > 0.5, "big", "small")
    edges = pd.DataFrame(draws.integers(0, 40, size=(90, 2)), columns=["source", "target"]).map("n{}".format)
    nodes.to_csv(tmp_path / "nodes.csv", index=False)
    edges.to_csv(tmp_path / "edges.csv", index=False)
    network = nx.Graph(edges.itertuples(index=False, name=None))
    network.add_nodes_from(
        (row.id, {"size": row.size_, "group": row.label})
        for row in nodes.rename(columns={"size": "size_"}).itertuples()
    )
    whole = qg.load(tmp_path)
    order = pd.Index(network.nodes).get_indexer(nodes["id"])
    nx.write_graphml(network, tmp_path / "g.graphml")
    nx.write_gml(network, tmp_path / "g.gml")
    for source in (network, tmp_path / "g.graphml", tmp_path / "g.gml"):
        data = qg.load(source, columns={"group": "label"})
        np.testing.assert_allclose(dense(data.graph)[order], dense(whole.graph), atol=1e-5)
        assert data.ids[order].tolist() == whole.ids.tolist()
    assert qg.load(nodes=nodes, edges=tmp_path / "edges.csv").graph.fingerprint == whole.graph.fingerprint
    pytest.importorskip("openpyxl")
    for name, frame in (("nodes", nodes), ("edges", edges)):
        (tmp_path / f"{name}.csv").unlink()
        frame.to_excel(tmp_path / f"{name}.xlsx", index=False)
    read = qg.load(tmp_path)
    assert read.graph.fingerprint == whole.graph.fingerprint
    assert read.labels.tolist() == whole.labels.tolist()


def test_excel_without_its_reader_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nodes.xlsx").write_bytes(b"PK")
    (tmp_path / "edges.csv").write_text("a,b\n1,2\n")
    with pytest.raises(QuietgraphError, match=r"nodes\.xlsx is no readable Excel file: File is not a zip"):
        qg.load(tmp_path)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(QuietgraphError, match=r"nodes\.xlsx is read by openpyxl. Run pip install openpyxl"):
        qg.load(tmp_path)


def test_minus_one_is_unknown_in_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "g.npz", x=np.eye(4), edge_index=[[0, 1], [1, 2]], y=[1, -1, 0, 1])
    data = qg.load(tmp_path / "g.npz")
    assert data.labels.tolist() == [1, -1, 0, 1]
    assert load_like(data.source, tmp_path / "g.npz", {}).fingerprint == data.graph.fingerprint
    np.savez(tmp_path / "g.npz", x=np.eye(4), edge_index=[[0, 1], [1, 2]], ids=[1, 1, 2, 3])
    with pytest.raises(QuietgraphError, match="has the id '1' again"):
        qg.load(tmp_path / "g.npz")
    with pytest.raises(QuietgraphError, match="has no named columns"):
        qg.load(tmp_path / "g.npz", columns={"x": "label"})


@pytest.mark.parametrize(
    ("source", "options", "sentence"),
    [
        (7, {}, "a path, a DataFrame of edges or a NetworkX graph, got int"),
        (None, {}, "a graph needs edges"),
        ("no/where", {}, "there is no file or folder"),
        ("corra", {}, "Did you mean 'cora'"),
        ("digits", {"drop_dangling": True}, "digits is a dataset by name, so --drop-dangling does not apply"),
        (".", {"split": "public"}, "split goes with datasets by name"),
        (".", {"nodes": "n.csv"}, "not both"),
        ("g.doc", {}, "must be a folder with nodes.csv and edges.csv"),
        ("two", {}, "holds nodes.csv and nodes.parquet. Remove one"),
        ("bare", {}, r"holds no edges\.csv"),
        ("bare/nodes.csv", {}, "is a table of nodes without edges. Name the folder of both: bare"),
    ],
)
def test_what_cannot_be_a_source_is_one_sentence(
    source: object, options: dict, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shop(tmp_path)
    Path("g.doc").touch()
    for name in ("two", "bare"):
        shop(Path(name))
        Path(name, "edges.csv").unlink()
    Path("two", "nodes.parquet").touch()
    with pytest.raises((QuietgraphError, DataNotFoundError), match=sentence):
        qg.load(source, **options)


def test_reading_a_folder_runs_through_few_functions(tmp_path: Path) -> None:
    shop(tmp_path)
    source = qg.load(tmp_path, **OPTIONS).source
    found = functions_of(source.read)
    assert len({file for file, _ in found}) <= 7, sorted(found)
    assert len(found) <= 45, sorted(found)


def functions_of(call: Callable[[], object]) -> set[tuple[str, str]]:
    """Return file and name of every function of ours that a call runs."""
    seen, root = set(), str(Path(quietgraph.__file__).parent)

    def watch(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root) and "<" not in code.co_qualname.split(".")[-1]:
            seen.add((code.co_filename, code.co_qualname))

    call()  # imports run through module bodies
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen
