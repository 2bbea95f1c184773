"""Ends or hinders a command at its k-th file operation, seen through Python's audit events.

Every command runs in a forked child, in which all modules are loaded already. What SQLite writes
is seen through its own table of system calls; what other libraries in C write (safetensors) raises
no event: `largest_file` lets those writes fail.
"""

import _sqlite3
import ctypes
import errno
import hashlib
import os
import resource
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quietgraph.cli.app import main

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_EVENTS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
NO_KILL = 10**9


@dataclass
class _Plan:
    folder: str = ""
    count: int = 0
    kill_at: int = NO_KILL
    full_from: int = NO_KILL
    keep_in: Path | None = None
    in_sqlite: bool = False
    seen: set[str] = field(default_factory=set)


_plan = _Plan()


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    signal: int
    code: int
    operations: int
    errors: str


def call(words: tuple[str, ...], folder: Path) -> Callable[[], int]:
    """Return a command of ours, in a folder, as an action that returns its exit code."""

    def action() -> int:
        os.chdir(folder)
        sys.argv = ["quietgraph", *words]
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0)
        return 0

    return action


def run_in_child(
    action: Callable[[], int],
    folder: Path,
    *,
    kill_at: int = NO_KILL,
    full_from: int = NO_KILL,
    largest_file: int | None = None,
    keep_in: Path | None = None,
) -> Ended:
    """Run an action in a forked child.

    Args:
        action: Returns an exit code.
        folder: File operations below it count.
        kill_at: The child is killed (SIGKILL) before this operation, from 1.
        full_from: From this operation on, files cannot be opened for writing (ENOSPC).
        largest_file: Bytes beyond which a write fails, in C code too.
        keep_in: Before every operation the folder is copied to here, named by the number of the
            operation, where it differs from all copies so far: what a kill would leave behind.
    """
    mine, theirs = os.pipe()  # no file: its size would be limited, too
    child = os.fork()
    if child == 0:
        os.close(mine)
        _run(action, _Plan(str(folder), 0, kill_at, full_from, keep_in), theirs, largest_file)
    os.close(theirs)
    with os.fdopen(mine, encoding="utf-8", errors="replace") as pipe:
        said, _, count = pipe.read().rpartition("\0")
    _, status = os.waitpid(child, 0)
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = -killed if killed else os.WEXITSTATUS(status)
    return Ended(killed, code, 0 if killed else int(count), count if killed else said)


def _run(action: Callable[[], int], plan: _Plan, pipe: int, largest_file: int | None) -> None:
    """Run the action, and end this process."""
    code = 70
    try:
        os.dup2(pipe, 1)
        os.dup2(pipe, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, resource.RLIM_INFINITY))
        _watch(plan)
        code = action()
    except BaseException:
        traceback.print_exc()
    finally:
        made, _plan.folder = _plan.count, ""
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(2, f"\0{made}".encode())
        os._exit(code)


def _watch(plan: _Plan) -> None:
    """Count from now on; a hook cannot be taken off, so only a child calls this, and once."""
    vars(_plan).update(vars(plan))
    sys.addaudithook(_on_event)
    _watch_sqlite()


def _on_event(event: str, details: tuple[Any, ...]) -> None:
    if not _plan.folder or _plan.in_sqlite or not _is_write(event, details):
        return
    if _count() and event in {"open", "os.mkdir"}:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(details[0]))


def _count() -> bool:
    """Count an operation; return whether the disk is full by now."""
    _plan.count += 1
    if _plan.keep_in is not None:
        _keep_state(_plan.keep_in)
    if _plan.count >= _plan.kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return _plan.count >= _plan.full_from


def _keep_state(target: Path) -> None:
    """Copy the folder as it is on disk, unless it was like that before."""
    folder, _plan.folder = _plan.folder, ""  # copying is none of the operations
    found = fingerprint(Path(folder))
    if found not in _plan.seen:
        _plan.seen.add(found)
        shutil.copytree(folder, target / str(_plan.count), symlinks=True)
    _plan.folder = folder


def fingerprint(path: Path, without: tuple[str, ...] = ("-shm",)) -> str:
    """Return a digest of a file or folder, but for files with these endings (of SQLite)."""
    digest = hashlib.blake2b()
    for one in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if not one.name.endswith(without):
            digest.update(str(one.relative_to(path)).encode() + b"\0")
            digest.update(one.read_bytes() if one.is_file() else b"")
    return digest.hexdigest()


def _is_write(event: str, details: tuple[Any, ...]) -> bool:
    if event == "ctypes.call_function":
        return True  # renameat2
    if event == "open":
        path, _, flags = details
        writes = isinstance(flags, int) and bool(flags & _WRITING)
        return writes and isinstance(path, str | bytes) and _plan.folder in os.fsdecode(path)
    return event in _EVENTS and any(
        isinstance(one, str | bytes) and _plan.folder in os.fsdecode(one) for one in details
    )


_FD, _PATH, _SIZE, _OFFSET = ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int64
_CALLS = {  # of SQLite's table: what it returns, what it takes
    "open": (ctypes.c_int, _PATH, ctypes.c_int, ctypes.c_int),
    "write": (ctypes.c_ssize_t, _FD, ctypes.c_void_p, _SIZE),
    "pwrite": (ctypes.c_ssize_t, _FD, ctypes.c_void_p, _SIZE, _OFFSET),
    "pwrite64": (ctypes.c_ssize_t, _FD, ctypes.c_void_p, _SIZE, _OFFSET),
    "ftruncate": (ctypes.c_int, _FD, _OFFSET),
    "fallocate": (ctypes.c_int, _FD, _OFFSET, _OFFSET),
    "unlink": (ctypes.c_int, _PATH),
}
_kept: list[Any] = []  # callbacks must not be collected while SQLite holds them


class _Vfs(ctypes.Structure):
    """How SQLite reaches files (sqlite3_vfs of its documentation, version 3)."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("version", "file_size", "longest_path")),
        *((f"other_{place}", ctypes.c_void_p) for place in range(16)),
        ("set_call", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _PATH, ctypes.c_void_p)),
        ("get_call", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, _PATH)),
    )


def _watch_sqlite() -> None:
    """Put our own functions before those by which SQLite writes."""
    find = ctypes.CDLL(_sqlite3.__file__).sqlite3_vfs_find
    find.restype, find.argtypes = ctypes.POINTER(_Vfs), [_PATH]
    vfs = find(None)
    for name, kinds in _CALLS.items():
        address = vfs.contents.get_call(ctypes.cast(vfs, ctypes.c_void_p), name.encode())
        if address:
            kind = ctypes.CFUNCTYPE(*kinds, use_errno=True)
            ours = kind(_before(name, kind(address)))
            _kept.append(ours)
            pointer = ctypes.cast(ours, ctypes.c_void_p)
            vfs.contents.set_call(ctypes.cast(vfs, ctypes.c_void_p), name.encode(), pointer)


def _before(name: str, real: Callable[..., int]) -> Callable[..., int]:
    def ours(*arguments: Any) -> int:
        only_reads = name == "open" and not arguments[1] & os.O_CREAT
        if _plan.folder and not only_reads and _count() and name != "unlink":
            ctypes.set_errno(errno.ENOSPC)
            return -1
        _plan.in_sqlite = True
        try:
            return real(*arguments)
        finally:
            _plan.in_sqlite = False

    return ours
