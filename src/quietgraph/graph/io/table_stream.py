"""Tables of nodes and edges read in pieces, so that no table is in memory as a whole.

What columns become is decided on the first piece; means, values and words are then counted over
all of them. A later cell that does not fit is named as a mistake.
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.array_files import is_sparse
from quietgraph.graph.io.columns import (
    FEATURE_KINDS,
    MISSING_WORDS,
    Column,
    check_roles,
    encode_column,
    learn_column,
)
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.raw import id_key, positions_of
from quietgraph.graph.io.read import LABEL_NAMES
from quietgraph.graph.io.tables import ID_NAMES

_ROWS: Final = 50_000
_ENDINGS: Final = (".csv", ".parquet")
_ENDS: Final = (("source", "target"), ("from", "to"), ("src", "dst"))
_BYTES_PER_EDGE: Final = 8  # of a table of edges, at least
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


def find_tables(folder: Path) -> tuple[Path, Path] | None:
    """Return the tables of nodes and edges in a folder; None where it does not hold one each."""
    found = [
        [path for path in (folder / f"{name}{end}" for end in _ENDINGS) if path.is_file()]
        for name in ("nodes", "edges")
    ]
    return (found[0][0], found[1][0]) if all(len(paths) == 1 for paths in found) else None


class TableStream:
    """A table of nodes and one of edges, as streams of features and of edges."""

    def __init__(self, nodes: Path, edges: Path, roles: dict[str, str]) -> None:
        self.nodes_path, self.edges_path, self.roles = nodes, edges, roles
        self.form = f"{nodes.name} and {edges.name}"
        self.typed = nodes.suffix != ".csv"
        head = next(_pieces(nodes), None)
        if head is None or not len(head):
            raise UnreadableFileError(f"{nodes} has no rows. Put one row per node in it.")
        names = [str(name) for name in head.columns]
        check_roles(roles, names, where=nodes.name)
        self.id_column = self._pick_id(names)
        self.label_column = self._pick_label(names)
        self.columns = self._learn_kinds(head)
        self.expected_edges = edges.stat().st_size // _BYTES_PER_EDGE
        self.ids: list[Any] = []
        self.labels: list[Any] = []

    @property
    def has_features(self) -> bool:
        """Whether any column becomes features; without, they come from the structure."""
        return bool(self.columns)

    @property
    def width(self) -> int:
        """Number of features."""
        return sum(_width(column) for column in self.columns)

    def learn(self) -> tuple[Encoding, bool]:
        """Read the nodes once; return how columns become features, and whether these are sparse."""
        tallies = [_Tally(column) for column in self.columns]
        for piece in self._node_pieces():
            self.ids += piece[self.id_column].tolist()
            if self.label_column is not None:
                self.labels += piece[self.label_column].tolist()
            for tally in tallies:
                tally.add(piece[tally.column.name], typed=self.typed)
        self.keys = positions_of(self.ids, where=str(self.nodes_path))
        self.columns = [tally.result() for tally in tallies]
        filled = sum(tally.filled for tally in tallies)
        encoding = Encoding("columns", tuple(self.columns), self.id_column)
        return encoding, is_sparse(filled, len(self.ids) * self.width, self.width)

    def features(self) -> Iterator[Any]:
        """Yield the features, some rows at a time [rows, features] sparse."""
        for piece in self._node_pieces():
            blocks = [
                encode_column(column, piece[column.name], typed=self.typed)[0]
                for column in self.columns
            ]
            yield scipy.sparse.hstack(blocks, format="csr")

    def edges(self) -> Iterator[tuple[_Array, _Array, _Array | None]]:
        """Yield positions of both ends and the weights of some edges at a time."""
        path, line = self.edges_path, 2
        for piece in _pieces(path):
            names = {str(name).lower(): name for name in piece.columns}
            if len(names) < 2:
                raise UnreadableFileError(f"{path} must have two columns, source and target.")
            ends = next((pair for pair in _ENDS if set(pair) <= names.keys()), None)
            chosen = [names[end] for end in ends] if ends else list(piece.columns[:2])
            places = [self._positions(piece[end], line) for end in chosen]
            weight = names.get("weight")
            weights = None
            if weight is not None and weight not in chosen:
                weights = _weights(piece[weight], path, line)
            yield places[0], places[1], weights
            line += len(piece)

    def _positions(self, cells: pd.Series, line: int) -> _Array:
        ends = pd.Index([id_key(cell) for cell in cells.tolist()], dtype=object)
        places = self.keys.get_indexer(ends)
        lost = np.flatnonzero(places < 0)
        if len(lost):
            raise UnreadableFileError(
                f"{self.edges_path} row {line + lost[0]} names the {cells.name} "
                f"'{ends[lost[0]]}', which is no id of a node. Add the node or remove the edge."
            )
        return np.asarray(places, dtype=np.int64)

    def _node_pieces(self) -> Iterator[pd.DataFrame]:
        numbers = [one.name for one in self.columns if one.kind in {"number", "scaled"}]
        used = [self.id_column, *(column.name for column in self.columns)]
        used += [self.label_column] if self.label_column else []
        return _pieces(self.nodes_path, numbers=numbers, used=used)

    def _learn_kinds(self, head: pd.DataFrame) -> list[Column]:
        columns = []
        for name in head.columns:
            kind = self.roles.get(str(name))
            other = kind is not None and kind not in FEATURE_KINDS
            if other or name in {self.id_column, self.label_column, ""}:
                continue
            column = learn_column(str(name), head[name], kind, typed=self.typed)
            columns += [column] if column else []
        return columns

    def _pick_id(self, names: list[str]) -> str:
        named = [name for name in names if self.roles.get(name) == "id"]
        usual = [name for name in names if name.lower() in ID_NAMES and name not in self.roles]
        return (named + usual + [name for name in names if name not in self.roles] + names)[0]

    def _pick_label(self, names: list[str]) -> str | None:
        named = [name for name in names if self.roles.get(name) == "label"]
        usual = {name.lower(): name for name in names if name not in self.roles}
        found = [usual[name] for name in LABEL_NAMES if name in usual]
        return (named + found + [""])[0] or None


class _Tally:
    """What is counted of one column over all pieces."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.count = self.filled = 0
        self.sum = self.squares = 0.0
        self.values: set[Any] = set()
        self.documents: _Array = np.zeros(0)

    def add(self, cells: pd.Series, *, typed: bool) -> None:
        """Count the cells of a piece."""
        name, kind = self.column.name, self.column.kind
        if kind in {"number", "scaled"}:
            probe = Column(name, "number", centre=math.nan)
            numbers = encode_column(probe, cells, typed=typed)[0].toarray().ravel()
            found = numbers[~np.isnan(numbers)]
            shift = self.column.centre  # near the mean, so that squares keep their digits
            self.count += len(found)
            self.sum += float((found - shift).sum())
            self.squares += float(((found - shift) ** 2).sum())
            self.filled += int(np.count_nonzero(numbers))
            return
        learned = learn_column(name, cells, kind, typed=typed)
        if learned is None:
            return
        self.filled += len(cells) if kind == "category" else 20 * len(cells)
        if kind == "category":
            self.values |= set(learned.values)
            return
        # idf = log((1 + cells) / (1 + documents)) + 1, so the documents of pieces can be added.
        self.count += len(cells)
        documents = (1 + len(cells)) / np.exp(np.array(learned.values) - 1) - 1
        self.documents = documents + (self.documents if len(self.documents) else 0)

    def result(self) -> Column:
        """Return what the whole column becomes."""
        name, kind = self.column.name, self.column.kind
        if kind == "category":
            return Column(name, kind, values=tuple(sorted(self.values)))
        if kind == "text":
            weights = np.log((1 + self.count) / (1 + self.documents)) + 1
            return Column(name, kind, values=tuple(weights.tolist()))
        mean = self.sum / max(1, self.count)
        spread = math.sqrt(max(0.0, self.squares / max(1, self.count) - mean**2))
        return Column(name, kind, self.column.centre + mean, spread)


