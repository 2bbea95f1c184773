"""Files and folders that are replaced in one step: the old one or the new one, never a part.

Everything is written into a hidden folder beside the target, flushed to the disk and renamed.
A process that is killed leaves that hidden folder behind; the next write beside it removes it.
"""

import ctypes
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout
from safetensors import SafetensorError

from quietgraph.errors import UnreadableFileError, UnwritablePathError

_LONGEST_LINE = 4 * 2**20  # characters
_PREFIX = ".quietgraph-"  # of the hidden folders
_LOCK, _OLD = "lock", "old"  # within them
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None


def regular_file(path: str | Path) -> Path:
    """Return the path of a file with an end; a device or pipe, which may have none, is refused."""
    path = Path(path)
    if path.exists() and not path.is_file():
        raise UnreadableFileError(f"{path} is no file. Name a file, not a folder or a device.")
    return path


def bounded_lines(path: str | Path) -> Iterator[str]:
    """Yield the lines of a UTF-8 file with their ends; one too long for a table is refused."""
    with regular_file(path).open(encoding="utf-8-sig", newline="") as file:
        while line := file.readline(_LONGEST_LINE + 1):
            if len(line) > _LONGEST_LINE:
                raise UnreadableFileError(
                    f"{path} has a line of more than {_LONGEST_LINE:,} characters, which no row of "
                    "a table is. Check that the file is what it should be."
                )
            yield line


def write_file(target: str | Path, content: str | bytes) -> None:
    """Write a file in one step; text is UTF-8 and keeps its line ends."""
    with whole_file(target) as scratch:
        scratch.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole_file(target: str | Path) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of `target` after the block."""
    target = Path(os.path.realpath(target))
    with _unwritable(target), _scratch_folder(target.parent) as scratch:
        _check_replaceable(target)
        new = scratch / target.name
        yield new
        _flush(new)
        new.replace(target)
        _flush(target.parent)


def check_only(folder: Path, names: Collection[str]) -> None:
    """Raise unless a folder may be replaced: missing, empty, or with nothing but these names."""
    try:
        found = sorted(os.listdir(folder)) if folder.exists() else []
    except OSError as error:
        raise UnwritablePathError(
            f"{folder} cannot be written: {error.strerror}. Choose an empty or new folder."
        ) from error
    other = [name for name in found if name not in names and not name.startswith(_PREFIX)]
    if other:
        raise UnwritablePathError(
            f"{folder} holds other files ({other[0]}). Choose an empty or new folder."
        )


@contextmanager
def whole_folder(target: str | Path) -> Iterator[Path]:
    """Give a folder to fill, which takes the place of `target` after the block."""
    target = Path(os.path.realpath(target))
    with _unwritable(target), _scratch_folder(target.parent) as scratch:
        new = scratch / target.name
        new.mkdir()
        yield new
        for folder, _, names in os.walk(new):
            for path in (*(Path(folder, name) for name in names), Path(folder)):
                _flush(path)
        _put_in_place(new, target)
        _flush(target.parent)


@contextmanager
def _unwritable(target: Path) -> Iterator[None]:
    """Turn what a failed write raises into one sentence."""
    try:
        yield
    except (OSError, SafetensorError) as error:  # safetensors has an error of its own
        reason = getattr(error, "strerror", None) or error
        raise UnwritablePathError(
            f"{target} cannot be written: {reason}. Choose a writable folder with room."
        ) from error


@contextmanager
def _scratch_folder(parent: Path) -> Iterator[Path]:
    """Give a hidden folder, locked while it is in use; remove those that nobody uses."""
    parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(parent)
    scratch, lock = _locked_folder(parent)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
        lock.release()


def _locked_folder(parent: Path) -> tuple[Path, BaseFileLock]:
    while True:
        scratch = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        lock = FileLock(scratch / _LOCK)
        try:
            lock.acquire()
        except FileNotFoundError:  # another process took it for a leftover: once more
            continue
        except OSError:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
        return scratch, lock


def _remove_leftovers(parent: Path) -> None:
    for folder in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError, Timeout), FileLock(folder / _LOCK, timeout=0):
            for old in (folder / _OLD).glob("*"):  # killed between the two renames below
                if not (parent / old.name).exists():
                    old.rename(parent / old.name)
            shutil.rmtree(folder)


def _check_replaceable(target: Path) -> None:
    """Raise where a rename would put a file in the place of a device, a pipe or a folder."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file")


def _put_in_place(new: Path, target: Path) -> None:
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"it is not a folder: {target.name}")
    if not target.exists():
        new.rename(target)
    elif not _exchange(new, target):  # two steps: a kill between them is repaired by the next write
        old = new.parent / _OLD / target.name
        old.parent.mkdir()
        target.rename(old)
        try:
            new.rename(target)
        except BaseException:
            old.rename(target)
            raise


def _exchange(first: Path, second: Path) -> bool:
    """Swap two paths in one step; False where system or file system cannot (not Linux)."""
    rename = getattr(_LIBC, "renameat2", None)
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    return rename is not None and not rename(
        here, os.fsencode(first), here, os.fsencode(second), exchange
    )


def _flush(path: Path) -> None:
    """Wait until a file, or the list of a folder's files, is on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
