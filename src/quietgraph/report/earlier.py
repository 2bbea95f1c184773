"""What people decided in a run is kept when the run is replaced."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.report.run_files import DECISIONS_FILE, OWN_NAMES, SUSPECTS_FILE, VERIFIED_FILE
from quietgraph.sqlite_file import holds_rows, locked_copy

_FOLDER: Final = "earlier-"  # and a number
_TABLE: Final = "decision"
_UNWRITABLE: Final = {
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY),
    *(sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
}


@contextmanager
def keep_decisions(old: Path, new: Path) -> Iterator[None]:
    """Copy what people did in a run into the one that takes its place after the block.

    Files that no run writes, such as labels to give or notes, keep their names. Suspects and
    decisions go to a folder `earlier-1` (or the next number) of the new run, which `--verified`
    takes. A review that is still going on waits until the block has ended, and then writes to the
    new run: no decision goes to a file that is about to be removed.

    Args:
        old: Folder of the run that is replaced; it may be missing.
        new: Folder that takes its place.
    """
    for path in _of_people(old):
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, new / path.name, symlinks=True)
        else:
            shutil.copy2(path, new / path.name, follow_symlinks=False)
    files = [old / name for name in (SUSPECTS_FILE, VERIFIED_FILE) if (old / name).is_file()]
    store = old / DECISIONS_FILE
    if not files and not store.is_file():
        yield
        return
    target = new / f"{_FOLDER}{1 + len(_numbers(new))}"
    target.mkdir()
    for path in files:
        shutil.copy2(path, target / path.name)
    with _moved_store(store, target / DECISIONS_FILE):
        yield


def _of_people(folder: Path) -> list[Path]:
    """Return what a run did not write itself; what it kept of earlier runs is among it."""
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    ours = (f"{DECISIONS_FILE}-", ".quietgraph-")  # files of SQLite, leftovers of a killed write
    return [path for path in found if path.name not in OWN_NAMES and not path.name.startswith(ours)]


def earlier_run(folder: Path) -> Path | None:
    """Return where a run keeps the decisions of the one that it replaced; None without."""
    numbers = _numbers(folder)
    return folder / f"{_FOLDER}{max(numbers)}" if numbers else None


def _numbers(folder: Path) -> list[int]:
    endings = [path.name.removeprefix(_FOLDER) for path in folder.glob(f"{_FOLDER}*")]
    return [int(ending) for ending in endings if ending.isdecimal()]


@contextmanager
def _moved_store(old: Path, new: Path) -> Iterator[None]:
    """Copy a store of decisions, and let nobody write to the old one inside the block.

    Who waits to write does so afterwards, sees that the file is another one by then, and writes
    to that (`DecisionStore.add`).
    """
    if not old.is_file():
        yield
        return
    with ExitStack() as locked:
        with _explained(old):
            locked.enter_context(locked_copy(old, new, _TABLE))
        yield


def has_decisions(path: Path) -> bool:
    """Return whether a store of decisions holds any; a damaged one, which may, is refused."""
    if not path.is_file():
        return False
    with _explained(path):
        return holds_rows(path, _TABLE)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in _UNWRITABLE:
            raise UnwritablePathError(
                f"the decisions of {path} cannot be copied ({error}), so the run is not replaced. "
                "Make room, or choose another folder with --out."
            ) from error
        raise UnreadableFileError(
            f"{path} is damaged ({error}) and may hold decisions, so the run is not replaced. "
            "Move that file away, or choose another folder with --out."
        ) from error
