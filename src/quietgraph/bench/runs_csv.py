"""Runs as a CSV file, so that a sweep goes on elsewhere.

In a compact file parameters and versions, the same JSON in most rows, are written out once: `#2`
stands for the second different value of its column.
"""

import csv
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import fields
from pathlib import Path

from quietgraph.bench.record import RUN_COLUMNS, Record, RunKey, records_frame
from quietgraph.bench.renames import current_key
from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.files import bounded_lines, write_file

_KEY = tuple(field.name for field in fields(RunKey))
_REPEATED = ("parameters", "versions")


def write_runs(path: str | Path, records: Iterable[Record], *, is_compact: bool = False) -> None:
    """Write runs to a file, in one step.

    Args:
        path: Of the file.
        records: A line each.
        is_compact: Write repeated parameters and versions once.
    """
    frame = records_frame(records)
    for name in _REPEATED if is_compact else ():
        places = {text: f"#{place}" for place, text in enumerate(frame[name].unique(), start=1)}
        frame[name] = frame[name].where(~frame.duplicated(name), frame[name].map(places))
    write_file(path, frame.to_csv(index=False, lineterminator="\n"))


def read_runs(path: str | Path) -> list[Record]:
    """Return the runs of a file, under the current names of their parameters.

    A run that does not fit its own digest makes the file unreadable.
    """
    path = Path(path)
    try:
        reader = csv.DictReader(bounded_lines(path))
        missing = sorted(set(RUN_COLUMNS) - set(reader.fieldnames or ()))
        if missing:
            raise UnreadableFileError(
                f"{path} has no column {', '.join(missing)}. "
                "Import files that `quietgraph bench export` wrote."
            )
        return list(_records(reader, path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableFileError(
            f"cannot read {path}: {error}. Import files that `quietgraph bench export` wrote."
        ) from error


def _records(reader: "csv.DictReader[str]", path: Path) -> Iterator[Record]:
    known: dict[str, list[str]] = defaultdict(list)
    for row in reader:
        try:
            for name in _REPEATED:
                row[name] = _written_out(row[name], known[name])
            yield _record(row)
        except (
            *(TypeError, ValueError, AttributeError, InvalidParameterError),
            RecursionError,  # JSON that is nested for ever
        ) as error:
            raise UnreadableFileError(
                f"line {reader.line_num} of {path} is not a run: {error}. "
                "Export it again; nothing was imported."
            ) from error


def _written_out(text: str, known: list[str]) -> str:
    """Return the JSON that a cell stands for; a new one is added to those that are known."""
    if not text.startswith("#"):
        known.append(text)
        return text
    if not text[1:].isdecimal() or not 1 <= int(text[1:]) <= len(known):
        raise ValueError(f"'{text}' stands for none of the {len(known)} values above it")
    return known[int(text[1:]) - 1]


def _record(row: dict[str, str]) -> Record:
    values = {name: row.pop(name) for name in RUN_COLUMNS}
    digest = values.pop("digest")
    key = {name: values.pop(name) for name in _KEY}
    numbers = {name: int(key.pop(name)) for name in ("seed", "protocol_version")}
    run = RunKey(**key, **numbers)  # type: ignore[arg-type]
    if run.digest != digest:
        raise ValueError(f"its digest is {digest}, but its columns give {run.digest}")
    return Record(
        key=current_key(run),
        status=values["status"],  # type: ignore[arg-type]
        reason=values["reason"],
        started=values["started"],
        seconds=float(values["seconds"]),
        peak_memory_mb=float(values["peak_memory_mb"]),
        versions={k: str(v) for k, v in json.loads(values["versions"] or "{}").items()},
        metrics={name: float(value) for name, value in row.items() if value},
    )
