"""Cells of CSV files that a spreadsheet opens as text and that our readers read back unchanged.

A cell that begins with =, +, -, @ or a control character is a formula to a spreadsheet, and may
call other programs. Such a cell is written with an apostrophe before it, the spreadsheets' own
mark of a text. Numbers stay as they are.
"""

import re
from typing import Final

import pandas as pd
import pyarrow.compute as pc
from pandas.api import types as kinds

_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # wide ones too
_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def guard(text: str) -> str:
    """Return the text as a cell that no spreadsheet takes for a formula."""
    if _FORMULA.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def unguard(cell: str) -> str:
    """Return the text that `guard` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def unguarded(cells: object) -> object:
    """Return an Arrow array of texts as `guard` was given them."""
    if not pc.any(pc.starts_with(cells, "'")).as_py():
        return cells
    return pc.replace_substring_regex(cells, f"^'({_FORMULA.pattern})", r"\1")


def guard_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with guarded texts in its cells and column names."""
    texts = [place for place, kind in enumerate(table.dtypes) if not kinds.is_numeric_dtype(kind)]
    guarded = table.copy(deep=False)
    for place in texts:
        guarded.isetitem(place, table.iloc[:, place].map(_guard_any).array)
    return guarded.set_axis([_guard_any(name) for name in table.columns], axis=1)


def _guard_any(value: object) -> object:
    return guard(value) if isinstance(value, str) else value
