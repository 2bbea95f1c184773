"""What people read: results on stdout, messages on stderr."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What a terminal takes for a command, or what turns the direction of text: names from files may hold it.
_COMMANDS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

results = Console(highlight=False, soft_wrap=True, markup=False)
errors = Console(stderr=True, highlight=False, soft_wrap=True, markup=False)


def printable(text: object) -> str:
    """Return the text with control characters written out, so that no terminal obeys them."""
    return _COMMANDS.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


def say(text: str, style: str | None = None) -> None:
    """Show a message on stderr, on one line."""
    errors.print(printable(text.replace("\n", " ")), style=style)


def note(text: str) -> None:
    """Show something that a user should know on stderr."""
    errors.print(Text("note: ", style="yellow") + Text(printable(text)))


def tell(words: str, facts: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what came out on stdout: words, or its facts as one JSON object."""
    results.print(json.dumps(facts, default=str, indent=1) if as_json else printable(words))


def show_table(columns: list[str], rows: list[list[object]]) -> None:
    """Print a table without rules, which leaves room for words."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for place, name in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[place], int | float) for row in rows)
        table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(f"{one:,}" if isinstance(one, int) else printable(one) for one in row))
    results.print(table)


def save_figure(axes: "Axes", path: Path) -> None:
    """Write the figure of some axes in the format of the file's ending."""
    figure: Any = axes.get_figure(root=True)
    figure.savefig(path)
