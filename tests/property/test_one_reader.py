"""`fit` and `convert` read any table alike: the same graph, labels and ids, or the same error."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from quietgraph.errors import QuietgraphError
from quietgraph.graph import CSR
from quietgraph.graph.io import ReadGraph, read_graph
from quietgraph.graph.io.convert import convert_graph

NAMES = st.sampled_from(["id", "label", "size", "day", "word", "id", "", "weight", "node"])
IDS = ["a", "b", "c", "7", "7.0", "007", "n1", "ü"]
PLAIN = st.sampled_from(IDS)
CELLS = st.one_of(
    PLAIN,
    st.sampled_from(["", "NA", "-1", "1e39", "1e400", "inf", "3,14", "1.234,5", "1,234", "?"]),
    st.sampled_from(["2020-01-02", "02.01.2020", "1/2/2020", "x y", "0", "1", " padded ", "ä"]),
    st.text(st.characters(codec="utf-8"), max_size=4),
)
SEPARATORS = st.sampled_from([",", ";", "\t"])
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


def quoted(cell: str, separator: str, *, always: bool) -> str:
    needs = always or any(sign in cell for sign in f'{separator}"\r\n')
    return '"' + cell.replace('"', '""') + '"' if needs else cell


@st.composite
def tables(draw, names: list[str], cells: st.SearchStrategy[str], *, broken: bool) -> bytes:
    """Draw a table of these columns, and break it somewhere if asked to."""
    separator, end = draw(SEPARATORS), draw(LINE_ENDS)
    rows = draw(st.lists(st.lists(cells, min_size=len(names), max_size=len(names)), max_size=8))
    if names[0] == "id" and not broken:
        rows = [[name, *row[1:]] for name, row in zip(IDS, rows, strict=False)]
    if broken and draw(st.booleans()) and rows:  # a ragged row
        rows[draw(st.integers(0, len(rows) - 1))].append("more")
    lines = [
        separator.join(quoted(cell, separator, always=draw(st.booleans())) for cell in row)
        for row in [names, *rows]
    ]
    text = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    content = draw(st.sampled_from(["", "\ufeff"])).encode() + text.encode()
    if broken and draw(st.booleans()) and content:
        place = draw(st.integers(0, len(content) - 1))
        harm = draw(st.sampled_from([b'"', b"\0", b"\xe4", b"\n", b",", b""]))
        content = content[:place] + harm + content[place + 1 :]
    return content


@st.composite
def folders(draw) -> tuple[bytes, bytes, dict[str, object]]:
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    nodes_broken, edges_broken = draw(
        st.sampled_from([(False, False), (True, False), (False, True)])
    )
    headers = [names, ["id", "size", "word", "label"], ["id", "day", "label"]]
    nodes = draw(tables(draw(st.sampled_from(headers)), CELLS, broken=nodes_broken))
    ends = st.sampled_from([["source", "target"], ["a", "b", "weight"]])
    edges = draw(tables(draw(ends), PLAIN, broken=edges_broken))
    options: dict[str, object] = {"drop_dangling": draw(st.booleans())}
    if draw(st.booleans()):
        options["unknown"] = "?"
    return nodes, edges, options


def outcome(read) -> ReadGraph | str:
    try:
        return read()
    except QuietgraphError as error:
        return f"{type(error).__name__}: {error}"


def dense(features) -> torch.Tensor:
    return features.to_dense() if isinstance(features, CSR) else features


@given(folders())
@settings(max_examples=150, deadline=None, derandomize=True)
def test_both_ways_give_the_same_graph_or_the_same_error(drawn) -> None:
    nodes, edges, options = drawn
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tables"
        folder.mkdir()
        (folder / "nodes.csv").write_bytes(nodes)
        (folder / "edges.csv").write_bytes(edges)
        target = Path(scratch) / "mapped"

        def convert() -> ReadGraph:
            convert_graph(folder, target, **options)
            return read_graph(target)

        fitted, converted = outcome(lambda: read_graph(folder, **options)), outcome(convert)
        if isinstance(fitted, str) or isinstance(converted, str):
            assert fitted == converted
            return
        assert fitted.graph.fingerprint == converted.graph.fingerprint
        assert type(fitted.graph.features) is type(converted.graph.features)
        assert torch.isfinite(dense(fitted.graph.features)).all()
        np.testing.assert_array_equal(fitted.labels, converted.labels)
        np.testing.assert_array_equal(fitted.node_ids, converted.node_ids)
        assert fitted.encoding == converted.encoding
        assert fitted.understood.notes == converted.understood.notes
