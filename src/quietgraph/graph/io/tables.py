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
NUMERIC: Final = re.compile("U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|BOOLEAN|DECIMAL.*?")
_BLOCK: Final = 2**22  # bytes looked at at once
_ROOM: Final = 10**9  # bytes that the texts of a Parquet file may take beside twenty times its size
_HINTS: Final = {
    "utf|unicode": "Save it as UTF-8.",
    "Columns|quote": "Put cells with separators in quotes, and close all.",
}


@contextmanager
def open_database(memory: str = "70%") -> Iterator[duckdb.DuckDBPyConnection]:
    """Give a database in memory that moves to a temporary folder what does not fit."""
    with (
        tempfile.TemporaryDirectory(prefix="quietgraph-", ignore_cleanup_errors=True) as folder,
        duckdb.connect() as db,
    ):
        # One thread: sums over threads would add in another order from run to run.
        db.execute(f"SET threads = 1; SET memory_limit = '{memory}'; SET temp_directory = {quoted(folder)}")
        yield db


@contextmanager
def readable(where: str) -> Iterator[None]:
    """Turn an error of the database, of pandas or of the disk into one sentence."""
    try:
        yield
    except (duckdb.Error, OSError, ValueError, KeyError, csv.Error, OverflowError) as error:
        text = str(error) or type(error).__name__
        line = re.search(r"CSV Error on Line: (\d+)", text)
        said = re.search(r"(?m)^(Expected Number|Value with|Invalid unicode|Maximum line).*", text) if line else None
        reason = said[0] if said else text.splitlines()[0].removeprefix("Invalid Input Error: ")
        hint = next(
            (hint for word, hint in _HINTS.items() if re.search(word, reason, re.IGNORECASE)), "Check the file."
        )
        place = f"{where} line {line[1]}" if line else where
        raise UnreadableFileError(f"{place} cannot be read: {reason[:200].rstrip('. ')}. {hint}") from error


