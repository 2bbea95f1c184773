"""A CSV file as a stream of texts: parsed by Arrow, with every mistake named by its line."""

import csv
import io
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.csv import ConvertOptions, ParseOptions, ReadOptions, open_csv

from quietgraph.errors import UnreadableFileError
from quietgraph.files import regular_file
from quietgraph.graph.io.limits import MAX_LINE
from quietgraph.graph.io.spreadsheet import unguard, unguarded

_BLOCK: Final = 2**24  # bytes parsed at a time
_DELIMITERS: Final = ",;\t|"


def read_header(path: Path) -> tuple[list[str], str]:
    """Return the names of the columns and the separator."""
    lines = _lines(path)
    first = next((line for line in lines if line.strip()), "")
    delimiter = max(_DELIMITERS, key=first.count)
    cells = next(_rows(path, delimiter), (0, []))[1]
    names = [unguard(cell.strip()) for cell in cells]
    if not any(names):
        raise UnreadableFileError(f"{path} is empty. Its first line must name the columns.")
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UnreadableFileError(
                f"{path} names the column '{name}' twice. Give every column a name of its own."
            )
        seen.add(name)
    return names, delimiter


def csv_pieces(path: Path, names: list[str], delimiter: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows below the header, some at a time, all cells as stripped texts."""
    places = [str(place) for place in range(len(names))]
    stream = _CheckedStream(path)
    try:
        reader = open_csv(
            stream,
            # The header is a row like others, so that its names may be anything.
            ReadOptions(block_size=_BLOCK, use_threads=False, column_names=places),
            ParseOptions(delimiter=delimiter, newlines_in_values=True),
            ConvertOptions(column_types=dict.fromkeys(places, pa.string())),
        )
        skipped = 1
        for batch in reader:
            rows = batch.slice(skipped)
            skipped -= batch.num_rows - rows.num_rows
            cells = [unguarded(pc.utf8_trim_whitespace(column)) for column in rows.columns]
            del batch, rows  # else the texts would be in memory twice
            yield pa.RecordBatch.from_arrays(cells, names=names)
    except pa.ArrowException as error:
        _find_mistake(path, len(names), delimiter)
        raise UnreadableFileError(
            f"{path} is not valid CSV ({str(error).splitlines()[0]}). Check its quotes."
        ) from error
    if stream.quotes % 2:  # the last one may have swallowed the rest of the file
        _find_mistake(path, len(names), delimiter)


def line_of(path: Path, delimiter: str, row: int) -> int:
    """Return the line on which a row below the header ends."""
    found = next(itertools.islice(_rows(path, delimiter), row + 1, None), None)
    return found[0] if found else row + 2


class _CheckedStream(io.RawIOBase):
    """The bytes of a file, refused where a line is too long for a table or holds zero bytes."""

    def __init__(self, path: Path) -> None:
        self.path, self.quotes, self.line, self._open = path, 0, 1, 0
        self._file = _open(path)

    def readable(self) -> bool:
        """Whether it can be read: always."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        piece: bytes = self._file.read(min(size, _BLOCK) if size >= 0 else _BLOCK)
        raw = np.frombuffer(piece, dtype=np.uint8)
        ends = np.flatnonzero((raw == 10) | (raw == 13))
        lengths = np.diff(np.concatenate([[-1 - self._open], ends, [len(raw)]])) - 1
        if lengths.max() > MAX_LINE:
            bad = int(lengths.argmax())
            before = piece[: int(ends[bad - 1]) + 1] if bad else b""
            raise _too_long(self.path, self.line + before.count(b"\n"))
        if b"\0" in piece:
            line = self.line + piece[: piece.index(b"\0")].count(b"\n")
            raise UnreadableFileError(
                f"{self.path} line {line} holds zero bytes, so it is no text. Save it as UTF-8 CSV."
            )
        self._open = int(lengths[-1])
        self.quotes += piece.count(b'"')
        self.line += piece.count(b"\n")
        return piece


def _find_mistake(path: Path, width: int, delimiter: str) -> None:
    """Raise for the first row of another width; quotes and texts are checked on the way."""
    for line, row in _rows(path, delimiter):
        if len(row) != width:
            raise UnreadableFileError(
                f"{path} line {line} has {len(row)} cells, but its header names {width} columns. "
                "Put cells that contain the separator in quotes, right after the separator."
            )


def _rows(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that hold something, each with the line it ends on; slow and strict."""
    reader = csv.reader(_lines(path), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise UnreadableFileError(
            f"{path} line {reader.line_num} is not valid CSV: {error}. Check its quotes."
        ) from error


def _lines(path: Path) -> Iterator[str]:
    with io.TextIOWrapper(_open(path), encoding="utf-8-sig", newline="") as file:
        number = 0
        try:
            while line := file.readline(MAX_LINE):
                number += 1
                if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
                    raise _too_long(path, number)
                yield line
        except UnicodeDecodeError as error:
            raise UnreadableFileError(
                f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x}). "
                "Save it again as UTF-8."
            ) from error


def _open(path: Path) -> Any:
    try:
        return regular_file(path).open("rb")
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror}.") from error


def _too_long(path: Path, line: int) -> UnreadableFileError:
    return UnreadableFileError(
        f"{path} line {line} is longer than {MAX_LINE:,} characters, which no row of a table is. "
        "Check that the file is CSV with one row per line."
    )
