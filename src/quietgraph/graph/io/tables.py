"""CSV, Parquet and Excel files and DataFrames as tables of one DuckDB database, which spills to disk."""

import csv
import re
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import pandas as pd

from quietgraph.errors import UnreadableFileError
from quietgraph.types import AnyArray

MISSING: Final = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # what means unknown in a table
ENDINGS: Final = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")
ID: Final = r"regexp_replace({}::VARCHAR, '^(-?[0-9]+)[.]0+$', '\1')"  # 7.0 and 7 are one node
_TRIMMED: Final = "trim({}, ' ' || chr(9) || chr(10) || chr(13) || chr(160))"
_TEXTS: Final = ("VARCHAR", "ENUM", "UUID")
_BLOCK: Final = 2**22  # bytes looked at at once
_ROOM: Final = 10**9  # bytes that the texts of a Parquet file may take beside twenty times its size


@contextmanager
def open_database(memory: str = "70%") -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database in memory that moves to a temporary folder what does not fit."""
    with tempfile.TemporaryDirectory(prefix="quietgraph-", ignore_cleanup_errors=True) as folder:
        # One thread: sums over threads would add in another order from run to run.
        options = {"threads": 1, "memory_limit": memory, "temp_directory": folder}
        with duckdb.connect(":memory:", config=options) as db:
            yield db


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn an error of the database, of pandas or of the disk into one sentence."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"{where} is not UTF-8 text ({error.reason}). Save it again as UTF-8.") from error
    except (duckdb.Error, OSError, ValueError, KeyError, csv.Error, OverflowError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip() and not line.startswith("*")]
        said = [line for line in lines if not re.match("Possible|file =|Original Line|LINE", line)] or ["unreadable"]
        found = re.search(r"CSV Error on Line: (\d+)", said[0])
        place = f" line {found[1]}" if found else ""
        reason = said[1] if found and len(said) > 1 else said[0]
        raise UnreadableFileError(
            f"{where}{place} cannot be read: {reason[:200].rstrip('. ')}. {_way_out(reason)}"
        ) from error


def _way_out(reason: str) -> str:
    if "utf-8" in reason.lower() or "UTF8" in reason:
        return "Save it again as UTF-8."
    if "Number of Columns" in reason or "quote" in reason:
        return "Put cells that hold the separator in quotes, and close every quote."
    return "Check that the file is what its name says."


def read_header(path: Path) -> tuple[list[str], str, int]:
    """Return the names of the columns of a text file, its separator, and how many blank lines come first."""
    with readable(str(path)), path.open(newline="", encoding="utf-8-sig") as file:
        blank, first = 0, file.readline(_BLOCK)
        while first and not first.strip():
            blank, first = blank + 1, file.readline(_BLOCK)
        first += "".join(islice(file, 20)) if first.count('"') % 2 else ""  # a name may hold line ends
    widths = {mark: len(next(csv.reader([*first.splitlines(keepends=True)], delimiter=mark), [])) for mark in ",;\t|"}
    separator = max(widths, key=lambda mark: widths[mark])
    names = [name.strip() for name in next(csv.reader([*first.splitlines(keepends=True)], delimiter=separator), [])]
    if not any(names):
        raise UnreadableFileError(f"{path} is empty. Its first line must name the columns.")
    return names, separator, blank


@dataclass
class Table:
    """A table of the database; its columns are c0, c1, ..., so names of users are never part of SQL.

    Attributes:
        db: Where it is.
        name: Of the table in the database.
        where: The file, for messages.
        names: Of its columns, as the user wrote them.
        is_text: Whether cells are texts, and whole columns decide what they are.
        path: Of the file; None of a DataFrame.
        types: Type of each column that was filled, by its name.
        rows: Number of rows, once it was filled.
    """

    db: duckdb.DuckDBPyConnection
    name: str
    where: str
    names: list[str]
    is_text: bool
    path: Path | None = None
    types: dict[str, str] = field(default_factory=dict)
    rows: int = 0

    def column(self, name: str) -> str:
        """Return the name of a column in SQL."""
        return f"c{self.names.index(name)}"

    def fill(self, names: Sequence[str], *, raw: Collection[str | None] = (), missing: Sequence[str] = ()) -> None:
        """Copy some columns into the database: cells trimmed, words for unknown as NULL but in `raw` ones."""
        with readable(self.where):
            described = self.db.execute(f"DESCRIBE SELECT * FROM {self.name}_rows").fetchall()
            kinds = {self.names[place]: row[1] for place, row in enumerate(described)}
            cells = [_cell(self.column(one), kinds[one], () if one in raw else missing) for one in names]
            columns = "".join(f", {cell} AS {self.column(one)}" for cell, one in zip(cells, names, strict=True))
            self.db.execute(
                f"CREATE TABLE {self.name} AS SELECT (row_number() OVER () - 1)::INTEGER AS _row{columns} "
                f"FROM {self.name}_rows"
            )
            self.types = {one: "VARCHAR" if _is_text(kinds[one]) else kinds[one] for one in names}
            self.rows = self.db.execute(f"SELECT count(*) FROM {self.name}").fetchall()[0][0]

    def one(self, query: str) -> tuple[Any, ...]:
        """Return the first row of a query; `{table}` in it is this table."""
        with readable(self.where):
            found = self.db.execute(query.replace("{table}", self.name)).fetchall()
        return found[0] if found else ()

    def arrays(self, query: str) -> dict[str, AnyArray]:
        """Return the columns of a query as arrays, None or NaN where they are NULL."""
        with readable(self.where):
            found = self.db.execute(query.replace("{table}", self.name)).fetchnumpy()
        return {name: _plain(values) for name, values in found.items()}

    def place(self, row: int) -> str:
        """Return where a row stands, in words: line 7."""
        if not self.is_text or self.path is None or self.path.suffix == ".xlsx":
            return f"row {row + 1}"
        names, separator, _ = read_header(self.path)
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=separator)
            filled = (
                reader.line_num for cells in reader if cells and (len(names) == 1 or any(cells) or len(cells) > 1)
            )
            return f"line {next(islice(filled, row + 1, None), row + 2)}"


def open_table(db: duckdb.DuckDBPyConnection, name: str, source: Path | pd.DataFrame) -> Table:
    """Return the table of a file or DataFrame, not filled yet."""
    if isinstance(source, pd.DataFrame):
        where = f"the table of {name}"
        _register(db, name, source, where)
        return _checked(Table(db, name, where, [str(one) for one in source.columns], is_text=False))
    where = str(source)
    if not source.is_file():
        raise UnreadableFileError(f"there is no file {source}. Correct the path.")
    if source.suffix == ".xlsx":
        frame = _read_excel(source)
        _register(db, name, frame, where)
        return _checked(Table(db, name, where, [str(one).strip() for one in frame.columns], is_text=True, path=source))
    if source.suffix == ".parquet":
        with readable(where):
            _view(db, name, f"read_parquet({quoted(_safe(db, source))})")
            names = [
                row[0]
                for row in db.execute(f"DESCRIBE SELECT * FROM read_parquet({quoted(_safe(db, source))})").fetchall()
            ]
        _check_room(db, name, source, len(names))
        return _checked(Table(db, name, where, names, is_text=False, path=source))
    names, separator, blank = read_header(source)
    columns = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    with readable(where):
        path = quoted(_safe(db, source, lines=True))
        _view(
            db,
            name,
            f"read_csv({path}, sep={quoted(separator)}, quote='\"', escape='\"', header=true, skip={blank}, "
            f"auto_detect=false, columns={{{columns}}})",
        )
    return _checked(Table(db, name, where, names, is_text=True, path=source))


def _checked(table: Table) -> Table:
    twice = [name for place, name in enumerate(table.names) if name in table.names[:place]]
    if twice:
        raise UnreadableFileError(f"{table.where} names the column '{twice[0]}' twice. Give each a name of its own.")
    return table


def _view(db: duckdb.DuckDBPyConnection, name: str, rows: str) -> None:
    """Name the rows of a source, with columns c0, c1, ..."""
    width = len(db.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall())
    names = ", ".join(f"c{place}" for place in range(width))
    db.execute(f"CREATE VIEW {name}_rows AS SELECT * FROM {rows} AS given({names})")


def _register(db: duckdb.DuckDBPyConnection, name: str, frame: pd.DataFrame, where: str) -> None:
    """Name the rows of a DataFrame; columns that mix kinds of values are refused."""
    plain = frame.reset_index(drop=True).convert_dtypes()
    for place, title in enumerate(plain.columns):
        cells = plain.iloc[:, place]
        found = pd.api.types.infer_dtype(cells, skipna=True) if cells.dtype == object else ""
        lists = found == "mixed" and all(isinstance(one, list | tuple | np.ndarray) for one in cells.dropna())
        if found.startswith("mixed") and not lists:
            kinds = ", ".join(sorted({type(one).__name__ for one in cells.dropna()}))
            raise UnreadableFileError(
                f"{where}: the column '{title}' must hold only numbers or only texts, got {kinds}. Convert it first."
            )
    plain.columns = pd.Index([f"c{place}" for place in range(plain.shape[1])])
    with readable(where):
        db.register(f"{name}_rows", plain)


def _read_excel(path: Path) -> pd.DataFrame:
    try:
        with readable(str(path)):
            return pd.read_excel(path, dtype=str, keep_default_na=False)
    except ImportError as error:
        raise UnreadableFileError(
            f"{path} is read by openpyxl, which is not installed. Run pip install openpyxl, or save it as CSV."
        ) from error


def _safe(db: duckdb.DuckDBPyConnection, path: Path, *, lines: bool = False) -> str:
    """Return a path to the same content that the database reads: no pattern, one kind of line end."""
    ends = {b"\r\n": 0, b"\n": 0}
    if lines:
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                block += file.read(1) if block.endswith(b"\r") else b""
                ends = {end: count + block.count(end) for end, count in ends.items()}
                if b"\0" in block:
                    raise ValueError("it holds zero bytes, so it is no UTF-8 text")
    if 0 < ends[b"\r\n"] < ends[b"\n"] or re.search(r"[*?\[]", str(path)):
        folder = db.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]
        copy = Path(folder) / f"copy{path.suffix}"
        with path.open("rb") as file, copy.open("wb") as target:
            while block := file.read(_BLOCK):
                target.write(block.replace(b"\r\n", b"\n") if lines else block)
        return str(copy)
    return str(path)


def _check_room(db: duckdb.DuckDBPyConnection, name: str, path: Path, width: int) -> None:
    """Refuse a Parquet file whose few bytes stand for very long texts."""
    with readable(str(path)):
        kinds = db.execute(f"DESCRIBE SELECT * FROM {name}_rows").fetchall()
        texts = [f"sum(strlen(c{place}))" for place in range(width) if kinds[place][1] == "VARCHAR"]
        sizes = db.execute(f"SELECT {', '.join(texts)} FROM {name}_rows").fetchall()[0] if texts else ()
    if max((size or 0 for size in sizes), default=0) > 20 * path.stat().st_size + _ROOM:
        raise UnreadableFileError(f"{path} holds texts far longer than the file. Write it again with fewer texts.")


def _cell(column: str, kind: str, missing: Sequence[str]) -> str:
    """Return a cell in SQL: trimmed, NULL where it means unknown."""
    if _is_text(kind) or kind == "BLOB":
        text = _TRIMMED.format(f"decode({column})" if kind == "BLOB" else f"{column}::VARCHAR")
        words = ", ".join(map(quoted, {"", *missing}))
        return f"CASE WHEN {text} IN ({words}) THEN NULL ELSE {text} END"
    numbers = [word for word in missing if re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", word)]
    if numbers and re.match(r".*INT|DOUBLE|FLOAT|DECIMAL", kind) and not kind.endswith("]"):
        return f"CASE WHEN {column} IN ({', '.join(numbers)}) THEN NULL ELSE {column} END"
    return column


def id_keys(ids: Any) -> list[str]:
    """Return ids as texts, the same for 7, 7.0 and '7', so that files of any kind agree."""
    return [re.sub(r"^(-?[0-9]+)[.]0+$", r"\1", str(one).strip()) for one in ids]


def _is_text(kind: str) -> bool:
    return kind.startswith(_TEXTS) and not kind.endswith("]")


def quoted(value: str) -> str:
    """Return a text in SQL."""
    return "'" + value.replace("'", "''") + "'"


def _plain(values: Any) -> AnyArray:
    if isinstance(values, pd.Categorical):
        return np.asarray(values, dtype=object)
    if isinstance(values, np.ma.MaskedArray):
        found = values.data.astype(object) if values.mask.any() else values.data
        found[values.mask] = None
        return found
    return np.asarray(values)
