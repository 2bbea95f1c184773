"""Any bytes in a file give an answer or one sentence, whatever kind of file it is called."""

import io
import tempfile
import warnings
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import quietgraph as qg
from quietgraph.errors import QuietgraphError
from quietgraph.graph import CSR

NODES = 'id,age,word,label\na,1.5,"x y",cat\nb,2,z,dog\nc,,"q",cat\n7,4,x,dog\n'
EDGES = "source,target,weight\na,b,1\nb,c,2\nc,7,1\n"
GML = 'graph [ node [ id 0 label "a" size 1 ] node [ id 1 label "b" size 2 ] edge [ source 0 target 1 ] ]'
GRAPHML = (
    '<?xml version="1.0" encoding="utf-8"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="d0" for="node" attr.name="label" attr.type="string"/><graph edgedefault="undirected">'
    '<node id="a"><data key="d0">x</data></node><node id="b"><data key="d0">y</data></node>'
    '<edge source="a" target="b"/></graph></graphml>'
)


def files() -> dict[str, bytes]:
    """Return a good file of each kind."""
    frame, packed, tensors, book = pd.read_csv(io.StringIO(NODES)), io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez(packed, x=np.eye(3), edge_index=[[0, 1], [1, 2]], y=[0, 1, 0])
    torch.save({"x": torch.eye(3), "edge_index": torch.tensor([[0, 1], [1, 2]]), "y": torch.tensor([0, 1, 0])}, tensors)
    found = {
        "nodes.csv": NODES.encode(),
        "edges.csv": EDGES.encode(),
        "g.gml": GML.encode(),
        "g.graphml": GRAPHML.encode(),
    }
    found |= {"g.npz": packed.getvalue(), "g.pt": tensors.getvalue()}
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as db:
        db.register("frame", frame)
        db.execute(f"COPY frame TO '{folder}/nodes.parquet' (FORMAT parquet)")
        found["nodes.parquet"] = Path(folder, "nodes.parquet").read_bytes()
    try:
        frame.to_excel(book, index=False)
    except ImportError:
        return found
    return {**found, "nodes.xlsx": book.getvalue()}


GOOD = files()
HARM = [
    b"",
    b'"',
    b"\0",
    b"\xe4",
    b"\n",
    b"\r\n",
    b",",
    b";",
    b"a",
    b"-1",
    b"1e400",
    b"NA",
    b"\xff" * 9,
    b"<",
    b"[",
    b"NULL",
]
PLACES = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), st.sampled_from(HARM)), min_size=1, max_size=4)


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_bytes_give_an_answer_or_one_sentence(name: str, data: st.DataObject) -> None:
    content = GOOD[name]
    for share, length, harm in data.draw(PLACES):
        start = int(share * len(content))
        content = content[:start] + harm + content[start + length :]
    if data.draw(st.booleans()):
        content = content[: int(data.draw(st.floats(0, 1)) * len(content))]
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about damaged files
        folder = Path(scratch) / "in"
        folder.mkdir()
        (folder / name).write_bytes(content)
        for table in ("nodes", "edges"):
            if name.startswith(("nodes", "edges")) and not name.startswith(table):
                (folder / f"{table}.csv").write_bytes(GOOD[f"{table}.csv"])
        source = folder if name.startswith(("nodes", "edges")) else folder / name
        try:
            read = qg.load(source, drop_dangling=name.startswith("edges") and data.draw(st.booleans()))
        except QuietgraphError as error:
            if "\n" in str(error):
                pytest.fail(f"more than a sentence: {error}")
            return
        features = read.graph.features
        assert bool(torch.isfinite(features.values if isinstance(features, CSR) else features).all())
        assert len(read.ids) == read.graph.num_nodes