@dataclass
class Table:
    """A table of the database; its columns are c0, c1, ..., so names of users are never part of SQL."""

    db: duckdb.DuckDBPyConnection
    name: str  # in the database
    where: str  # the file, for messages
    names: list[str]  # of its columns, as the user wrote them
    rows_of: str  # what gives its rows, in SQL
    is_text: bool = False  # whether cells are texts, and whole columns decide what they are
    path: Path | None = None  # of a text file, to find lines in
    types: dict[str, str] = field(default_factory=dict)  # of columns that were filled; VARCHAR for texts of any kind
    rows: int = 0

    def __post_init__(self) -> None:
        twice = [name for place, name in enumerate(self.names) if name in self.names[:place]]
        if twice:
            raise UnreadableFileError(f"{self.where} names the column '{twice[0]}' twice. Give each a name of its own.")

    @property
    def given(self) -> str:
        """The rows of the source in SQL, with columns c0, c1, ..."""
        return f"{self.rows_of} AS given({', '.join(map(self.column, self.names))})"

    def column(self, name: str) -> str:
        """Return the name of a column in SQL."""
        return f"c{self.names.index(name)}"

    def fill(self, names: Sequence[str], *, raw: Collection[str | None] = (), missing: Sequence[str] = ()) -> None:
        """Copy some columns into the database: cells trimmed, words for unknown as NULL but in `raw` ones."""
        kinds = {name: row[1] for name, row in zip(self.names, self.all(f"DESCRIBE FROM {self.rows_of}"), strict=True)}
        cells = ""
        for name in names:
            cell, self.types[name] = _cell(self.column(name), kinds[name], () if name in raw else missing)
            cells += f", {cell} AS {self.column(name)}"
        numbered = f"SELECT (row_number() OVER () - 1)::INTEGER AS _row{cells} FROM {self.given}"
        self.all(f"CREATE TABLE {self.name} AS {numbered}")
        self.rows = self.all("SELECT count(*) FROM {table}")[0][0]

    def all(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query; `{table}` in it is this table."""
        with readable(self.where):
            return self.db.execute(query.replace("{table}", self.name)).fetchall()

    def arrays(self, query: str) -> list[AnyArray]:
        """Return the columns of a query; None stands for NULL."""
        with readable(self.where):
            found: dict[str, Any] = self.db.execute(query.replace("{table}", self.name)).fetchnumpy()
        for name, values in found.items():
            if isinstance(values, np.ma.MaskedArray):
                found[name] = values.data.astype(object) if values.mask.any() else values.data
                found[name][values.mask] = None
        return [np.asarray(values) for values in found.values()]

    def place(self, row: int) -> str:
        """Return where a row stands, in words: line 7."""
        if self.path is None:
            return f"row {row + 1}"
        with self.path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, delimiter=read_header(self.path)[1])
            lines = (reader.line_num for cells in reader if cells or len(self.names) == 1)
            return f"line {next(islice(lines, row + 1, None), row + 2)}"


def open_table(db: duckdb.DuckDBPyConnection, name: str, source: Path | pd.DataFrame) -> Table:
    """Return the table of a file or DataFrame, not filled yet."""
    if isinstance(source, pd.DataFrame):
        return Table(db, name, f"the table of {name}", list(map(str, source.columns)), _register(db, name, source))
    where, pattern = str(source), quoted(re.sub(r"([*?\[])", r"[\1]", str(source)))
    if source.suffix == ".xlsx":
        frame = _read_excel(source)
        names = [str(one).strip() for one in frame.columns]
        return Table(db, name, where, names, _register(db, name, frame), is_text=True)
    if source.suffix == ".parquet":
        with readable(where):
            columns = db.execute(f"DESCRIBE FROM read_parquet({pattern})").fetchall()
        table = Table(db, name, where, [row[0] for row in columns], f"read_parquet({pattern})")
        texts = [f"sum(strlen(c{place}))" for place, row in enumerate(columns) if row[1] == "VARCHAR"]
        sizes = table.all(f"SELECT {', '.join(['0', *texts])} FROM {table.given}")[0]
        if max(filter(None, sizes), default=0) > 20 * source.stat().st_size + _ROOM:
            raise UnreadableFileError(f"{where} holds texts far longer than the file. Write it again without them.")
        return table
    names, separator, blank = read_header(source)
    if _mixes_line_ends(source):
        copy = Path(db.execute("SELECT current_setting('temp_directory')").fetchall()[0][0]) / name
        copy.write_bytes(source.read_bytes().replace(b"\r\n", b"\n"))
        pattern = quoted(str(copy))
    kinds = ", ".join(f"'c{place}': 'VARCHAR'" for place in range(len(names)))
    rows = f"read_csv({pattern}, sep={quoted(separator)}, quote='\"', escape='\"', header=true, skip={blank}, "
    rows += f"auto_detect=false, columns={{{kinds}}})"  # the sniffer reads a ragged file as one column
    return Table(db, name, where, names, rows, is_text=True, path=source)


def read_header(path: Path) -> tuple[list[str], str, int]:
    """Return the names of the columns of a text file, its separator, and how many blank lines come first."""
    with readable(str(path)), path.open(newline="", encoding="utf-8-sig") as file:
        blank, first = 0, file.readline(_BLOCK)
        while first and not first.strip():
            blank, first = blank + 1, file.readline(_BLOCK)
        lines = [first, *islice(file, 20)] if first.count('"') % 2 else [first]  # a name may hold line ends
        separator = max(",;\t|", key=re.sub(r'"[^"]*"', "", "".join(lines)).count)
        names = [name.strip() for name in next(csv.reader(lines, delimiter=separator), [])]
    if not any(names):
        raise UnreadableFileError(f"{path} is empty. Its first line must name the columns.")
    return names, separator, blank


def _read_excel(path: Path) -> pd.DataFrame:
    try:
        return pd.read_excel(path, dtype=str, keep_default_na=False, engine="openpyxl")
    except ImportError as error:
        raise UnreadableFileError(
            f"{path} is read by openpyxl. Run pip install openpyxl, or save it as CSV."
        ) from error
    except Exception as error:  # openpyxl raises errors of any kind on damaged files
        reason = (str(error) or type(error).__name__).splitlines()[0][:200]
        raise UnreadableFileError(f"{path} is no readable Excel file: {reason}. Save it again.") from error


def _mixes_line_ends(path: Path) -> bool:
    with readable(str(path)), path.open("rb") as file:
        pairs = ends = 0
        while block := file.read(_BLOCK):
            block += file.read(1) if block.endswith(b"\r") else b""
            pairs, ends = pairs + block.count(b"\r\n"), ends + block.count(b"\n")
    return 0 < pairs < ends


def _register(db: duckdb.DuckDBPyConnection, name: str, frame: pd.DataFrame) -> str:
    """Make the rows of a DataFrame known, and return their name; columns that mix kinds of values are refused."""
    plain = frame.reset_index(drop=True).convert_dtypes()
    for title, cells in plain.select_dtypes(object).items():
        kinds = sorted({type(one).__name__ for one in cells.dropna()})
        if pd.api.types.infer_dtype(cells).startswith("mixed") and not {*kinds} <= {"list", "tuple", "ndarray"}:
            raise UnreadableFileError(
                f"the column '{title}' of the {name} must hold only numbers or only texts, got {kinds}. Convert it."
            )
    plain.columns = pd.Index([f"c{place}" for place in range(plain.shape[1])])
    db.register(f"{name}_frame", plain)
    return f"{name}_frame"


def _cell(column: str, kind: str, missing: Sequence[str]) -> tuple[str, str]:
    """Return a cell in SQL, trimmed, NULL where it means unknown; and its type."""
    if kind.startswith(("VARCHAR", "ENUM", "UUID", "BLOB")) and not kind.endswith("]"):
        plain = f"decode({column})" if kind == "BLOB" else f"{column}::VARCHAR"
        words, blanks = "|".join(["", *(re.escape(word) for word in missing if word)]), " \t\r\n\xa0"
        odd = quoted(f"^({words})$|^[{blanks}]|[{blanks}]$")  # no IN or list: they take megabytes for each column
        known = f"nullif(regexp_replace(trim({plain}, '{blanks}'), {quoted(f'^({words})$')}, ''), '')"
        return f"CASE WHEN regexp_matches({plain}, {odd}) THEN {known} ELSE {plain} END", "VARCHAR"
    numbers = [word for word in missing if re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", word)]
    if numbers and NUMERIC.fullmatch(kind) and kind != "BOOLEAN":
        return f"CASE WHEN {column} NOT IN ({', '.join(numbers)}) THEN {column} END", kind
    return column, kind


def id_keys(ids: Any) -> list[str]:
    """Return ids as texts, the same for 7, 7.0 and '7', so that files of any kind agree."""
    return [re.sub(r"^(-?[0-9]+)[.]0+$", r"\1", str(one).strip()) for one in ids]


def quoted(value: str) -> str:
    """Return a text in SQL."""
    return "'" + value.replace("'", "''") + "'"