def _width(column: Column) -> int:
    return len(column.values) if column.kind in {"category", "text"} else 1


def _weights(cells: pd.Series, path: Path, line: int) -> _Array:
    numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers > 0)))
    if len(wrong):
        raise UnreadableFileError(
            f"{path} row {line + wrong[0]} has the weight '{cells.iloc[wrong[0]]}'; weights must "
            "be positive numbers. Leave out edges that do not count."
        )
    return numbers


def _pieces(
    path: Path, *, numbers: list[str] | None = None, used: list[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield a table a few rows at a time; texts are stripped, named columns read as numbers."""
    if path.suffix == ".csv":
        yield from _csv_pieces(path, numbers or [], used)
        return
    try:
        from pyarrow import ArrowException  # noqa: PLC0415  (an extra)
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415
    except ImportError as error:
        raise UnreadableFileError(
            f"{path} is read by the package pyarrow, which is not installed. "
            "Install it with: pip install 'quietgraph[parquet]'"
        ) from error
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS, columns=used):
                yield batch.to_pandas()
    except (ArrowException, OSError, ValueError) as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise UnreadableFileError(f"{path} is no readable Parquet file ({reason}).") from error


def _csv_pieces(path: Path, numbers: list[str], used: list[str] | None) -> Iterator[pd.DataFrame]:
    try:
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline(2**22)
        names = pd.read_csv(path, sep=_separator(first), nrows=0, encoding="utf-8-sig").columns
        plain = [str(name).strip() for name in names]
        kinds: dict[str, Any] = {name: "float64" if name in numbers else str for name in plain}
        pieces = pd.read_csv(
            path,
            sep=_separator(first),
            header=0,
            names=plain,
            usecols=used,
            dtype=kinds,
            na_values={name: [*MISSING_WORDS, "NA", "N/A", "NaN", "NULL"] for name in numbers},
            keep_default_na=False,
            skipinitialspace=True,
            encoding="utf-8-sig",
            chunksize=_ROWS,
        )
        with pieces:
            for piece in pieces:
                texts = [name for name in piece.columns if name not in numbers]
                yield piece.assign(**{name: piece[name].str.strip() for name in texts})
    except UnreadableFileError:
        raise
    except (OSError, ValueError) as error:  # pandas' own errors are ValueErrors
        reason = " ".join(str(error).split()).rstrip(".")
        raise UnreadableFileError(
            f"{path} cannot be read as CSV ({reason}). Mend it, or read a column otherwise with "
            "--column NAME=category."
        ) from error


def _separator(first: str) -> str:
    return max(",;\t", key=first.count)
