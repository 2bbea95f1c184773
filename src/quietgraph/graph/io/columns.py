"""Columns of a table as features: numbers and dates scaled, categories one-hot, text hashed, vectors as they are."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import scipy.sparse
import torch
from pydantic import BaseModel, ConfigDict

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.tables import ID, Table, quoted
from quietgraph.graph.sparse import CSR, Features, is_sparse
from quietgraph.types import AnyArray, SparseMatrix

# Makes an array of a name, shape and type: in memory, or as a file that is mapped.
Allocate: TypeAlias = Callable[[str, tuple[int, ...], Any], AnyArray]

HASHED_WORDS: Final = 2048
_MOST_CATEGORIES: Final = 100
_AT_ONCE: Final = 500  # columns of one query
_CELLS: Final = 2**23  # of features encoded at a time
_SCALARS: Final = ("number", "date")
_Notes: TypeAlias = Counter[tuple[str, str]]  # cells by column and what became of them
_LARGEST: Final = 1e150  # squares of larger numbers are infinite


def _comma(pattern: str, number: str) -> str:
    return f"CASE WHEN regexp_full_match({{x}}, '{pattern}') THEN TRY_CAST({number} AS DOUBLE) END"


def _day(pattern: str, form: str) -> str:
    moment = (
        f"try_strptime({{x}}, ['{form}', '{form} %H:%M', '{form} %H:%M:%S'])" if form else "TRY_CAST({x} AS TIMESTAMP)"
    )
    return f"CASE WHEN regexp_full_match({{x}}, '{pattern}([ T][0-9].*)?') THEN epoch({moment}) / 86400 END"


# How numbers and dates are written in texts, in the order of trial: SQL of a cell {x}, NULL for anything else.
STYLES: Final = {
    "plain": "CASE WHEN NOT contains({x}, '_') AND isfinite(TRY_CAST({x} AS DOUBLE)) THEN TRY_CAST({x} AS DOUBLE) END",
    "thousands": _comma("[+-]?([0-9]+|[1-9][0-9]{0,2}(,[0-9]{3})+)([.][0-9]+)?", "replace({x}, ',', '')"),
    "decimal comma": _comma(
        "[+-]?([0-9]+|[1-9][0-9]{0,2}([.][0-9]{3})+)(,[0-9]+)?", "replace(replace({x}, '.', ''), ',', '.')"
    ),
    "2024-12-31": _day("[0-9]{4}[-/][0-9]{1,2}[-/][0-9]{1,2}", ""),
    "31.12.2024": _day("[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}", "%d.%m.%Y"),
    "31/12/2024": _day("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", "%d/%m/%Y"),
    "12/31/2024": _day("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", "%m/%d/%Y"),
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

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")
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
        words = self.kind if self.kind == "date" or (self.shift, self.scale) == (0, 1) else "scaled"
        such = "such as " if self.kind == "date" else ""
        return f"{self.name}: {words}" if self.style == "plain" else f"{self.name}: {words} ({such}{self.style})"


def learn_columns(table: Table, names: Sequence[str], kinds: Mapping[str, str]) -> tuple[list[Column], list[str]]:
    """Return what columns become, and notes on those that hold nothing.

    Args:
        table: Filled with these columns.
        names: Of the columns.
        kinds: Of some columns, as the user wants them.
    """
    present = {
        name: found[0] for name, found in _ask(table, {one: [f"count({table.column(one)})"] for one in names}).items()
    }
    used = [name for name in names if present[name] and table.types[name] != '"NULL"']
    styles = _find_styles(table, used, present, kinds)
    numbers = _ask(table, {name: _moments(_number(table, name, style)) for name, style in styles.items()})
    columns = []
    for name in used:
        if name in styles:
            columns.append(_number_column(table, name, styles[name], present[name], numbers[name]))
        elif table.types[name].endswith("]"):
            columns.append(_vector_column(table, name, kinds.get(name, "vector")))
        else:
            columns.append(_text_column(table, name, present[name], kinds.get(name)))
    return columns, [f"column {name} is empty and not used" for name in names if name not in used]


def _ask(table: Table, questions: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """Return the aggregates that are asked of each column, many columns in one query."""
    found, names = {}, list(questions)
    for start in range(0, len(names), _AT_ONCE):
        few = names[start : start + _AT_ONCE]
        answers = iter(table.one(f"SELECT {', '.join(one for name in few for one in questions[name])} FROM {{table}}"))
        found |= {name: [next(answers) for _ in questions[name]] for name in few}
    return found


def _find_styles(
    table: Table, names: Sequence[str], present: Mapping[str, int], kinds: Mapping[str, str]
) -> dict[str, str]:
    """Return how numbers and dates are written, by column; a column of texts with some numbers is refused."""
    styles, open_ = {}, []
    for name in names:
        wanted, kind = kinds.get(name), table.types[name]
        if wanted in {"category", "text"} or (kind.endswith("]") and wanted in {None, "vector"}):
            continue
        if kind == "VARCHAR":
            open_.append((name, [one for one in STYLES if table.is_text or wanted or one != "plain"]))
        else:
            styles[name] = "plain"
    fits: dict[str, dict[str, int]] = {name: {} for name, _ in open_}
    for some in (("plain",), tuple(STYLES)[1:]):  # most columns are plain numbers, and ready then
        asked = {name: [one for one in known if one in some] for name, known in open_ if name not in styles}
        counts = [f"count({_number(table, name, one)})" for name in asked for one in asked[name]]
        answers = (
            _ask(table, {name: [f"count({_number(table, name, one)})" for one in asked[name]] for name in asked})
            if counts
            else {}
        )
        for name, found in answers.items():
            fits[name] |= dict(zip(asked[name], found, strict=True))
            fitting = [one for one, count in fits[name].items() if count == present[name]]
            styles |= {name: fitting[0]} if fitting else {}
    for name, found in fits.items():
        best = max(found, key=lambda one: found[one])
        if name not in styles and (kinds.get(name) in {"number", "date"} or 2 * found[best] > present[name]):
            raise _mixed(table, name, best, present[name] - found[best])
    return styles


def _number(table: Table, name: str, style: str) -> str:
    """Return a cell as a number, dates in days, in SQL; NULL where it is empty or something else."""
    column, kind = table.column(name), table.types[name]
    if kind == "VARCHAR":
        return STYLES[style].replace("{x}", column)
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"epoch({column}) / 86400"
    if kind.endswith(("INT", "INTEGER")) or kind.startswith(("DOUBLE", "FLOAT", "DECIMAL", "BOOLEAN")):
        return f"nullif({column}::DOUBLE, 'nan'::DOUBLE)"
    raise UnreadableFileError(
        f"{table.where}: the column '{name}' must hold numbers, texts, dates or vectors, got {kind}. Convert it, or "
        f"leave it out with --column {name}=ignore."
    )


def _moments(value: str) -> list[str]:
    small = f"CASE WHEN abs({value}) < {_LARGEST} THEN {value} END"
    least, most = f"min({value})", f"max({value})"
    return [f"avg({small})", f"stddev_pop({small})", least, most, f"count_if({value} = 0)", f"count_if({value} = 1)"]


def _number_column(table: Table, name: str, style: str, present: int, moments: Sequence[Any]) -> Column:
    mean, spread, least, most, zeros, ones = moments
    if mean is None or max(abs(least), abs(most)) >= _LARGEST:
        raise UnreadableFileError(
            f"{table.where}: the column '{name}' holds infinite numbers, or too large ones to scale. Replace them, or "
            f"leave it out with --column {name}=ignore."
        )
    date = style.endswith(("2024", "-31")) or table.types[name].startswith(("DATE", "TIMESTAMP"))
    facts: dict[str, Any] = {"name": name, "kind": "date" if date else "number", "style": style}
    if zeros + ones == present:  # 0 and 1 stay as they are
        return Column(**facts, fill=mean, filled=1 - zeros / table.rows)
    if least >= 0 and 2 * zeros > present:  # counts: mostly 0, and so they stay
        return Column(**facts, scale=most, filled=(present - zeros) / table.rows)
    return Column(**facts, fill=mean, shift=mean, scale=spread or 1.0)


def _vector_column(table: Table, name: str, wanted: str) -> Column:
    column = table.column(name)
    if wanted != "vector":
        raise UnreadableFileError(
            f"{table.where}: the column '{name}' holds vectors, so it cannot be read as {wanted}. Leave --column {name} out."
        )
    if not table.types[name].startswith(
        ("DOUBLE", "FLOAT", "INT", "BIGINT", "SMALLINT", "TINYINT", "DECIMAL", "U", "BOOL")
    ):
        raise UnreadableFileError(
            f"{table.where}: the column '{name}' must hold vectors of numbers, got {table.types[name]}. Leave it out "
            f"with --column {name}=ignore."
        )
    low, high = table.one(f"SELECT min(len({column})), max(len({column})) FROM {{table}}")
    if low != high:
        raise UnreadableFileError(
            f"{table.where}: the column '{name}' holds vectors of {low} and of {high} numbers. All must have the same length."
        )
    return Column(name=name, kind="vector", width=low, filled=low)


def _text_column(table: Table, name: str, present: int, wanted: str | None) -> Column:
    text = _as_text(table, name)
    most = present + 1 if wanted == "category" else _MOST_CATEGORIES + 1
    query = f"SELECT {text} AS t FROM {{table}} WHERE {text} IS NOT NULL GROUP BY 1 LIMIT {most}"
    values = sorted(map(str, table.arrays(query)["t"])) if wanted != "text" else []
    if wanted == "category" or 0 < len(values) <= min(_MOST_CATEGORIES, present / 2):
        return Column(name=name, kind="category", values=tuple(values), width=len(values), filled=present / table.rows)
    documents, entries = np.zeros(HASHED_WORDS), 0
    for start in range(0, table.rows, _rows(HASHED_WORDS)):
        counts = _word_counts(table, name, start)
        documents += np.bincount(counts.indices, minlength=HASHED_WORDS)
        entries += counts.nnz
    weights = np.log((1 + table.rows) / (1 + documents)) + 1
    return Column(
        name=name, kind="text", weights=tuple(weights.tolist()), width=HASHED_WORDS, filled=entries / table.rows
    )


def _as_text(table: Table, name: str) -> str:
    column = table.column(name)
    return column if table.types[name] == "VARCHAR" else ID.format(column)


def _word_counts(table: Table, name: str, start: int, width: int = HASHED_WORDS) -> SparseMatrix:
    """Return hashed word counts of a block of rows."""
    from sklearn.feature_extraction.text import HashingVectorizer

    query = f"SELECT coalesce({_as_text(table, name)}, '') AS t FROM {{table}} {_where(start, width)}"
    hashing = HashingVectorizer(n_features=HASHED_WORDS, alternate_sign=False, norm=None)
    return hashing.transform(table.arrays(query)["t"])


def _rows(width: int) -> int:
    return max(2048, _CELLS // width)


def _where(start: int, width: int) -> str:
    return f"WHERE _row >= {start} AND _row < {start + _rows(width)} ORDER BY _row"


def _mixed(table: Table, name: str, style: str, count: int) -> UnreadableFileError:
    """Return the error of a column with numbers and other texts."""
    column = table.column(name)
    wrong = f"{column} IS NOT NULL AND {_number(table, name, style)} IS NULL"
    row, word = table.one(f"SELECT _row, {column} FROM {{table}} WHERE {wrong} ORDER BY _row LIMIT 1")
    return UnreadableFileError(
        f"{table.where}: the column '{name}' mixes numbers with text: {count} cells are no numbers, the first is "
        f"'{word[:80]}' ({table.place(row)}). Correct them, name the word for unknown with --missing '{word[:80]}', or "
        f"read it otherwise with --column {name}=category."
    )


def number_of(table: Table, name: str) -> str:
    """Return a column of numbers in SQL, however they are written; raise where some are none."""
    present = _ask(table, {name: [f"count({table.column(name)})"]})[name][0]
    return _number(table, name, _find_styles(table, [name], {name: present}, {name: "number"})[name])


def check_columns(table: Table, columns: Sequence[Column]) -> None:
    """Raise where a column of the fit is missing, or holds something else than then."""
    lost = [column.name for column in columns if column.name not in table.types]
    if lost:
        raise UnreadableFileError(
            f"{table.where} must have the column '{lost[0]}', which the model was fitted with ({len(lost)} missing). Add it."
        )
    for column in columns:
        found = _vector_column(table, column.name, column.kind).width if table.types[column.name].endswith("]") else 0
        if (column.kind == "vector" or found) and found != column.width:
            raise UnreadableFileError(
                f"{table.where}: the column '{column.name}' must hold vectors of {column.width} numbers, got "
                f"{found or table.types[column.name]}."
            )
    styles = {one.name: one.style for one in columns if one.kind in _SCALARS}
    counts = {name: [f"count({table.column(name)})", f"count({_number(table, name, styles[name])})"] for name in styles}
    for name, (cells, numbers) in _ask(table, counts).items():
        if numbers < cells and table.types[name] == "VARCHAR":
            raise _mixed(table, name, styles[name], cells - numbers)


def encode(table: Table, columns: Sequence[Column], allocate: Allocate) -> tuple[Features, list[str]]:
    """Return the features of all rows, and notes on cells that are empty or new."""
    width, notes = sum(column.width for column in columns), _Notes()
    sparse = is_sparse(sum(column.filled for column in columns), width, width)
    dense = None if sparse else allocate("features", (table.rows, width), np.float32)
    blocks = []
    for start in range(0, table.rows, _rows(width)):
        parts = _encode_rows(table, columns, start, width, notes)
        if dense is None:
            blocks.append(scipy.sparse.hstack([scipy.sparse.csr_matrix(part) for part in parts], "csr", np.float32))
        else:
            rows, place = slice(start, start + parts[0].shape[0]), 0
            for part in parts:
                dense[rows, place : place + part.shape[1]] = part.toarray() if scipy.sparse.issparse(part) else part
                place += part.shape[1]
    words = [f"column {name}: {count} {sentence}" for (name, sentence), count in notes.items() if count]
    if dense is not None:
        return torch.from_numpy(dense), words
    return CSR.from_scipy(scipy.sparse.vstack(blocks, "csr")), words


def _encode_rows(table: Table, columns: Sequence[Column], start: int, width: int, notes: _Notes) -> list[Any]:
    """Return the features of a block of rows, side by side: matrices of all numbers in a row, of each other column."""
    from sklearn.preprocessing import normalize

    asked = {one.name: _cell(table, one) for one in columns if one.kind in _SCALARS or one.kind == "category"}
    cells, names = dict[str, AnyArray](), list(asked)
    for place in range(0, len(names), _AT_ONCE):
        few = names[place : place + _AT_ONCE]
        chosen = ", ".join(f"{asked[name]} AS {table.column(name)}" for name in few)
        found = table.arrays(f"SELECT {chosen} FROM {{table}} {_where(start, width)}")
        cells |= {name: found[table.column(name)] for name in few}
    parts: list[Any] = []
    for is_scalar, group in groupby(columns, key=lambda one: one.kind in _SCALARS):
        if is_scalar:
            parts.append(np.column_stack([_scaled(one, cells[one.name], notes) for one in group]))
            continue
        for column in group:
            if column.kind == "category":
                parts.append(_one_hot(column, cells[column.name], notes))
            elif column.kind == "text":
                counts = _word_counts(table, column.name, start, width)
                parts.append(normalize(counts @ scipy.sparse.diags(np.array(column.weights))))
            else:
                parts.append(_vectors(table, column, start, width, notes))
    return parts


def _cell(table: Table, column: Column) -> str:
    """Return a number, NaN where it is empty, or the place of a category, -1 where it is empty and -2 where new."""
    if column.kind != "category":
        return f"coalesce({_number(table, column.name, column.style)}, 'nan'::DOUBLE)"
    values, text = ", ".join(map(quoted, column.values)), _as_text(table, column.name)
    return f"CASE WHEN {text} IS NULL THEN -1 ELSE coalesce(list_position([{values}], {text}), -1) - 1 END"


def _scaled(column: Column, numbers: AnyArray, notes: _Notes) -> AnyArray:
    empty = np.isnan(numbers)
    stand_in = "0" if column.fill == 0 else f"its mean{'' if column.kind == 'date' else f' {column.fill:g}'}"
    notes[column.name, f"empty cells count as {stand_in}"] += int(empty.sum())
    return _small((np.where(empty, column.fill, numbers) - column.shift) / column.scale, column.name)


def _one_hot(column: Column, codes: AnyArray, notes: _Notes) -> SparseMatrix:
    notes[column.name, "cells hold values not seen in fit and count as none"] += int((codes < -1).sum())
    rows = np.flatnonzero(codes >= 0)
    return scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, codes[rows])), shape=(len(codes), column.width))


def _vectors(table: Table, column: Column, start: int, width: int, notes: _Notes) -> AnyArray:
    name, rows = table.column(column.name), f"FROM {{table}} {_where(start, width)}"
    empty = table.arrays(f"SELECT {name} IS NULL AS e {rows}")["e"]
    notes[column.name, "empty vectors count as zeros"] += int(empty.sum())
    full = np.zeros((len(empty), column.width))
    entries = table.arrays(f"SELECT unnest({name})::DOUBLE AS v {rows}")["v"]
    full[~empty] = entries.astype(np.float64).reshape(-1, column.width)
    return _small(full, column.name)


def _small(numbers: AnyArray, name: str) -> AnyArray:
    """Return numbers as 32-bit floats; raise where some do not fit."""
    wrong = ~(np.abs(numbers) <= np.finfo(np.float32).max)  # also where NaN
    if wrong.any():
        raise UnreadableFileError(
            f"the column '{name}' holds {numbers[wrong][0]:g}, which is no 32-bit float (up to 3.4e38). Fill it in or scale it."
        )
    return numbers.astype(np.float32)
