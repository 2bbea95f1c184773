"""What people see while they wait, on stderr: messages, and bars where it is a terminal."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from quietgraph.cli import STARTED
from quietgraph.progress import listen

# All that a terminal takes for a command, that turns the direction of what follows, or that is half
# a character: names of files need not be UTF-8.
_COMMANDS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

_LONGEST_STAGE: Final = 24 * 3600.0  # seconds


class PlainConsole(Console):
    """A console on which names from files are text, whatever they hold."""

    def render_str(self, text: str, *args: object, **options: Any) -> Text:
        """Return the text to show, its control characters written out."""
        return super().render_str(printable(text), *args, **options)


def printable(text: str) -> str:
    """Return the text with control characters written out, so that no terminal obeys them."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


errors = PlainConsole(stderr=True, highlight=False, soft_wrap=True)
results = PlainConsole(highlight=False, soft_wrap=True)


def tell(words: str, facts: Mapping[str, object], *, as_json: bool) -> None:
    """Print on stdout what came out: plain words, or its facts as one JSON object."""
    results.print(json.dumps(facts, default=str) if as_json else words, markup=False)


_is_hushed: ContextVar[bool] = ContextVar("hushed", default=False)


@contextmanager
def hushed(quiet: bool) -> Iterator[None]:
    """Show no messages and no bars inside the block, as processes do that are not the first."""
    token = _is_hushed.set(quiet)
    try:
        yield
    finally:
        _is_hushed.reset(token)


def say(text: str) -> None:
    """Show a message on stderr, on one line: a name from a file must not look like another one."""
    if not _is_hushed.get():
        errors.print(text.replace("\n", r"\n"))


def say_seconds() -> None:
    """Say on a terminal how long the whole command took."""
    if errors.is_terminal:
        say(f"{time.perf_counter() - STARTED:,.1f} seconds in all")


class TimeLeftColumn(TimeRemainingColumn):
    """The estimated time to the end of a stage; nothing where its length is not known."""

    def render(self, task: Task) -> Text:
        """Return the estimate in words."""
        if task.total is None or task.finished:
            return Text("")
        if task.time_remaining is None:
            return Text("estimating ...", style="progress.remaining")
        return Text.assemble("about ", super().render(task), " left")


@contextmanager
def progress_bars() -> Iterator[None]:
    """Show the library's progress as bars inside the block."""
    if not errors.is_terminal or _is_hushed.get():
        yield
        return
    columns = (
        *(TextColumn("{task.description}"), BarColumn()),
        *(TimeElapsedColumn(), TimeLeftColumn()),
    )
    # A fold may take minutes: the estimate rests on all steps of a stage.
    settings: Any = {"transient": True, "speed_estimate_period": _LONGEST_STAGE}
    with Progress(*columns, console=errors, **settings) as bars:
        known: dict[str, int] = {}

        def listener(what: str, done: float, total: int) -> None:
            if what not in known or bars.tasks[known[what]].finished:
                known[what] = bars.add_task(what, total=total or None)
            bars.update(bars.task_ids[known[what]], completed=done, total=total or None)

        with listen(listener):
            yield
