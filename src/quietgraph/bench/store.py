"""Finished runs in one SQLite file that survives being killed at any moment.

One process writes, any number read meanwhile (write-ahead log). A run is one row, written in
one transaction. `synchronous` is FULL: a commit then outlives even a power cut, and its fsync
of a few milliseconds is nothing beside a run of seconds. NORMAL could not corrupt the file
either, but could lose runs that were already counted as finished.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Self

import pandas as pd

from quietgraph.bench.record import Record, RunKey, canonical_json, records_frame
from quietgraph.errors import UnknownNameError
from quietgraph.sqlite_file import FileKind, connect, damaged, explained, lock_for_writing, unlock

RUNS = FileKind(
    name="store of runs",
    application=0x51475231,  # "QGR1"
    version=1,
    tables="""CREATE TABLE run (
        digest TEXT PRIMARY KEY,
        dataset TEXT NOT NULL,
        method TEXT NOT NULL,
        parameters TEXT NOT NULL,
        noise TEXT NOT NULL,
        seed INTEGER NOT NULL,
        split TEXT NOT NULL,
        protocol_version INTEGER NOT NULL,
        status TEXT NOT NULL,
        reason TEXT NOT NULL,
        metrics TEXT NOT NULL,
        seconds REAL NOT NULL,
        peak_memory_mb REAL NOT NULL,
        started TEXT NOT NULL,
        versions TEXT NOT NULL
    ) STRICT, WITHOUT ROWID""",
    way_out="Choose another --store, in a folder that you may write to.",
)
_KEY_COLUMNS = tuple(field.name for field in fields(RunKey))
_FILTERS = (*_KEY_COLUMNS, "status")


class Store:
    """The runs of a benchmark, by the digest of their key.

    Use it as a context manager, from the thread that opened it.

    Args:
        path: The SQLite file; made, with its folder, where it is missing.
        read_only: Only look: allowed while another process writes, and in a read-only folder.
    """

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path).absolute()
        self._lock = None if read_only else lock_for_writing(self.path, RUNS)
        try:
            self._connection = connect(self.path, RUNS, read_only=read_only)
        except BaseException:
            self._unlock()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let another process write; closing twice is harmless."""
        self._connection.close()
        self._unlock()

    def add(self, record: Record) -> None:
        """Write one run in one transaction; a run of the same key is replaced."""
        with explained(self.path, RUNS):
            self._insert(record)  # autocommit: one statement, one transaction

    def add_missing(self, records: Iterable[Record]) -> int:
        """Write the runs of which none is done yet, all or nothing, and return how many."""
        new = list(records)
        done = self.finished(record.key for record in new)
        new = [record for record in new if record.key.digest not in done]
        with explained(self.path, RUNS):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for record in new:
                    self._insert(record)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")
        return len(new)

    def _insert(self, record: Record) -> None:
        row = asdict(record.key) | {
            "digest": record.key.digest,
            "status": record.status,
            "reason": record.reason,
            "metrics": _metrics_text(record),
            "seconds": float(record.seconds),
            "peak_memory_mb": float(record.peak_memory_mb),
            "started": record.started,
            "versions": canonical_json(dict(record.versions)),
        }
        names, marks = ", ".join(row), ", ".join(f":{name}" for name in row)
        statement = f"INSERT OR REPLACE INTO run ({names}) VALUES ({marks})"  # noqa: S608
        self._connection.execute(statement, row)

    def finished(self, keys: Iterable[RunKey], *, keep_failures: bool = False) -> set[str]:
        """Return the digests of those keys that need no run any more.

        Args:
            keys: The runs that are wanted.
            keep_failures: Count failed, timed-out and out-of-memory runs as finished, too.
        """
        condition = "" if keep_failures else " WHERE status = 'done'"
        with explained(self.path, RUNS):
            rows = self._connection.execute(f"SELECT digest FROM run{condition}").fetchall()  # noqa: S608
        return {digest for (digest,) in rows} & {key.digest for key in keys}

    def records(self, **filters: str | int | Iterable[str | int]) -> list[Record]:
        """Return the runs, ordered by dataset, noise, method and seed.

        Args:
            **filters: Column of the key, or `status`: the value or values that are kept.
        """
        conditions, values = ["1"], []
        for name, wanted in filters.items():
            if name not in _FILTERS:
                raise UnknownNameError("filter of runs", name, _FILTERS)
            kept = [wanted] if isinstance(wanted, str | int) else list(wanted)
            conditions.append(f"{name} IN (SELECT value FROM json_each(?))")  # noqa: S608
            values.append(json.dumps(kept))
        query = (
            f"SELECT * FROM run WHERE {' AND '.join(conditions)} "  # noqa: S608  (names are ours)
            "ORDER BY dataset, noise, method, seed, digest"
        )
        with explained(self.path, RUNS):
            cursor = self._connection.execute(query, values)
            names = [column[0] for column in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor]
        try:
            return [_record(row) for row in rows]
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise damaged(self.path, RUNS, error) from error

    def to_frame(self, **filters: str | int | Iterable[str | int]) -> pd.DataFrame:
        """Return the runs as a table, one row a run, metrics as columns; filters as `records`."""
        return records_frame(self.records(**filters))

    def _unlock(self) -> None:
        if self._lock is not None:
            unlock(self._lock)


def _metrics_text(record: Record) -> str:
    values = {name: float(value) for name, value in record.metrics.items()}
    return canonical_json({name: None if math.isnan(v) else v for name, v in values.items()})


def _record(values: dict[str, Any]) -> Record:
    values.pop("digest")
    key = RunKey(**{name: values.pop(name) for name in _KEY_COLUMNS})
    metrics = {
        name: float("nan") if value is None else float(value)
        for name, value in json.loads(values.pop("metrics")).items()
    }
    versions = {str(name): str(one) for name, one in json.loads(values.pop("versions")).items()}
    return Record(key=key, metrics=metrics, versions=versions, **values)
