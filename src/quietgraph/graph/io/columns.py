"""Columns of a table as features: numbers and dates scaled, categories one-hot, text hashed, vectors as they are."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.tables import ID, Table, quoted
from quietgraph.types import SparseMatrix

HASHED_WORDS: Final = 2048
AT_ONCE: Final = 500  # columns of one query
CELLS: Final = 2**23  # of features held at a time
_SCALARS: Final = ("number", "date")
_MOST_CATEGORIES: Final = 100
_LARGEST: Final = 1e150  # squares of larger numbers are infinite
_NUMERIC: Final = re.compile("(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DOUBLE|FLOAT|BOOLEAN|DECIMAL.*?)")


def _written(pattern: str, number: str) -> str:
    return f"CASE WHEN regexp_full_match({{x}}, '{pattern}') THEN {number} END"


def _day(pattern: str, *forms: str) -> str:
    moment = f"try_strptime({{x}}, {[*forms]})" if forms else "TRY_CAST({x} AS TIMESTAMP)"
    return _written(pattern + "([ T][0-9].*)?", f"epoch({moment}) / 86400")


def _forms(day: str) -> tuple[str, str, str]:
    return day, f"{day} %H:%M", f"{day} %H:%M:%S"


# How numbers and dates are written in texts, in the order of trial: SQL of a cell {x}, NULL for anything else.
STYLES: Final = {
    "plain": "CASE WHEN NOT contains({x}, '_') AND isfinite(TRY_CAST({x} AS DOUBLE)) THEN TRY_CAST({x} AS DOUBLE) END",
    "thousands": _written(
        "[+-]?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)([.][0-9]+)?", "TRY_CAST(replace({x}, ',', '') AS DOUBLE)"
    ),
    "decimal comma": _written(
        "[+-]?([0-9]+|[1-9][0-9]{0,2}([.][0-9]{3})+)(,[0-9]+)?",
        "TRY_CAST(replace(replace({x}, '.', ''), ',', '.') AS DOUBLE)",
    ),
    "2024-12-31": _day("[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}"),
    "31.12.2024": _day("[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}", *_forms("%d.%m.%Y")),
    "31/12/2024": _day("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", *_forms("%d/%m/%Y")),
    "12/31/2024": _day("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", *_forms("%m/%d/%Y")),
}


class Column(BaseModel):
    """What one column becomes, learned from the data of `fit`.

    Attributes:
        name: As the file has it.
        kind: What its cells are.
        style: Of numbers and dates in texts: how they are written, a key of `STYLES`.
        fill: Of numbers and dates: what stands for an empty cell.
        shift: Of numbers and dates: subtracted.
        scale: Of numbers and dates: divided by after that.
        values: Of a category: its values, one feature each.
        weights: Of text: the weight of each hashed word.
        width: Number of features.
        filled: Mean number of its features that are not 0 in a row.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    kind: Literal["number", "date", "category", "text", "vector"]
    style: str = "plain"
    fill: float = 0.0
    shift: float = 0.0
    scale: float = 1.0
    values: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    width: int = 1
    filled: float = 1.0

    def __str__(self) -> str:
        if self.kind == "category":
            return f"{self.name}: category ({self.width} values)"
        if self.kind == "text":
            return f"{self.name}: text ({self.width:,} hashed words)"
        if self.kind == "vector":
            return f"{self.name}: vector ({self.width:,} numbers)"
        if self.kind == "date":
            return f"{self.name}: date" + (f" (such as {self.style})" if self.style != "plain" else "")
        words = "number" if (self.shift, self.scale) == (0, 1) else "scaled"
        return f"{self.name}: {words}" + (f" ({self.style})" if self.style != "plain" else "")


def learn_columns(table: Table, names: Sequence[str], kinds: Mapping[str, str]) -> tuple[list[Column], list[str]]:
    """Return what columns become, and notes on those that hold nothing.

    Args:
        table: Filled with these columns.
        names: Of the columns.
        kinds: Of some columns, as the user wants them.
    """
    present = {name: count for name, (count,) in ask(table, names, lambda one: [f"count({table.column(one)})"])}
    used = [name for name in names if present[name] and table.types[name] != '"NULL"']
    styles = _find_styles(table, {name: present[name] for name in used}, kinds)
    moments = dict(ask(table, list(styles), lambda one: _moments(number(table, one, styles[one]))))
    columns = []
    for name in used:
        if name in styles:
            columns.append(_number_column(table, name, styles[name], present[name], moments[name]))
        elif table.types[name].endswith("]"):
            columns.append(_vector_column(table, name, kinds.get(name, "vector")))
        else:
            columns.append(_text_column(table, name, present[name], kinds.get(name)))
    return columns, [f"column {name} is empty and not used" for name in names if name not in used]


