"""Small files that once took gigabytes, minutes or the whole process."""

import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

EYE = np.eye(3)
LINE = np.array([[0, 1], [1, 2]])


def header(kind: str, shape: tuple[int, ...]) -> bytes:
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def packed_zeros(packing: int, size: int) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        with zipfile.ZipFile(folder / "g.npz", "w", packing) as file:
            with file.open("x.npy", "w", force_zip64=True) as member:
                member.write(header("<f8", (size // 8, 1)))
                for _ in range(size // 2**24):
                    member.write(bytes(2**24))
            file.writestr("edges.npy", header("<i8", (2, 1)) + np.array([0, 1]).tobytes())
        return folder / "g.npz"

    return write


def npz(**arrays: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        np.savez(folder / "g.npz", **arrays)
        return folder / "g.npz"

    return write


def pt(make: Callable[[], dict[str, Any]]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        torch.save(make(), folder / "g.pt")
        return folder / "g.pt"

    return write


def tables(nodes: Callable[[], str], edges: str = "source,target\na,b\n") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / "nodes.csv").write_text(nodes())
        (folder / "edges.csv").write_text(edges)
        return folder

    return write


def text(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def parquet(make: Callable[[], pa.Table]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        pq.write_table(make(), folder / "nodes.parquet")
        pd.DataFrame({"source": ["a"], "target": ["b"]}).to_parquet(folder / "edges.parquet")
        return folder

    return write


def repeated(value: Any, count: int) -> Any:
    indices = pa.array(np.zeros(count, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array([value]))


def endless_line(folder: Path) -> Path:
    write = tables(lambda: "id,label\n")(folder)
    with (write / "nodes.csv").open("ab") as file:
        file.truncate(2**30)  # a hole: it takes no room on disk
    return write


def endless_text_line(folder: Path) -> Path:
    tables(lambda: "id,label\n")(folder)
    with (folder / "nodes.csv").open("ab") as file:
        for _ in range(16):
            file.write(b"x" * 2**20)
    return folder


def encrypted(folder: Path) -> Path:
    npz(x=EYE, edges=LINE)(folder)
    content = bytearray((folder / "g.npz").read_bytes())
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = content.find(sign)
        while start >= 0:
            content[start + place] |= 1
            start = content.find(sign, start + 1)
    (folder / "g.npz").write_bytes(content)
    return folder / "g.npz"


def plain_array(folder: Path) -> Path:
    with (folder / "g.npz").open("wb") as file:
        np.save(file, EYE)
    return folder / "g.npz"


def many_attributes(folder: Path) -> Path:
    nodes = "".join(f'node [ id {k} label "n{k}" a{k} {k} ]\n' for k in range(8_000))
    (folder / "g.gml").write_text(f"graph [\n{nodes}edge [ source 0 target 1 ]\n]")
    return folder / "g.gml"


def damaged(name: str, place: int, value: int) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        from fuzz.seeds import write_mapped

        mapped = write_mapped(folder)
        array = np.load(mapped / f"{name}.npy")
        array[place] = value
        np.save(mapped / f"{name}.npy", array)
        return mapped

    return write


def deep_meta(folder: Path) -> Path:
    from fuzz.seeds import write_mapped

    mapped = write_mapped(folder)
    (mapped / "meta.json").write_text('{"version": 1, "understood": ' + "[" * 200_000)
    return mapped


def claims_many_nodes(folder: Path) -> Path:
    from fuzz.seeds import write_mapped

    mapped = write_mapped(folder)
    facts = json.loads((mapped / "meta.json").read_text())
    facts["nodes"] = 10**12
    (mapped / "meta.json").write_text(json.dumps(facts))
    return mapped


ADJACENCY = {"data": np.ones(1), "row": np.zeros(1, int), "col": np.ones(1, int)}
GIANT = np.array([10**9, 10**9])
MANY = 30_000_000
HOSTILE: dict[str, Callable[[Path], Path]] = {
    "bzip2 member": packed_zeros(zipfile.ZIP_BZIP2, 2**28),
    "deflated member": packed_zeros(zipfile.ZIP_DEFLATED, 2**28),
    "edge to node 1e9": npz(edge_index=np.array([[0], [10**9]])),
    "edge to node 2^62": npz(edge_index=np.array([[0], [2**62]])),
    "coordinates of shape 1e9": npz(**ADJACENCY, shape=GIANT, format=np.array("coo")),
    "compressed columns of shape 1e9": npz(
        data=np.ones(1),
        indices=np.zeros(1, int),
        indptr=np.array([0, 1]),
        shape=np.array([10**9, 1]),
        format=np.array("csc"),
    ),
    "attributes of 1e9 columns": npz(
        edges=LINE,
        attr_data=np.ones(1),
        attr_indices=np.zeros(1, int),
        attr_indptr=np.array([0, 1, 1, 1]),
        attr_shape=np.array([3, 10**9]),
    ),
    "tensor with strides of 0": pt(
        lambda: {"x": torch.ones(1).expand(10**9, 3), "edge_index": torch.from_numpy(LINE)}
    ),
    "sparse tensor of 1e9 rows": pt(
        lambda: {
            "x": torch.sparse_coo_tensor(torch.zeros(2, 1).long(), torch.ones(1), (10**9, 3)),
            "edge_index": torch.from_numpy(LINE),
        }
    ),
    "sparse tensor of 1e9 columns": pt(
        lambda: {
            "x": torch.sparse_coo_tensor(torch.zeros(2, 1).long(), torch.ones(1), (3, 10**9)),
            "edge_index": torch.from_numpy(LINE),
        }
    ),
    "quantised tensor": pt(
        lambda: {
            "x": torch.quantize_per_tensor(torch.eye(3), 0.1, 0, torch.quint8),
            "edge_index": torch.from_numpy(LINE),
        }
    ),
    "meta tensor": pt(
        lambda: {"x": torch.ones(3, 2, device="meta"), "edge_index": torch.from_numpy(LINE)}
    ),
    "run-length numbers": parquet(
        lambda: pa.table({"id": repeated("a", MANY), "c": repeated(1.0, MANY)})
    ),
    "run-length texts": parquet(
        lambda: pa.table(
            {"id": [f"n{k}" for k in range(9_000)], "c": repeated("x y " * 2**17, 9_000)}
        )
    ),
    "a line of 1 GB": endless_line,
    "a line of 16 MB of text": endless_text_line,
    "20,000 columns": tables(
        lambda: (
            "id," + ",".join(f"c{k}" for k in range(20_000)) + "\n"
            "a,"
            + ",".join("1" for k in range(20_000))
            + "\nb,"
            + ",".join("2" for k in range(20_000))
            + "\n"
        )
    ),
    "a million columns": tables(lambda: "id," + ",".join(map(str, range(400_000))) + "\na\n"),
    "2,000 text columns": tables(
        lambda: (
            "id," + ",".join(f"c{k}" for k in range(2_000)) + "\n"
            "a," + ",".join("some words" for k in range(2_000)) + "\n"
            "b," + ",".join("other words" for k in range(2_000)) + "\n"
        )
    ),
    "an open quote": tables(lambda: 'id,label\n"a,x\n' + "b,y\n" * 200_000),
    "a number of 400 digits": tables(lambda: f"id,c,label\na,{'9' * 400},x\nb,2,{'9' * 400}\n"),
    "an array that is no archive": plain_array,
    "an encrypted member": encrypted,
    "an unknown encoding": text("g.graphml", b'<?xml version="1.0" encoding="klingon"?><graphml/>'),
    "nested GML": text("g.gml", b"graph [ " + b"a [ " * 50_000),
    "a number of 5,000 digits in GML": text(
        "g.gml", b"graph [ node [ id " + b"9" * 5_000 + b" ] ]"
    ),
    "entities": text(
        "g.graphml",
        b'<!DOCTYPE g [<!ENTITY a "aaaaaaaaaa">'
        + b"".join(b'<!ENTITY %c "%s">' % (k, b"&%c;" % (k - 1) * 50) for k in range(98, 110))
        + b"]><graphml><graph><node id='&m;'/></graph></graphml>",
    ),
    "an attribute for every node": many_attributes,
    "a row pointer that ends in 0": npz(
        adj_data=np.ones(1),
        adj_indices=np.zeros(1, np.int32),
        adj_indptr=np.array([0, 4000, 0, 0], np.int32),
        adj_shape=np.array([3, 3]),
    ),
    "a row pointer that overflows": npz(
        adj_data=np.ones(1),
        adj_indices=np.zeros(1, np.int32),
        adj_indptr=np.array([0, 2**30, 2**31 - 1, -(2**31), -(2**30), 0, 1], np.int32),
        adj_shape=np.array([6, 6]),
    ),
    "a damaged row pointer": damaged("row_pointer", 5, 2**30),
    "a damaged column": damaged("columns", 5, 2**30),
    "a negative column": damaged("columns", 5, -(2**30)),
    "a damaged label": damaged("labels", 5, 2**40),
    "a folder that claims 1e12 nodes": claims_many_nodes,
    "nested meta.json": deep_meta,
}
