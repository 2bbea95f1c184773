"""Progress of long work, shown by whoever asked for it and silent otherwise.

The library never prints. It says what it is doing through `report_progress`; the command line
listens with `listen`. Listeners are per context, so threads and nested fits do not mix.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, float, int], None]  # what, done, total (0: not known)

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)


def report_progress(what: str, done: int, total: int) -> None:
    """Tell the listener, if any, that `done` of `total` steps are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def stage(what: str) -> Iterator[None]:
    """Tell the listener, if any, that work of unknown length goes on inside the block."""
    report_progress(what, 0, 0)
    yield
    report_progress(what, 1, 1)


@contextmanager
def step_of(what: str, step: int, total: int) -> Iterator[None]:
    """Report all progress inside the block as a part of one step of a longer work.

    Args:
        what: The longer work.
        step: Steps that are finished.
        total: Number of steps.
    """
    listener, reached = _listener.get(), 0.0
    if listener is None:
        yield
        return

    def part(_: str, done: float, size: int) -> None:
        nonlocal reached
        reached = max(reached, 0.99 * done / size) if size else reached
        listener(what, step + reached, total)

    listener(what, step, total)
    with listen(part):
        yield
    listener(what, step + 1, total)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Send progress to a listener inside the block; None silences it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
