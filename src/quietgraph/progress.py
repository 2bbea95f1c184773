"""Progress of long work, shown by whoever asked for it and silent otherwise.

The library never prints. It says what it is doing through `report_progress`; the command line
listens with `listen`. Listeners are per context, so threads and nested fits do not mix.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

Listener: TypeAlias = Callable[[str, int, int], None]  # what, done, total

_listener: ContextVar[Listener | None] = ContextVar("progress_listener", default=None)


def report_progress(what: str, done: int, total: int) -> None:
    """Tell the listener, if any, that `done` of `total` steps are finished."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)


@contextmanager
def listen(listener: Listener | None) -> Iterator[None]:
    """Send progress to a listener inside the block; None silences it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
