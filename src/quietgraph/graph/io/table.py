"""Tables as streams of rows: CSV, Parquet and DataFrames behind one face."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Protocol

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.csv_file import csv_pieces, line_of, read_header
from quietgraph.graph.io.limits import COLUMN, NODE, Budget, parsing
from quietgraph.graph.io.parquet_footer import claimed_sizes

TABLE_ENDINGS: Final = (".csv", ".tsv", ".txt", ".parquet")
_ROWS: Final = 65_536  # at a time
_KEPT: Final = 32 * 2**20  # bytes of a file below which its rows are parsed once and kept


class Table(Protocol):
    """Named columns, read some rows at a time as often as needed.

    Attributes:
        where: The file, for messages.
        names: Of the columns.
        typed: Whether the file itself says which cells are numbers (CSV does not).
    """

    @property
    def where(self) -> str:
        """The file, for messages."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""

    @property
    def typed(self) -> bool:
        """Whether cells have types; those of CSV are texts."""

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""

    def place(self, row: int) -> str:
        """Return where a row stands, in words: line 7."""


def open_table(path: Path, budget: Budget) -> Table:
    """Return the table of a `.parquet` file, or of a text file with separators."""
    return _ParquetTable(path, budget) if path.suffix == ".parquet" else _CsvTable(path, budget)


class _CsvTable:
    typed = False

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.where = path, str(path)
        names, self.delimiter = read_header(path)
        budget.check("columns", len(names), COLUMN)
        self.names = names
        self._kept: list[pa.RecordBatch] | None = None

    def pieces(self) -> Iterator[pa.RecordBatch]:
        fresh = csv_pieces(self.path, self.names, self.delimiter)
        if self._kept is None and self.path.stat().st_size < _KEPT:
            self._kept = list(fresh)
        return iter(self._kept) if self._kept is not None else fresh

    def place(self, row: int) -> str:
        return f"line {line_of(self.path, self.delimiter, row)}"


class _ParquetTable:
    typed = True

    def __init__(self, path: Path, budget: Budget) -> None:
        self.path, self.where = path, str(path)
        with parsing(path, "Parquet file"), pq.ParquetFile(path) as file:
            facts, schema = file.metadata, file.schema_arrow
            self.names = [str(name) for name in schema.names]
            cells, packed = claimed_sizes(path)
            # Texts stay dictionaries: a few bytes may stand for a long text in a million rows.
            self.texts = [field.name for field in schema if _is_text(field.type)]
            rows = facts.num_rows
        budget.check("columns", len(self.names), COLUMN)
        budget.check("rows", rows, NODE)
        budget.check("cells", cells, 8)
        budget.check("bytes", packed)
        if len(set(self.names)) < len(self.names):
            raise UnreadableFileError(f"{path} names a column twice. Give each its own name.")

    def pieces(self) -> Iterator[pa.RecordBatch]:
        with (
            parsing(self.path, "Parquet file"),
            pq.ParquetFile(self.path, read_dictionary=self.texts) as file,
        ):
            for batch in file.iter_batches(_ROWS):
                batch.validate(full=True)  # texts that are UTF-8, places inside dictionaries
                # Without pandas' own notes in the file, which may hide columns in an index.
                yield batch.replace_schema_metadata(None)

    def place(self, row: int) -> str:
        return f"row {row + 1}"


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A DataFrame, or a mapping of lists, as a table."""

    frame: pd.DataFrame | Mapping[str, Sequence[object]]
    where: str
    typed: bool = True

    @cached_property
    def batches(self) -> list[pa.RecordBatch]:
        """The rows as Arrow has them."""
        frame = pd.DataFrame(self.frame)
        names = [str(name) for name in frame.columns]
        if len(set(names)) < len(names):
            raise UnreadableFileError(f"{self.where} name a column twice. Give each its own name.")
        columns = [_arrow(frame.iloc[:, place], name) for place, name in enumerate(names)]
        table = pa.Table.from_arrays(columns, names=names)
        return table.to_batches(_ROWS) or [pa.RecordBatch.from_pylist([], schema=table.schema)]

    @property
    def names(self) -> list[str]:
        """Of the columns."""
        return [str(name) for name in pd.DataFrame(self.frame).columns]

    def pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield all rows, some at a time."""
        return iter(self.batches)

    def place(self, row: int) -> str:
        """Return where a row stands, in words."""
        return f"row {row + 1}"


def _arrow(cells: pd.Series, name: str) -> pa.Array:
    try:
        return pa.Array.from_pandas(cells)
    except OverflowError as error:
        raise UnreadableFileError(
            f"the column '{name}' holds whole numbers beyond 64 bits. Write them as texts, or "
            f"leave it out with --column {name}=ignore."
        ) from error
    except (pa.ArrowException, TypeError, ValueError) as error:
        found = sorted({type(value).__name__ for value in cells[~cells.isna()]})
        raise UnreadableFileError(
            f"the column '{name}' must hold only numbers or only texts, got {', '.join(found)}. "
            f"Convert it, or leave it out with --column {name}=ignore."
        ) from error
