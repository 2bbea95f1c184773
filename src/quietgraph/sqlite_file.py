"""SQLite files of ours: recognised by their header, opened, locked, with errors as sentences."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from quietgraph.errors import QuietgraphError, UnreadableFileError, UnwritablePathError

_WAIT_SECONDS = 30.0  # for another process to end its transaction
_DAMAGED = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR}


@dataclass(frozen=True)
class FileKind:
    """A kind of SQLite file.

    Attributes:
        name: What it is, for messages, such as "store of runs".
        application: The number in the file header that tells our files from others.
        version: Of the tables.
        tables: The SQL that makes them.
        way_out: What a user can do about a file that cannot be used; a sentence.
    """

    name: str
    application: int
    version: int
    tables: str
    way_out: str


def connect(path: Path, kind: FileKind, *, read_only: bool = False) -> sqlite3.Connection:
    """Return a connection in which every statement is a transaction that outlives a power cut.

    A missing file is made unless `read_only`; a file of another kind or version is refused and
    left as it is. Write-ahead log: readers and one writer do not wait for each other.
    """
    with explained(path, kind):
        address = _reader_address(path, kind) if read_only else str(path)
        if read_only:
            _roll_back(path)
        connection = sqlite3.connect(
            address, uri=read_only, timeout=_WAIT_SECONDS, isolation_level=None
        )
        try:
            _prepare(connection, path, kind, read_only=read_only)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(
    connection: sqlite3.Connection, path: Path, kind: FileKind, *, read_only: bool
) -> None:
    is_new = _is_new(connection, path, kind)
    if is_new and read_only:
        raise UnreadableFileError(
            f"the {kind.name} {path} is empty: nothing was written to it yet."
        )
    if not read_only:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    if is_new:
        connection.executescript(
            f"BEGIN IMMEDIATE; {kind.tables}; PRAGMA application_id = {kind.application}; "
            f"PRAGMA user_version = {kind.version}; COMMIT;"
        )


def _is_new(connection: sqlite3.Connection, path: Path, kind: FileKind) -> bool:
    """Return whether the file is still empty; raise where it is of another kind or version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if (application, version, tables) == (0, 0, 0):
        return True
    if application != kind.application:
        raise UnreadableFileError(
            f"{path} is an SQLite file of another program, not a {kind.name}. {kind.way_out}"
        )
    if version != kind.version:
        raise UnreadableFileError(
            f"the {kind.name} {path} has version {version}, this quietgraph reads version "
            f"{kind.version}. Use the quietgraph that wrote it. {kind.way_out}"
        )
    return False


def _reader_address(path: Path, kind: FileKind) -> str:
    if not path.is_file():
        raise UnreadableFileError(
            f"there is no {kind.name} at {path}: nothing was written yet. {kind.way_out}"
        )
    effective = os.access in os.supports_effective_ids
    writable = os.access(path.parent, os.W_OK, effective_ids=effective)
    log = path.with_name(f"{path.name}-wal")
    # SQLite wants to make its shared-memory file beside the store; where nobody can write,
    # nobody changes the store either, so it may be read without one.
    unchanging = "" if writable or log.exists() else "&immutable=1"
    return f"{path.as_uri()}?mode=ro{unchanging}"


def _roll_back(path: Path) -> None:
    """Undo what a killed process began in a new file, which only a writer may; readers cannot."""
    if path.with_name(f"{path.name}-journal").exists() and os.access(path.parent, os.W_OK):
        with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as file:
            file.execute("PRAGMA schema_version").fetchone()


@contextmanager
def locked_copy(old: Path, new: Path, table: str) -> Iterator[None]:
    """Copy a file, and let nobody write to the old one inside the block.

    A file whose table is missing or empty is locked and not copied. Errors are SQLite's own.
    """
    with closing(sqlite3.connect(old, timeout=_WAIT_SECONDS, isolation_level=None)) as file:
        file.execute("BEGIN IMMEDIATE")
        if _has_rows(file, table):
            with closing(sqlite3.connect(new)) as copy:
                # Row by row: a backup would wait for the transaction that keeps writers out.
                copy.executescript("\n".join(_statements(file)))
        yield


def _statements(file: sqlite3.Connection) -> Iterator[str]:
    (application,) = file.execute("PRAGMA application_id").fetchone()
    (version,) = file.execute("PRAGMA user_version").fetchone()
    yield from file.iterdump()
    yield f"PRAGMA application_id = {application}; PRAGMA user_version = {version};"


def holds_rows(path: Path, table: str) -> bool:
    """Return whether a table of a file has rows; errors, of damage too, are SQLite's own."""
    with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as file:
        ((state, *_), *_) = file.execute("PRAGMA quick_check(1)")
        if state != "ok":
            raise sqlite3.DatabaseError(state)
        return _has_rows(file, table)


def _has_rows(file: sqlite3.Connection, table: str) -> bool:
    names = file.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    return bool(names and file.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608


def lock_for_writing(path: Path, kind: FileKind) -> BaseFileLock:
    """Become the only writer of a file; the lock ends with `unlock` or with the process."""
    lock = FileLock(f"{path}-writer", timeout=0)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise UnwritablePathError(
            f"another process writes to the {kind.name} {path}. Wait for it. {kind.way_out}"
        ) from None
    except OSError as error:
        raise UnwritablePathError(
            f"cannot write the {kind.name} {path}: {error.strerror}. {kind.way_out}"
        ) from error
    return lock


def unlock(lock: BaseFileLock) -> None:
    """Let another process write; unlocking twice is harmless."""
    if lock.is_locked:
        with suppress(OSError):
            Path(lock.lock_file).unlink()
        lock.release()


@contextmanager
def explained(path: Path, kind: FileKind) -> Iterator[None]:
    """Turn errors of SQLite into sentences that say what to do."""
    try:
        yield
    except sqlite3.ProgrammingError:  # misuse, such as a closed file: our fault, not the user's
        raise
    except (sqlite3.Error, UnicodeDecodeError) as error:
        # Text that is no UTF-8 is an error without a code.
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        raise explanation(code, path, kind, str(error)) from error


def damaged(path: Path, kind: FileKind, error: Exception) -> UnreadableFileError:
    """Return the error for a file whose content is not what it should be."""
    words = " ".join(str(error).split())[:200]
    return UnreadableFileError(f"{path} is not a readable {kind.name} ({words}). {kind.way_out}")


def explanation(code: int, path: Path, kind: FileKind, words: str) -> QuietgraphError:
    """Return the sentence for a primary result code of SQLite."""
    if code in _DAMAGED:
        return damaged(path, kind, Exception(words))
    if code == sqlite3.SQLITE_FULL:
        return UnwritablePathError(
            f"no room left to write {path}. Free some space and start again: "
            "what was written before is kept."
        )
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return UnwritablePathError(
            f"another process writes to the {kind.name} {path}. Wait for it. {kind.way_out}"
        )
    return UnwritablePathError(
        f"cannot open or write the {kind.name} {path} ({words}). {kind.way_out}"
    )
