"""Valid files of every format that the readers take; the fuzzer starts from them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse
import torch

from quietgraph.graph.io import read_corrections, read_encoding, read_graph
from quietgraph.graph.io.convert import convert_graph

NODES = 12


def frames() -> tuple[pd.DataFrame, pd.DataFrame]:
    draws = np.random.default_rng(0)
    nodes = pd.DataFrame({"id": [f"n{place}" for place in range(NODES)]})
    nodes["size"] = draws.random(NODES).round(3)
    nodes["count"] = draws.integers(0, 9, NODES)
    nodes["day"] = pd.date_range("2020-01-01", periods=NODES).strftime("%Y-%m-%d")
    nodes["price"] = [f"{place},5" for place in range(NODES)]
    nodes["colour"] = draws.choice(["red", "green"], NODES)
    nodes["story"] = [f"some words {place} and more" for place in range(NODES)]
    nodes["label"] = draws.choice(["a", "b", ""], NODES)
    ends = draws.integers(NODES, size=(2, 30))
    edges = pd.DataFrame({"source": nodes["id"].to_numpy()[ends[0]]})
    edges["target"] = nodes["id"].to_numpy()[ends[1]]
    edges["weight"] = draws.integers(1, 5, 30)
    return nodes, edges


def arrays() -> dict[str, Any]:
    draws = np.random.default_rng(0)
    return {
        "x": draws.random((NODES, 3)),
        "edge_index": draws.integers(NODES, size=(2, 30)),
        "y": draws.integers(3, size=NODES),
        "edge_weight": draws.random(30) + 0.1,
        "train_mask": np.arange(NODES) < 8,
        "val_mask": np.arange(NODES) >= 8,
    }


def write_csv(folder: Path) -> Path:
    for name, table in zip(("nodes", "edges"), frames(), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False, sep=";")
    return folder


def write_parquet(folder: Path) -> Path:
    nodes, edges = frames()
    nodes["vector"] = [[float(place), 1.0] for place in range(NODES)]
    nodes["count"] = pd.array([None, *range(1, NODES)], "Int64")
    for name, table in (("nodes", nodes), ("edges", edges)):
        table.to_parquet(folder / f"{name}.parquet")
    return folder


def write_npz(folder: Path) -> Path:
    np.savez(folder / "g.npz", **arrays())
    return folder / "g.npz"


def write_packed_npz(folder: Path) -> Path:
    parts: dict[str, Any] = {}
    adjacency = scipy.sparse.random(NODES, NODES, 0.3, "csr", random_state=0)
    for start, matrix in (("adj_", adjacency), ("attr_", scipy.sparse.eye(NODES, format="csr"))):
        for part in ("data", "indices", "indptr", "shape"):
            parts[start + part] = getattr(matrix, part)
    np.savez_compressed(folder / "g.npz", **parts, labels=arrays()["y"])
    return folder / "g.npz"


def write_scipy(folder: Path) -> Path:
    adjacency = scipy.sparse.random(NODES, NODES, 0.3, "coo", random_state=0)
    scipy.sparse.save_npz(folder / "g.npz", adjacency)
    return folder / "g.npz"


def write_pt(folder: Path) -> Path:
    from torch_geometric.data import Data

    torch.save(
        Data(**{name: torch.as_tensor(part) for name, part in arrays().items()}), folder / "g.pt"
    )
    return folder / "g.pt"


def network() -> nx.Graph:
    nodes, edges = frames()
    made = nx.from_pandas_edgelist(edges, edge_attr="weight")
    for row in nodes.to_dict("records"):
        made.add_node(row.pop("id"), **row)
    return made


def write_graphml(folder: Path) -> Path:
    nx.write_graphml(network(), folder / "g.graphml")
    return folder / "g.graphml"


def write_gml(folder: Path) -> Path:
    made = network()
    for _, attributes in made.nodes(data=True):
        attributes["kind"] = attributes.pop("label")
    nx.write_gml(made, folder / "g.gml")
    return folder / "g.gml"


def write_mapped(folder: Path) -> Path:
    (folder / "tables").mkdir()
    convert_graph(write_csv(folder / "tables"), folder / "mapped")
    return folder / "mapped"


def write_sparse_mapped(folder: Path) -> Path:
    draws = np.random.default_rng(0)
    words = (draws.random((NODES, 80)) < 0.05).astype(np.float32)
    np.savez(folder / "words.npz", **arrays() | {"x": words})
    convert_graph(folder / "words.npz", folder / "mapped")
    return folder / "mapped"


def write_encoding(folder: Path) -> Path:
    (folder / "tables").mkdir()
    read = read_graph(write_csv(folder / "tables"))
    (folder / "model").mkdir()
    facts = json.loads(read.encoding.to_json())
    (folder / "model" / "encoding.json").write_text(json.dumps(facts))
    return folder / "model"


def write_corrections(folder: Path) -> Path:
    text = "node,suggested,decision,label\nn1,a,accept,\nn2,b,drop,\nn3,a,keep,b\n"
    (folder / "fix.csv").write_text(text)
    return folder / "fix.csv"


def read_with_encoding(model: Path) -> Any:
    encoding = read_encoding(model)
    return read_graph(model.parent / "tables", encoding=encoding)


SEEDS: dict[str, tuple[Callable[[Path], Path], Callable[[Path], Any]]] = {
    "csv": (write_csv, read_graph),
    "parquet": (write_parquet, read_graph),
    "npz": (write_npz, read_graph),
    "npz packed": (write_packed_npz, read_graph),
    "npz scipy": (write_scipy, read_graph),
    "pt": (write_pt, read_graph),
    "graphml": (write_graphml, read_graph),
    "gml": (write_gml, read_graph),
    "mapped": (write_mapped, read_graph),
    "mapped sparse": (write_sparse_mapped, read_graph),
    "encoding": (write_encoding, read_with_encoding),
    "corrections": (write_corrections, read_corrections),
}
