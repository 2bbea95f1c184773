"""What a page of the documentation holds: blocks of code, and commands with what they say."""

import re
from collections.abc import Iterator


def blocks(kind: str, text: str) -> list[str]:
    """Return the fenced blocks of a language, in the order of the page."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [block for name, block in fences if name == kind]


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every command with the lines that the page shows below it."""
    for block in blocks("", text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            yield command, shown
