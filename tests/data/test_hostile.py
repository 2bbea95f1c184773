"""Files that mean harm: they end in one sentence, in little time and memory, and run nothing."""

import struct
import time
import zipfile
from pathlib import Path

import duckdb
import numpy as np
import pytest

import quietgraph as qg
from quietgraph.errors import QuietgraphError

EDGES = b"source,target\na,b\n"
ENTITIES = (
    b"<!DOCTYPE x [" + b"".join(b'<!ENTITY e%d "%s">' % (n, b"&e%d;" % (n - 1) * 10) for n in range(1, 12)) + b"]>"
)


def claims_too_much(path: Path) -> None:
    """Write an array whose header promises 7 terabytes."""
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("x.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head) + 1) + head + b"\n")


def long_texts(path: Path) -> None:
    """Write 2 MB of Parquet that stand for 2 GB of texts."""
    with duckdb.connect() as db:
        db.execute(f"COPY (SELECT repeat('x', 200000) AS id, 1 AS y FROM range(11000)) TO '{path}' (FORMAT parquet)")


def a_hole(start: bytes):
    """Return what writes a file of 268 MB that takes no room on disk."""

    def write(path: Path) -> None:
        with path.open("wb") as file:
            file.write(start)
            file.truncate(2**28)

    return write


FILES = {
    "nodes.csv": {
        "one endless line": a_hole(b"id,label\n"),
        "an endless header": a_hole(b"id"),
        "a cell of 5 MB": b"id,label\na," + b"x" * 5_000_000 + b"\nb,y\n",
        "a quote that swallows the file": b'id,label\n"a,cat\n' + b"b,dog\n" * 50_000,
        "zero bytes": b"id,label\na,\0\0\nb,\0\0\n",
        "50,000 columns with one name": b",".join([b"x"] * 50_000) + b"\n",
        "a name that is SQL": b"\"id\"\"); DROP TABLE ids; --\",label\na,x\na,y\n",
        "an id that is SQL": b"id,label\n'); DROP TABLE ids; --,x\nb,y\n",
        "numbers beyond all bounds": b"id,x,label\na,1e308,u\nb,-1e308,v\n",
        "a class for every node": b"id,label\n" + b"".join(b"n%d,c%d\n" % (n, n) for n in range(1000)),
    },
    "nodes.parquet": {
        "nothing": b"",
        "only a name": b"PAR1",
        "a promise": b"PAR1" + b"\xff" * 64 + b"PAR1",
        "long texts": long_texts,
    },
    "nodes.xlsx": {"no archive": b"PK\3\4" + b"\0" * 99},
    "g.npz": {"a promise": claims_too_much, "no archive": b"PK\5\6"},
    "g.pt": {"a pickle": b"\x80\x04c__builtin__\neval\n(Vprint(1)\ntR."},
    "g.graphml": {"entities": ENTITIES + b"<graphml>&e11;</graphml>", "a hole": a_hole(b"<graphml>")},
    "g.gml": {"brackets": b"graph [" * 20_000},
}  # fmt: skip
CASES = [(name, kind) for name, kinds in FILES.items() for kind in kinds]


@pytest.mark.parametrize(("name", "kind"), CASES, ids=lambda value: value.replace(" ", "-"))
def test_a_hostile_file_ends_in_one_sentence(name: str, kind: str, tmp_path: Path) -> None:
    content = FILES[name][kind]
    (tmp_path / "edges.csv").write_bytes(EDGES)
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        content(tmp_path / name)
    started = time.process_time()
    with pytest.raises(QuietgraphError) as caught:
        qg.load(tmp_path if name.startswith("nodes") else tmp_path / name)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - started < 5


def test_a_folder_where_a_file_should_be_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").mkdir()
    (tmp_path / "edges.csv").write_bytes(EDGES)
    with pytest.raises(QuietgraphError):
        qg.load(nodes=tmp_path / "nodes.csv", edges=tmp_path / "edges.csv")
    np.savez(tmp_path / "g.npz", x=np.eye(2))
    with pytest.raises(QuietgraphError):
        qg.load(nodes=tmp_path / "g.npz", edges=tmp_path / "edges.csv")
