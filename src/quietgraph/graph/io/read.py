"""`read_graph`: a path of any known format to a checked graph, labels, ids and an encoding."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.graph.graph import Graph
from quietgraph.graph.io.arrays import read_npz
from quietgraph.graph.io.build import Built, build_graph
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.labels import edge_homophily, read_labels
from quietgraph.graph.io.raw import Raw
from quietgraph.graph.io.result import ReadGraph, Understood
from quietgraph.graph.io.tables import read_tables

LABEL_NAMES: Final = ("label", "class", "y", "target")
SUFFIXES: Final = (".npz", ".pt", ".graphml", ".gml")
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def read_graph(
    path: str | Path,
    *,
    columns: Mapping[str, str] | None = None,
    encoding: Encoding | None = None,
) -> ReadGraph:
    """Return the graph of a folder of tables, or of an `.npz`, `.pt`, `.graphml` or `.gml` file.

    Args:
        path: A folder with nodes and edges as CSV or Parquet, a converted folder, or a file.
        columns: Kind of some columns by name: number, scaled, category, text, label, id, ignore.
        encoding: How columns became features before, to read a grown graph the same way; columns
            of labels are not read then.
    """
    from quietgraph.graph.io.memory_mapped import is_mapped, read_mapped  # noqa: PLC0415  (cycle)

    roles = dict(columns or {})
    if is_mapped(path):
        if roles:
            raise InvalidParameterError(f"{path} is converted already; give --column to convert.")
        return read_mapped(path)
    raw = _read(Path(path), roles, encoding)
    wanted = encoding is None  # a grown graph is read to be labelled
    name = _label_name(raw.table, roles) if wanted and raw.table is not None else None
    labels = _labels(raw, name)
    built = build_graph(raw, {**roles, **({name: "label"} if name else {})}, encoding)
    origin = "the file's labels" if raw.labels is not None else name
    understood = _describe(raw, built, labels, origin)
    return ReadGraph(built.graph, labels, raw.node_ids, built.encoding, understood, raw.validation)


def _read(path: Path, roles: dict[str, str], encoding: Encoding | None) -> Raw:
    if not path.exists():
        raise UnreadableFileError(f"there is no file or folder {path}.")
    if path.is_dir():
        return read_tables(path, roles, encoding.id_column if encoding else None)
    if path.suffix in {".graphml", ".gml"}:
        from quietgraph.graph.io.networks import read_network  # noqa: PLC0415  (slow import)

        return read_network(path, roles)
    if path.suffix not in SUFFIXES:
        raise UnreadableFileError(
            f"{path} must be a folder with nodes.csv and edges.csv (or .parquet), or a file "
            f"ending in {', '.join(SUFFIXES)}."
        )
    if roles:
        raise InvalidParameterError(f"{path} has no named columns, so --column does not apply.")
    if path.suffix == ".npz":
        return read_npz(path)
    from quietgraph.graph.io.pyg_file import read_pt  # noqa: PLC0415

    return read_pt(path)


def _label_name(table: pd.DataFrame, roles: Mapping[str, str]) -> str | None:
    named = [name for name, kind in roles.items() if kind == "label"]
    if len(named) > 1:
        raise InvalidParameterError(f"only one column can be the label, got {', '.join(named)}.")
    usual = {str(name).lower(): str(name) for name in table.columns if name not in roles}
    found = [usual[name] for name in LABEL_NAMES if name in usual]
    return (named + found + [""])[0] or None


def _labels(raw: Raw, name: str | None) -> _Array:
    if raw.labels is not None:
        return read_labels(raw.labels, typed=raw.typed)
    if raw.table is None or name is None:
        return np.full(len(raw.node_ids), None, dtype=object)
    return read_labels(raw.table[name], typed=raw.typed)


def _describe(raw: Raw, built: Built, labels: _Array, origin: str | None) -> Understood:
    graph, known = built.graph, labels[labels != None]  # noqa: E711  (entry by entry)
    counts = pd.Series(known, dtype=object).value_counts()
    loops, duplicates, opposite = _count_repeats(raw.edges, graph)
    return Understood(
        form=raw.form,
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        features=graph.num_features,
        columns=built.words,
        label_column=origin,
        classes={str(name): int(count) for name, count in counts.items()},
        labelled=len(known),
        isolated=int((graph.adjacency.row_counts == 0).sum()),
        self_loops=loops,
        duplicates=duplicates,
        opposite=opposite,
        homophily=edge_homophily(graph, labels),
        notes=(*raw.notes, *built.notes),
    )


def _count_repeats(edges: _Array, graph: Graph) -> tuple[int, int, int]:
    """Return how many edges were self-loops, exact repeats, and the second of two directions."""
    source, target = edges
    loops = int((source == target).sum())
    apart = (source * graph.num_nodes + target)[source != target]
    one_way = len(np.unique(apart))
    return loops, len(apart) - one_way, one_way - graph.num_edges