def number_of(table: Table, name: str) -> str:
    """Return a column of numbers in SQL, as most of them are written; NULL where a cell is none."""
    styles = list(STYLES) if table.types[name] == "VARCHAR" else ["plain"]
    counts = table.all(
        f"SELECT {', '.join(f'count({number(table, name, style)})' for style in styles)} FROM {{table}}"
    )[0]
    return number(table, name, styles[counts.index(max(counts))])


def ask(
    table: Table, names: Sequence[str], question: Callable[[str], Sequence[str]]
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the aggregates that are asked of each column, many columns in one query."""
    for start in range(0, len(names), AT_ONCE):
        asked = {name: question(name) for name in names[start : start + AT_ONCE]}
        row = iter(table.all(f"SELECT {', '.join(chain.from_iterable(asked.values()))} FROM {{table}}")[0])
        yield from ((name, [next(row) for _ in one]) for name, one in asked.items())


def _find_styles(table: Table, present: Mapping[str, int], kinds: Mapping[str, str]) -> dict[str, str]:
    """Return how numbers and dates are written, by column; texts of which some are numbers are refused."""
    styles, fits = dict[str, str](), dict[str, dict[str, int]]()
    for name in present:
        if table.types[name] == "VARCHAR" and kinds.get(name) not in {"category", "text"}:
            fits[name] = {}
        elif kinds.get(name) not in {"category", "text"} and not table.types[name].endswith("]"):
            styles[name] = "plain"
    for tried in (["plain"], list(STYLES)[1:]):  # most columns are plain, and ready then
        left = [name for name in fits if name not in styles and fits[name].get("plain") != present[name]]
        for name, counts in ask(table, left, lambda one: [f"count({number(table, one, style)})" for style in tried]):  # noqa: B023
            fits[name] |= dict(zip(tried, counts, strict=True))
            if tried != ["plain"] or table.is_text or name in kinds:  # else texts of digits are meant as texts
                fitting = [style for style in tried if fits[name][style] == present[name]]
                styles |= {name: fitting[0]} if fitting else {}
    for name, found in fits.items():
        best = max(found, key=found.__getitem__)
        if name in styles or (found[best] == present[name] and not table.is_text):
            continue
        if kinds.get(name) in _SCALARS or 2 * found[best] > present[name]:
            raise _mixed(table, name, best, present[name] - found[best])
    return styles


def number(table: Table, name: str, style: str) -> str:
    """Return a cell as a number, dates in days, in SQL; NULL where it is empty or something else."""
    column, kind = table.column(name), table.types[name]
    if kind == "VARCHAR":
        return STYLES[style].replace("{x}", column)
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"epoch({column}) / 86400"
    if _NUMERIC.fullmatch(kind):
        return f"nullif({column}::DOUBLE, 'nan'::DOUBLE)"
    raise _unusable(table, name, f"must hold numbers, texts, dates or vectors, got {kind}")


def _moments(value: str) -> list[str]:
    small = f"CASE WHEN abs({value}) < {_LARGEST} THEN {value} END"
    extremes = [f"min({value})", f"max({value})", f"count_if({value} = 0)", f"count_if({value} = 1)"]
    return [f"avg({small})", f"stddev_pop({small})", *extremes]


def _number_column(table: Table, name: str, style: str, present: int, moments: Sequence[Any]) -> Column:
    mean, spread, least, most, zeros, ones = moments
    if mean is None or max(abs(least), abs(most)) >= _LARGEST:
        raise _unusable(table, name, "holds infinite numbers, or numbers too large to scale")
    is_date = style[-1:].isdigit() or table.types[name].startswith(("DATE", "TIMESTAMP"))
    facts: dict[str, Any] = {"name": name, "kind": "date" if is_date else "number", "style": style}
    if zeros + ones == present:  # 0 and 1 stay as they are
        return Column(**facts, fill=mean, filled=1 - zeros / table.rows)
    if least >= 0 and 2 * zeros > present and not is_date:  # counts: mostly 0, and so they stay
        return Column(**facts, scale=most, filled=(present - zeros) / table.rows)
    return Column(**facts, fill=mean, shift=mean, scale=spread or 1.0)


def _vector_column(table: Table, name: str, wanted: str) -> Column:
    column, kind = table.column(name), table.types[name]
    if wanted != "vector":
        raise _unusable(table, name, f"holds vectors, so it cannot be read as {wanted}")
    if not _NUMERIC.match(kind) or kind.endswith("][]"):
        raise _unusable(table, name, f"must hold vectors of numbers, got {kind}")
    low, high = table.all(f"SELECT min(len({column})), max(len({column})) FROM {{table}}")[0]
    if low != high or not low:
        raise _unusable(table, name, f"holds vectors of {low} and of {high} numbers; all must have the same length")
    return Column(name=name, kind="vector", width=low, filled=low)


def _text_column(table: Table, name: str, present: int, wanted: str | None) -> Column:
    text = as_text(table, name)
    most = present if wanted == "category" else min(_MOST_CATEGORIES, present // 2)
    query = f"SELECT {text} AS t FROM {{table}} WHERE t IS NOT NULL GROUP BY 1 LIMIT {most + 1}"
    values = [] if wanted == "text" else sorted(row[0] for row in table.all(query))
    if 0 < len(values) <= most:
        width, filled = len(values), present / table.rows
        return Column(name=name, kind="category", values=tuple(values), width=width, filled=filled)
    documents, rows = np.zeros(HASHED_WORDS), CELLS // HASHED_WORDS
    for start in range(0, table.rows, rows):
        documents += np.bincount(word_counts(table, name, start, rows).indices, minlength=HASHED_WORDS)
    weights, filled = np.log((1 + table.rows) / (1 + documents)) + 1, documents.sum() / table.rows
    return Column(name=name, kind="text", weights=tuple(weights.tolist()), width=HASHED_WORDS, filled=filled)


def as_text(table: Table, name: str) -> str:
    """Return a cell as text in SQL."""
    column = table.column(name)
    return column if table.types[name] == "VARCHAR" else ID.format(column)


def _unusable(table: Table, name: str, why: str) -> UnreadableFileError:
    return UnreadableFileError(
        f"{table.where}: the column '{name}' {why}. Change it, or leave it out with --column {name}=ignore."
    )


def _mixed(table: Table, name: str, style: str, count: int) -> UnreadableFileError:
    """Return the error of a column with numbers and other texts."""
    column = table.column(name)
    wrong = f"{column} IS NOT NULL AND {number(table, name, style)} IS NULL"
    row, word = table.all(f"SELECT _row, {column} FROM {{table}} WHERE {wrong} ORDER BY _row LIMIT 1")[0]
    return UnreadableFileError(
        f"{table.where}: the column '{name}' mixes numbers with text: {count} cells are no numbers, the first is "
        f"'{word[:80]}' ({table.place(row)}). Correct them, name the word for unknown with --missing '{word[:80]}', "
        f"or read it otherwise with --column {name}=category."
    )


def word_counts(table: Table, name: str, start: int, rows: int) -> SparseMatrix:
    """Return hashed word counts of some rows [rows, hashed words]."""
    from sklearn.feature_extraction.text import HashingVectorizer

    block = f"FROM {{table}} WHERE _row >= {start} AND _row < {start + rows} ORDER BY _row"
    (texts,) = table.arrays(f"SELECT coalesce({as_text(table, name)}, '') {block}")
    return HashingVectorizer(n_features=HASHED_WORDS, alternate_sign=False, norm=None).transform(texts)


def check_columns(table: Table, columns: Sequence[Column]) -> list[str]:
    """Raise where a column is missing, or holds something else than in the fit; return notes on empty and new cells."""
    lost = [one.name for one in columns if one.name not in table.types]
    if lost:
        raise UnreadableFileError(
            f"{table.where} must have the column '{lost[0]}', which the model was fitted with ({len(lost)} missing). "
            "Add it."
        )
    known, notes = {one.name: one for one in columns}, []
    for one in columns:
        found = _vector_column(table, one.name, one.kind).width if table.types[one.name].endswith("]") else 0
        if found != one.width * (one.kind == "vector"):
            raise _unusable(table, one.name, f"must be as in the fit ({one}), got {table.types[one.name]}")

    def question(name: str) -> list[str]:
        column = known[name]
        if column.kind == "category":
            return [f"count({as_text(table, name)} IN ({', '.join(map(quoted, column.values))}) OR NULL)"]
        return [f"count({number(table, name, column.style) if column.kind in _SCALARS else table.column(name)})"]

    for name, (cells, right) in ask(table, list(known), lambda one: [f"count({table.column(one)})", *question(one)]):
        column = known[name]
        if column.kind in _SCALARS and right < cells and table.types[name] == "VARCHAR":
            raise _mixed(table, name, column.style, cells - right)
        mean = "its mean" if column.kind == "date" else f"its mean {column.fill:g}" if column.fill else "0"
        words = {"number": mean, "date": mean, "vector": "zeros"}
        if column.kind == "category" and right < cells:
            notes.append(f"column {name}: {cells - right} cells hold values not seen in fit and count as none")
        elif column.kind in words and table.rows > right:
            notes.append(f"column {name}: {table.rows - right} empty cells count as {words[column.kind]}")
    return notes
