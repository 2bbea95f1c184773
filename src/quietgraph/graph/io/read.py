"""`read_graph`: a source of any known format to a checked graph, labels, ids and an encoding."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, TypedDict

import pandas as pd

from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.files import regular_file
from quietgraph.graph.io.arrays import read_npz
from quietgraph.graph.io.assemble import assemble
from quietgraph.graph.io.edges import ENDS, EdgeTable
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.labels import LABEL_NAMES
from quietgraph.graph.io.limits import Budget, budget_of
from quietgraph.graph.io.memory_mapped import is_mapped, read_mapped
from quietgraph.graph.io.nodes import Options, pick_id
from quietgraph.graph.io.raw import Raw
from quietgraph.graph.io.result import ReadGraph
from quietgraph.graph.io.table import TABLE_ENDINGS, FrameTable, Table, open_table

__all__ = ["LABEL_NAMES", "SUFFIXES", "TABLE_ENDINGS", "read_graph"]
SUFFIXES: Final = (".npz", ".pt", ".graphml", ".gml")
_BYTES_PER_EDGE: Final = 4  # of a table of edges, at least


class ReadOptions(TypedDict, total=False):
    """Keyword arguments of `read_graph`."""

    nodes: object
    edges: object
    columns: Mapping[str, str] | None
    unknown: str | Sequence[str]
    drop_dangling: bool
    limit: str | int | None


def read_graph(
    source: object = None,
    *,
    nodes: object = None,
    edges: object = None,
    columns: Mapping[str, str] | None = None,
    encoding: Encoding | None = None,
    unknown: str | Sequence[str] = (),
    drop_dangling: bool = False,
    limit: str | int | None = None,
) -> ReadGraph:
    """Return the graph of tables, of an `.npz`, `.pt`, `.graphml` or `.gml` file, or of NetworkX.

    Args:
        source: A folder with nodes and edges as CSV or Parquet, a converted folder, a file, a
            NetworkX graph, or a DataFrame of edges.
        nodes: Instead of a source: a table of nodes, as a file or a DataFrame.
        edges: Instead of a source: a table of edges, as a file or a DataFrame; without `nodes`,
            all ids in it are the nodes and their features come from the structure.
        columns: Kind of some columns by name: number, scaled, date, category, text, vector,
            label, id, ignore.
        encoding: How columns became features before, to read a grown graph the same way; columns
            of labels are not read then.
        unknown: Cells that mean unknown, in labels and features.
        drop_dangling: Leave out edges to ids that are no nodes, instead of refusing them.
        limit: Memory that reading may take, in bytes or as a text such as "8GB", instead of what
            follows from the size of the file.
    """
    return read_source(
        source,
        nodes=nodes,
        edges=edges,
        columns=columns,
        encoding=encoding,
        unknown=unknown,
        drop_dangling=drop_dangling,
        limit=limit,
    )


def read_source(
    source: object = None,
    *,
    nodes: object = None,
    edges: object = None,
    encoding: Encoding | None = None,
    folder: Path | None = None,
    limit: str | int | None = None,
    columns: Mapping[str, str] | None = None,
    unknown: str | Sequence[str] = (),
    drop_dangling: bool = False,
) -> ReadGraph:
    """Return what `read_graph` does, its arrays in a folder if one is given."""
    roles = dict(columns or {})
    if source is None and edges is None:
        way = "a source, or" if nodes is None else "them beside the nodes with"
        raise InvalidParameterError(f"a graph needs edges: give {way} --edges FILE.")
    if source is not None and (nodes is not None or edges is not None):
        raise InvalidParameterError("give either a source, or nodes and edges, not both.")
    if isinstance(source, pd.DataFrame):
        edges = _as_edges(source)
        source = None
    source = Path(source) if isinstance(source, str) else source
    if isinstance(source, Path) and is_mapped(source):
        if roles:
            raise InvalidParameterError(f"{source} is converted already; give --column to convert.")
        return read_mapped(source)
    where, files = _files(source, nodes, edges)
    budget = budget_of(where, files, limit, on_disk=folder is not None)
    words = (unknown,) if isinstance(unknown, str) else tuple(unknown)
    options = Options(budget, roles, words, drop_dangling, encoding, folder)
    try:
        raw = _open_path(source, options) if isinstance(source, Path) else None
        if raw is None and source is not None:
            raw = _raw_of_object(source, budget)
        return assemble(raw or _raw_of_tables(nodes, edges, options), options)
    except MemoryError as error:
        raise UnreadableFileError(
            f"{where} takes more memory than there is. Convert it first: quietgraph convert."
        ) from error


def _files(source: object, nodes: object, edges: object) -> tuple[str, list[Path]]:
    """Return the source in words, and its files."""
    if isinstance(source, Path):
        if not source.exists():
            raise UnreadableFileError(
                f"there is no file or folder {source}. Correct the path, or name a dataset: "
                "`quietgraph datasets` lists them."
            )
        return str(source), [*source.iterdir()] if source.is_dir() else [regular_file(source)]
    files = [Path(one) for one in (nodes, edges) if isinstance(one, str | Path)]
    return " and ".join(map(str, files)) or "the graph", files


def _open_path(source: Path, options: Options) -> Raw:
    if source.is_dir():
        return _raw_of_tables(*_find(source), options)
    if source.suffix in TABLE_ENDINGS:
        return _raw_of_tables(None, source, options)
    if source.suffix in {".graphml", ".gml"}:
        from quietgraph.graph.io.networks import read_network  # noqa: PLC0415  (slow import)

        return read_network(source, options.budget)
    if source.suffix not in SUFFIXES:
        raise UnreadableFileError(
            f"{source} must be a folder with nodes.csv and edges.csv (or .parquet), or a file "
            f"ending in {', '.join((*SUFFIXES, *TABLE_ENDINGS))}."
        )
    if options.roles:
        raise InvalidParameterError(f"{source} has no named columns, so --column does not apply.")
    if source.suffix == ".npz":
        return read_npz(source, options.budget, options.folder)
    from quietgraph.graph.io.pyg_file import read_pt  # noqa: PLC0415

    return read_pt(source, options.budget)


def _raw_of_tables(nodes: object, edges: object, options: Options) -> Raw:
    """Return what a table of nodes, or None, and one of edges hold."""
    notes: list[str] = []
    table = None if nodes is None else _table(nodes, "the nodes", options.budget)
    links = _table(edges, "the edges", options.budget)
    edge_table = EdgeTable(links, notes, drop_dangling=options.drop_dangling)
    if isinstance(edges, pd.DataFrame):
        count = len(edges)
    else:
        count = Path(str(edges)).stat().st_size // _BYTES_PER_EDGE
    form = links.where.rpartition("/")[2]
    if table is None:
        if options.roles:
            raise InvalidParameterError("--column goes with a table of nodes, which is not given.")
        ids = edge_table.ids(options.budget)
        return Raw(form, links.where, edge_table.blocks, count, notes, ids=ids)
    known = options.encoding.id_column if options.encoding is not None else None
    chosen = known or pick_id(table.names, options.roles)
    if chosen not in table.names:
        raise UnreadableFileError(
            f"{table.where} has no column '{chosen}', which held the ids in fit. Add it."
        )
    form = f"{table.where.rpartition('/')[2]} and {form}"
    return Raw(form, table.where, edge_table.blocks, count, notes, table=table, id_column=chosen)


def _table(given: object, words: str, budget: Budget) -> Table:
    if isinstance(given, str | Path):
        return open_table(Path(given), budget)
    if not isinstance(given, pd.DataFrame):
        raise InvalidParameterError(
            f"{words} must be a file or a DataFrame, got {type(given).__name__}."
        )
    return FrameTable(given, words)


def _find(folder: Path) -> tuple[Path | None, Path]:
    """Return the tables of nodes, if there is one, and of edges in a folder."""
    found = {
        name: [
            path for path in (folder / f"{name}{end}" for end in TABLE_ENDINGS) if path.is_file()
        ]
        for name in ("nodes", "edges")
    }
    for name, paths in found.items():
        if len(paths) > 1:
            both = " or ".join(path.name for path in paths)
            raise UnreadableFileError(f"{folder} must hold {both}, not both. Remove one of them.")
        if not paths and (name == "edges" or not found["edges"]):
            raise UnreadableFileError(
                f"{folder} holds no {name}.csv or {name}.parquet. A graph is a folder with nodes "
                "and edges."
            )
    return next(iter(found["nodes"]), None), found["edges"][0]


def _as_edges(frame: pd.DataFrame) -> pd.DataFrame:
    names = {str(name).lower() for name in frame.columns}
    if not any(set(pair) <= names for pair in ENDS):
        raise InvalidParameterError(
            "one DataFrame alone must hold edges, with columns source and target. Give nodes and "
            "edges together: nodes=DataFrame, edges=DataFrame."
        )
    return frame


def _raw_of_object(source: object, budget: Budget) -> Raw:
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(source, networkx.Graph):
        raise InvalidParameterError(
            f"a graph is read from a path, a DataFrame of edges or a NetworkX graph, got "
            f"{type(source).__name__}."
        )
    from quietgraph.graph.io.networks import raw_of_network  # noqa: PLC0415

    return raw_of_network(source, "NetworkX graph", "the graph", budget)
