"""A folder with one table of nodes and one of edges, as CSV or Parquet."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from pandas.api import types as kinds

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.columns import check_roles
from quietgraph.graph.io.csv_file import read_csv
from quietgraph.graph.io.raw import Raw, decode_bytes, id_key, positions_of

ID_NAMES: Final = ("id", "node", "node_id")
_ENDS: Final = (("source", "target"), ("from", "to"), ("src", "dst"))
_ENDINGS: Final = (".csv", ".parquet")
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def read_tables(folder: Path, roles: Mapping[str, str], id_column: str | None) -> Raw:
    """Return what `nodes` and `edges` of a folder hold.

    Args:
        folder: With nodes.csv or nodes.parquet, and edges.csv or edges.parquet.
        roles: What the user says of columns of the nodes, kind by name.
        id_column: Name of the id column where it is known already.
    """
    nodes_path, edges_path = (_find(folder, name) for name in ("nodes", "edges"))
    table = _read(nodes_path)
    names = [str(name) for name in table.columns]
    check_roles(roles, names, where=nodes_path.name)
    if not len(table):
        raise UnreadableFileError(f"{nodes_path} has no rows. Put one row per node in it.")
    chosen = id_column or _id_name(names, roles)
    if chosen not in names:
        raise UnreadableFileError(
            f"{nodes_path} has no column '{chosen}', which held the ids in fit. Add it."
        )
    keys = positions_of(table[chosen], where=str(nodes_path))
    edges, weights, notes = _read_edges(edges_path, keys)
    rest = table.drop(columns=chosen)
    if "" in rest.columns:  # what pandas.to_csv writes for its index
        rest, notes = rest.drop(columns=""), [*notes, "the column without a name is ignored"]
    return Raw(
        form=f"{nodes_path.name} and {edges_path.name}",
        node_ids=table[chosen].to_numpy(dtype=object),
        edges=edges,
        weights=weights,
        table=rest.reset_index(drop=True),
        typed=nodes_path.suffix != ".csv",
        id_column=chosen,
        notes=tuple(notes),
    )


def _find(folder: Path, name: str) -> Path:
    found = [path for path in (folder / f"{name}{end}" for end in _ENDINGS) if path.is_file()]
    if len(found) == 1:
        return found[0]
    wanted = f"{name}.csv or {name}.parquet"
    if found:
        raise UnreadableFileError(f"{folder} must hold {wanted}, not both. Remove one of them.")
    raise UnreadableFileError(
        f"{folder} holds no {wanted}. A graph is a folder with both nodes and edges."
    )


def _read(path: Path) -> pd.DataFrame:
    return read_csv(path) if path.suffix == ".csv" else _read_parquet(path)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        from pyarrow import ArrowException  # noqa: PLC0415  (an extra)
        from pyarrow.parquet import read_table  # noqa: PLC0415
    except ImportError as error:
        raise UnreadableFileError(
            f"{path} is read by the package pyarrow, which is not installed. "
            "Install it with: pip install 'quietgraph[parquet]'"
        ) from error
    try:
        # Without pandas' own notes in the file, which may hide columns in an index.
        table: pd.DataFrame = read_table(path).to_pandas(ignore_metadata=True)
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise UnreadableFileError(
            f"{path} is no readable Parquet file ({reason}). Write it again."
        ) from error
    for name in table.columns[[kinds.is_object_dtype(kind) for kind in table.dtypes]]:
        table[name] = pd.Series(decode_bytes(table[name], where=str(path)), dtype=object)
    table.index = pd.RangeIndex(1, len(table) + 1, name="row")
    return table


def _id_name(names: list[str], roles: Mapping[str, str]) -> str:
    named = [name for name in names if roles.get(name) == "id"]
    usual = [name for name in names if name.lower() in ID_NAMES and name not in roles]
    free = [name for name in names if name not in roles]
    return (named + usual + free + names)[0]


def _read_edges(path: Path, keys: pd.Index) -> tuple[_Array, _Array | None, list[str]]:
    table = _read(path)
    names = {str(name).lower(): name for name in table.columns}
    if len(names) < 2:
        raise UnreadableFileError(
            f"{path} must have two columns, source and target, got only "
            f"{', '.join(map(repr, names)) or 'an empty table'}."
        )
    ends = next((pair for pair in _ENDS if set(pair) <= names.keys()), None)
    source, target = (names[end] for end in ends) if ends else table.columns[:2]
    edges = [_positions(table[end], keys, path) for end in (source, target)]
    unused = [str(name) for name in table.columns if name not in {source, target}]
    weights = None
    if "weight" in names and names["weight"] not in {source, target}:
        weights = _weights(table[names["weight"]], path)
        unused.remove(names["weight"])
    notes = [f"columns of {path.name} not used: {', '.join(unused)}"] if unused else []
    return np.array(edges, dtype=np.int64), weights, notes


def _positions(cells: pd.Series, keys: pd.Index, path: Path) -> _Array:
    ends = pd.Index([id_key(cell) for cell in cells.to_numpy(dtype=object)], dtype=object)
    positions = keys.get_indexer(ends)
    lost = np.flatnonzero(positions < 0)
    if len(lost):
        first, place = ends[lost[0]], f"{cells.index.name} {cells.index[lost[0]]}"
        raise UnreadableFileError(
            f"{path} {place} names the {cells.name} '{first}', which is no id of a node "
            f"({len(lost)} such edges). Add the node or remove the edge."
        )
    return np.asarray(positions)


def _weights(cells: pd.Series, path: Path) -> _Array:
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if len(wrong):
        place = f"{cells.index.name} {cells.index[wrong[0]]}"
        raise UnreadableFileError(
            f"{path} {place} has the weight '{cells.iloc[wrong[0]]}'; weights must be positive "
            "numbers. Leave out edges that do not count."
        )
    return numbers
