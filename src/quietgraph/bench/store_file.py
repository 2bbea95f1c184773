"""The file of a store: opened, locked, checked for its version, with errors in plain words."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError

SCHEMA_VERSION = 1
_APPLICATION = 0x51475231  # "QGR1" in the file header: tells our stores from other SQLite files
_WAIT_SECONDS = 30.0
_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE run (
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
) STRICT, WITHOUT ROWID;
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


def write_whole(path: str | Path, text: str) -> None:
    """Write a text file that appears whole or not at all, even when killed midway."""
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(target)
    except OSError as error:
        with suppress(OSError):
            scratch.unlink()
        raise UnwritablePathError(
            f"cannot write {target}: {error.strerror}. Choose a writable place with room."
        ) from error


def lock_path(path: Path) -> Path:
    """Return the file that the writing process keeps locked."""
    return path.with_name(f"{path.name}-writer")


def lock_for_writing(path: Path) -> sqlite3.Connection:
    """Hold the writer's place: SQLite's own file lock, which ends with the process."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritablePathError(
            f"cannot make the folder {path.parent}: {error.strerror}. Choose another --store."
        ) from error
    lock = sqlite3.connect(lock_path(path), timeout=0.0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except BaseException:
        lock.close()
        raise
    return lock


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection to a store of our version; a missing one is made unless read-only."""
    if read_only:
        connection = sqlite3.connect(_reader_address(path), uri=True, timeout=_WAIT_SECONDS)
    else:
        connection = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
    connection.row_factory = sqlite3.Row
    try:
        is_new = _check_version(connection, path, may_be_empty=not read_only)
        if not read_only:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
        if is_new:
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def _reader_address(path: Path) -> str:
    if not path.is_file():
        raise UnreadableFileError(
            f"there is no store at {path}. Run `quietgraph bench run --store {path.name}` first."
        )
    effective = os.access in os.supports_effective_ids
    writable = os.access(path.parent, os.W_OK, effective_ids=effective)
    log = path.with_name(f"{path.name}-wal")
    # SQLite wants to make its shared-memory file beside the store; where nobody can write,
    # nobody changes the store either, so it may be read without one.
    unchanging = "" if writable or log.exists() else "&immutable=1"
    return f"{path.as_uri()}?mode=ro{unchanging}"


def _check_version(connection: sqlite3.Connection, path: Path, *, may_be_empty: bool) -> bool:
    """Return whether the file is still empty; raise where it is not a store of our version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    is_new = (application, version, tables) == (0, 0, 0)
    if is_new and not may_be_empty:
        raise UnreadableFileError(f"the store {path} is empty: no run was written to it yet.")
    if is_new:
        return True
    if application != _APPLICATION:
        raise UnreadableFileError(
            f"{path} is an SQLite file of another program, not a store of runs. "
            "Choose another --store."
        )
    if version != SCHEMA_VERSION:
        raise UnreadableFileError(
            f"the store {path} has version {version}, this quietgraph reads version "
            f"{SCHEMA_VERSION}. Use the quietgraph that wrote it, or choose a new --store."
        )
    return False


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into sentences that say what to do."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", None)
        if code is None:  # misuse, such as a closed store: our fault, not the user's
            raise
        raise _explanation(code & 0xFF, path, str(error)) from error


def _explanation(code: int, path: Path, words: str) -> QuietgraphError:
    if code in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}:
        return UnreadableFileError(
            f"{path} is not a readable SQLite store ({words}). Choose another --store."
        )
    if code == sqlite3.SQLITE_FULL:
        return UnwritablePathError(
            f"no room left to write {path}. Free some space and start again: "
            "finished runs are kept."
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return UnwritablePathError(
            f"another process writes to the store {path}. Wait for it, or choose another --store."
        )
    return UnwritablePathError(
        f"cannot open or write the store {path} ({words}). "
        "Choose a file in a folder that you may write to."
    )
