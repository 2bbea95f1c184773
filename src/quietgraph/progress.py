"""Progress bars on stderr for long work; silent where stderr is no terminal.

with progress("fitting gcn") as show:
    model.fit(data, on_epoch=show)
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn


class Step(NamedTuple):
    """A step of work that is no training: the third fold of five, a run of a benchmark."""

    what: str
    number: int
    total: int


@contextmanager
def progress(what: str) -> Iterator[Callable[[Any], None]]:
    """Show a bar for the work inside the block; it gives a function that takes every `Epoch` or `Step`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bars:
        bar = bars.add_task(what, total=None)  # moves without an end until the first step

        def show(reached: Any) -> None:
            words = what if reached.what == what else f"{what}: {reached.what}"
            bars.update(bar, description=words, completed=reached.number, total=reached.total)

        yield show
