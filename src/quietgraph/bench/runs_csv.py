"""Runs from a CSV file that `Store.export_csv` wrote, so that a sweep goes on elsewhere."""

import csv
import json
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from quietgraph.bench.record import RUN_COLUMNS, Record, RunKey
from quietgraph.bench.renames import current_key
from quietgraph.errors import InvalidParameterError, UnreadableFileError

_KEY = tuple(field.name for field in fields(RunKey))


def read_runs(path: str | Path) -> list[Record]:
    """Return the runs of a file, under the current names of their parameters.

    A run that does not fit its own digest makes the file unreadable.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = sorted(set(RUN_COLUMNS) - set(reader.fieldnames or ()))
            if missing:
                raise UnreadableFileError(
                    f"{path} has no column {', '.join(missing)}. "
                    "Import files that `quietgraph bench export` wrote."
                )
            return list(_records(reader, path))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UnreadableFileError(f"cannot read {path}: {error}.") from error


def _records(reader: "csv.DictReader[str]", path: Path) -> Iterator[Record]:
    for row in reader:
        try:
            yield _record(row)
        except (TypeError, ValueError, InvalidParameterError) as error:
            raise UnreadableFileError(
                f"line {reader.line_num} of {path} is not a run: {error}. "
                "Export it again; nothing was imported."
            ) from error


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
        versions=json.loads(values["versions"] or "{}"),
        metrics={name: float(value) for name, value in row.items() if value},
    )
