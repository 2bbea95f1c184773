"""Ends or hinders a command at its k-th file operation, seen through Python's audit events.

Every command runs in a forked child, in which all modules are loaded already. What is written by
libraries in C (SQLite, safetensors) raises no event: `limit_files` lets those writes fail.
"""

import errno
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_EVENTS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.link", "os.symlink"}
NO_KILL = 10**9


@dataclass
class _Plan:
    folder: str = ""
    count: int = 0
    kill_at: int = NO_KILL
    full_from: int = NO_KILL


_plan = _Plan()


@dataclass(frozen=True)
class Ended:
    """How a child ended."""

    signal: int
    code: int
    operations: int
    errors: str


def run_in_child(
    action: Callable[[], int],
    folder: Path,
    *,
    kill_at: int = NO_KILL,
    full_from: int = NO_KILL,
    largest_file: int | None = None,
) -> Ended:
    """Run an action in a forked child.

    Args:
        action: Returns an exit code.
        folder: File operations below it count.
        kill_at: The child is killed (SIGKILL) before this operation, from 1.
        full_from: From this operation on, files cannot be opened for writing (ENOSPC).
        largest_file: Bytes beyond which a write fails, in C code too.
    """
    mine, theirs = os.pipe()  # no file: its size would be limited, too
    child = os.fork()
    if child == 0:
        os.close(mine)
        _run(action, _Plan(str(folder), 0, kill_at, full_from), theirs, largest_file)
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


def _on_event(event: str, details: tuple[Any, ...]) -> None:
    if not _plan.folder or not _is_write(event, details):
        return
    _plan.count += 1
    if _plan.count >= _plan.kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    if _plan.count >= _plan.full_from and event in {"open", "os.mkdir"}:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(details[0]))


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
