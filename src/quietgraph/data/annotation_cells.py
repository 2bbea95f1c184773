"""Single cells of a table of annotations: rankings, and what counts as no answer."""

import ast
import json
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.graph.io.cells import MISSING_WORDS
from quietgraph.graph.io.raw import id_key

_SEPARATORS: Final = re.compile(r"\s*[>|;]\s*")


def parse_ranking(cell: object) -> list[Any]:
    """Return the classes of a ranking: a list, also as text, or names between > | ; or spaces."""
    if isinstance(cell, list | tuple | np.ndarray):
        return list(cell)
    if is_empty(cell):
        return []
    text = str(cell).strip()
    if text.startswith("["):
        for read in (json.loads, ast.literal_eval):  # the second: what pandas writes for a list
            with suppress(ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
                return list(read(text))
    parts: Iterable[str] = _SEPARATORS.split(text)
    if len(found := [part for part in parts if part]) == 1 and re.fullmatch(r"[\d\s]+", text):
        return text.split()
    return list(found)


def is_empty(value: Any) -> bool:
    """Whether a cell holds no answer: empty, a word for unknown, NaN, None, -1, an empty list."""
    if isinstance(value, str):
        return value.strip().lower() in {*MISSING_WORDS, "-1"}
    if isinstance(value, list | tuple | np.ndarray):
        return len(value) == 0
    return bool(pd.isna(value)) or value == -1


def cell_text(value: object) -> str:
    """Return a cell as text, that `parse_ranking` reads again."""
    if isinstance(value, list | tuple | np.ndarray):
        return " > ".join(id_key(one) for one in value)
    return "" if is_empty(value) else id_key(value)
