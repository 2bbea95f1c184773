"""Marked blocks of pages, and what they are to say.

A block is `<!-- study: NAME arguments -->` ... `<!-- /study -->`; what stands between is the answer
of the function that is registered under NAME. On one line it is a figure in a sentence.
"""

import re
import shlex
from collections.abc import Callable
from functools import partial
from typing import Final

_BLOCK: Final = re.compile(r"(<!-- study: ([^>]+?) -->)(.*?)(<!-- /study -->)", re.DOTALL)
_FUNCTIONS: dict[str, Callable[..., str]] = {}


def block(function: Callable[..., str]) -> Callable[..., str]:
    """Register a function under its name, underscores as dashes; a name stands for one function."""
    name = function.__name__.replace("_", "-")
    if name in _FUNCTIONS:
        raise ValueError(f"two blocks are named {name}. Rename one of the functions.")
    _FUNCTIONS[name] = function
    return function


def filled(page: str, *, docs: str = "") -> str:
    """Return the text of a page with every block written anew.

    Args:
        page: Its text.
        docs: Where docs/ lies from the page; blocks link to other pages from within docs/.
    """
    return _BLOCK.sub(partial(_fill, docs=docs), page)


def names(page: str) -> list[str]:
    """Return what the blocks of a page ask for, in order."""
    return [found[1] for found in _BLOCK.findall(page)]


def _fill(found: re.Match[str], docs: str) -> str:
    begin, call, body, end = found.groups()
    name, *arguments = shlex.split(call)
    text = _FUNCTIONS[name](*arguments).strip()
    text = re.sub(r"\]\((?=[a-z-]+\.md)", f"]({docs}", text)
    return f"{begin}\n\n{text}\n\n{end}" if "\n" in body else f"{begin}{text}{end}"
