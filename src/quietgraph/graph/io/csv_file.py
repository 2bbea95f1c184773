"""A CSV file as a table of texts, line by line, in bounded memory, with every mistake named."""

import csv
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO

import pandas as pd

from quietgraph.errors import UnreadableFileError

MAX_LINE: Final = 4 * 2**20  # characters; a longer line is no row of a table
_ROWS_AT_ONCE: Final = 20_000
_DELIMITERS: Final = ",;\t"


def read_csv(path: Path) -> pd.DataFrame:
    """Return all cells as stripped texts; the index is the line each row ends on."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            lines = _bounded_lines(file, path)
            first = next(lines, "")
            reader = csv.reader(
                itertools.chain([first], lines),
                delimiter=max(_DELIMITERS, key=first.count),
                skipinitialspace=True,
                strict=True,
            )
            rows = ((reader.line_num, row) for row in reader if row)
            names = _check_header(next(rows, (0, []))[1], path)
            return _collect(rows, names, path)
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{path} is not UTF-8 text (byte 0x{error.object[error.start]:02x}). "
            "Save it again as UTF-8."
        ) from error
    except csv.Error as error:
        raise UnreadableFileError(
            f"{path} line {reader.line_num} is not valid CSV: {error}. Check its quotes."
        ) from error
    except OSError as error:
        raise UnreadableFileError(f"{path} cannot be read: {error.strerror}.") from error


def _bounded_lines(file: TextIO, path: Path) -> Iterator[str]:
    """Yield the lines, and refuse one that is too long before it fills the memory."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE and not line.endswith(("\n", "\r")):
            raise UnreadableFileError(
                f"{path} line {number} is longer than {MAX_LINE:,} characters, which no row of a "
                "table is. Check that the file is CSV with one row per line."
            )
        if "\0" in line:
            raise UnreadableFileError(
                f"{path} line {number} holds zero bytes, so it is no text. Save it as UTF-8 CSV."
            )
        yield line


def _check_header(cells: list[str], path: Path) -> list[str]:
    names = [cell.strip() for cell in cells]
    if not any(names):
        raise UnreadableFileError(f"{path} is empty. Its first line must name the columns.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UnreadableFileError(
            f"{path} names the column '{twice[0]}' twice. Give every column a name of its own."
        )
    return names


def _collect(rows: Iterator[tuple[int, list[str]]], names: list[str], path: Path) -> pd.DataFrame:
    parts = []
    # Texts are packed every few rows: as Python strings they would take many times the room.
    while chunk := list(itertools.islice(rows, _ROWS_AT_ONCE)):
        for line, row in chunk:
            if len(row) != len(names):
                raise UnreadableFileError(
                    f"{path} line {line} has {len(row)} cells, but its header names {len(names)} "
                    "columns. Put cells that contain the separator in quotes."
                )
        columns = zip(*(row for _, row in chunk), strict=True)
        cells = {
            name: pd.array([cell.strip() for cell in column], dtype="str")
            for name, column in zip(names, columns, strict=True)
        }
        parts.append(pd.DataFrame(cells, index=[line for line, _ in chunk]))
    table = pd.concat(parts) if parts else pd.DataFrame(columns=names, dtype="str")
    return table.rename_axis(index="line")
