"""What people see while they wait, on stderr: messages, and bars where it is a terminal."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from quietgraph.progress import listen

errors = Console(stderr=True, highlight=False, soft_wrap=True)
results = Console(highlight=False, soft_wrap=True)


def say(text: str) -> None:
    """Show a message on stderr."""
    errors.print(text)


@contextmanager
def progress_bars() -> Iterator[None]:
    """Show the library's progress as bars inside the block."""
    if not errors.is_terminal:
        yield
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True) as bars:
        known: dict[str, int] = {}

        def listener(what: str, done: int, total: int) -> None:
            if what not in known or bars.tasks[known[what]].finished:
                known[what] = bars.add_task(what, total=total)
            bars.update(bars.task_ids[known[what]], completed=done)

        with listen(listener):
            yield
