"""What columns of a table become: numbers and dates scaled, categories one-hot, text hashed, vectors as they are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.tables import ID, NUMERIC, Table, quoted
from quietgraph.types import SparseMatrix

HASHED_WORDS: Final = 2048
AT_ONCE: Final = 100  # columns of one query; its planning takes the square of them
CELLS: Final = 2**23  # of features held at a time
SCALARS: Final = ("number", "date")
_MOST_CATEGORIES: Final = 100
_LARGEST: Final = 1e150  # squares of larger numbers are infinite


def _commas(thousands: str, decimal: str) -> str:
    pattern = f"[+-]?([0-9]+|[1-9][0-9]{{0,2}}([{thousands}][0-9]{{3}})+)([{decimal}][0-9]+)?"
    plain = f"replace(replace({{x}}, '{thousands}', ''), '{decimal}', '.')"
    return f"CASE WHEN regexp_full_match({{x}}, '{pattern}') THEN TRY_CAST({plain} AS DOUBLE) END"


def _days(form: str) -> str:
    moment = f"try_strptime({{x}}, {[form, f'{form} %H:%M', f'{form} %H:%M:%S']})"
    return f"CASE WHEN regexp_matches({{x}}, '[./][0-9]{{4}}( |$)') THEN epoch({moment}) / 86400 END"


# How numbers and dates are written in texts, in the order of trial: SQL of a cell {x}, NULL for anything else.
STYLES: Final = {
    "plain": "CASE WHEN NOT contains({x}, '_') AND isfinite(TRY_CAST({x} AS DOUBLE)) THEN TRY_CAST({x} AS DOUBLE) END",
    "thousands": _commas(",", "."),
    "decimal comma": _commas(".", ","),
    "2024-12-31": "CASE WHEN regexp_matches({x}, '^[0-9]{4}[-/]') THEN epoch(TRY_CAST({x} AS TIMESTAMP)) / 86400 END",
    "31.12.2024": _days("%d.%m.%Y"),
    "31/12/2024": _days("%d/%m/%Y"),
    "12/31/2024": _days("%m/%d/%Y"),
}


_MOMENTS: Final = (
    *(f"{name}(CASE WHEN abs({{v}}) < {_LARGEST} THEN {{v}} END)" for name in ("avg", "stddev_pop")),
    *("min({v})", "max({v})", "count(CASE WHEN {v} = 0 THEN 1 END)", "count(CASE WHEN {v} = 1 THEN 1 END)"),
)


class Column(BaseModel):
    """What one column becomes, learned from the data of `fit`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str  # as the file has it
    kind: Literal["number", "date", "category", "text", "vector"]
    style: str = "plain"  # how numbers and dates in texts are written
    fill: float = 0.0  # stands for an empty cell of numbers and dates, of which `shift` is subtracted
    shift: float = 0.0
    scale: float = 1.0  # what they are divided by after that
    values: tuple[str, ...] = ()  # of a category, one feature each
    weights: tuple[float, ...] = ()  # of each hashed word of a text
    width: int = 1  # number of features
    filled: float = 1.0  # mean number of them that are not 0 in a row

    def __str__(self) -> str:
        if self.kind not in SCALARS:
            unit = {"category": "values", "text": "hashed words", "vector": "numbers"}[self.kind]
            return f"{self.name}: {self.kind} ({self.width:,} {unit})"
        words = "date" if self.kind == "date" else "number" if (self.shift, self.scale) == (0, 1) else "scaled"
        such = f" ({'such as ' if self.kind == 'date' else ''}{self.style})" if self.style != "plain" else ""
        return f"{self.name}: {words}{such}"


def learn_columns(table: Table, names: Sequence[str], kinds: Mapping[str, str]) -> tuple[list[Column], list[str]]:
    """Return what columns become, and notes on those that hold nothing.

    Args:
        table: Filled with these columns.
        names: Of the columns.
        kinds: Of some columns, as the user wants them.
    """
    present = {name: found[0] for name, found in _ask(table, names, table.column, "count({v})")}
    used = {name: present[name] for name in names if present[name] and table.types[name] != '"NULL"'}
    scalars, columns = _find_styles(table, used, kinds), []
    for name, count in used.items():
        if name in scalars:
            columns.append(_number_column(table, name, count, *scalars[name]))
        elif table.types[name].endswith("]"):
            columns.append(_vector_column(table, name, kinds.get(name, "vector")))
        else:
            columns.append(_text_column(table, name, count, kinds.get(name)))
    notes = [f"column {name} is empty and not used" for name in names if name not in used]
    return columns, [*notes, *_empty_cells(columns, {one.name: table.rows - used[one.name] for one in columns})]


def _empty_cells(columns: Sequence[Column], empty: Mapping[str, int]) -> list[str]:
    """Return notes on what stands for empty cells of numbers, dates and vectors."""
    notes = []
    for one in columns:
        mean = "its mean" if one.kind == "date" else f"its mean {one.fill:g}" if one.fill else "0"
        if one.kind in (*SCALARS, "vector") and empty[one.name]:
            stand_in = "zeros" if one.kind == "vector" else mean
            notes.append(f"column {one.name}: {empty[one.name]} empty cells count as {stand_in}")
    return notes


def _ask(
    table: Table, names: Sequence[str], value: Callable[[str], str], *aggregates: str
) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield aggregates of a value {v} of each column, many columns in one query."""
    for start in range(0, len(names), AT_ONCE):
        few, width = names[start : start + AT_ONCE], len(aggregates)
        values = ", ".join(f"{value(name)} AS v{place}" for place, name in enumerate(few))
        asked = ", ".join(one.replace("{v}", f"v{place}") for place in range(len(few)) for one in aggregates)
        row = table.all(f"SELECT {asked} FROM (SELECT {values} FROM {{table}})")[0]
        yield from ((name, row[place * width : (place + 1) * width]) for place, name in enumerate(few))


def _find_styles(
    table: Table, present: Mapping[str, int], kinds: Mapping[str, str]
) -> dict[str, tuple[str, Sequence[Any]]]:
    """Return how numbers and dates are written and their moments; texts of which most are numbers are refused."""
    found: dict[str, tuple[str, Sequence[Any]]] = {}
    fits: dict[str, dict[str, int]] = {
        name: {}
        for name in present
        if kinds.get(name) not in {"category", "text"} and not table.types[name].endswith("]")
    }
    for style in STYLES:  # most columns are plain, and ready then
        left = [name for name in fits if name not in found and (style == "plain" or table.types[name] == "VARCHAR")]
        asked = _ask(table, left, lambda one: number(table, one, style), "count({v})", *_MOMENTS)  # noqa: B023
        for name, (count, *moments) in asked:
            fits[name][style] = count
            if count == present[name] or table.types[name] != "VARCHAR":
                found[name] = style, moments
    for name, counts in fits.items():
        best = max(counts, key=counts.__getitem__)
        if name not in found and (kinds.get(name) in SCALARS or 2 * counts[best] > present[name]):
            raise _mixed(table, name, best, present[name] - counts[best])
    digits = [name for name, (style, _) in found.items() if style == "plain" and table.types[name] == "VARCHAR"]
    meant = digits if not table.is_text else []  # texts of digits in a table that knows numbers
    return {name: one for name, one in found.items() if name not in meant or name in kinds}


def number_of(table: Table, name: str) -> str:
    """Return a column of numbers in SQL, as most of them are written; NULL where a cell is none."""
    styles = list(STYLES) if table.types[name] == "VARCHAR" else ["plain"]
    counts = table.all(f"SELECT {', '.join(f'count({number(table, name, one)})' for one in styles)} FROM {{table}}")[0]
    return number(table, name, styles[counts.index(max(counts))])


def number(table: Table, name: str, style: str) -> str:
    """Return a cell as a number, dates in days, in SQL; NULL where it is empty or something else."""
    column, kind = table.column(name), table.types[name]
    if kind == "VARCHAR":
        return STYLES[style].replace("{x}", column)
    if kind.startswith(("DATE", "TIMESTAMP")):
        return f"epoch({column}) / 86400"
    if NUMERIC.fullmatch(kind):
        return f"nullif({column}::DOUBLE, 'nan'::DOUBLE)"
    raise _unusable(table, name, f"must hold numbers, texts, dates or vectors, got {kind}")


def _number_column(table: Table, name: str, present: int, style: str, moments: Sequence[Any]) -> Column:
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
    if wanted != "vector" or not NUMERIC.match(kind) or kind.count("[") > 1:
        raise _unusable(table, name, f"holds {kind}, vectors, so it cannot be read as a {wanted} of numbers")
    low, high = table.all(f"SELECT min(len({column})), max(len({column})) FROM {{table}}")[0]
    if low != high or not low:
        raise _unusable(table, name, f"holds vectors of {low} and of {high} numbers; all must have the same length")
    return Column(name=name, kind="vector", width=low, filled=low)


def _text_column(table: Table, name: str, present: int, wanted: str | None) -> Column:
    text, most = as_text(table, name), present if wanted == "category" else min(_MOST_CATEGORIES, present // 2)
    query = f"SELECT {text} AS t FROM {{table}} WHERE t IS NOT NULL GROUP BY 1 LIMIT {most + 1}"
    values = () if wanted == "text" else tuple(sorted(row[0] for row in table.all(query)))
    if 0 < len(values) <= most:
        return Column(name=name, kind="category", values=values, width=len(values), filled=present / table.rows)
    documents, rows = np.zeros(HASHED_WORDS), CELLS // HASHED_WORDS
    for start in range(0, table.rows, rows):
        documents += np.bincount(word_counts(table, name, start, rows).indices, minlength=HASHED_WORDS)
    weights, filled = np.log((1 + table.rows) / (1 + documents)) + 1, documents.sum() / table.rows
    return Column(name=name, kind="text", weights=tuple(weights.tolist()), width=HASHED_WORDS, filled=filled)


def as_text(table: Table, name: str) -> str:
    """Return a cell as text in SQL."""
    return table.column(name) if table.types[name] == "VARCHAR" else ID.format(table.column(name))


def word_counts(table: Table, name: str, start: int, rows: int) -> SparseMatrix:
    """Return hashed word counts of some rows [rows, hashed words]."""
    from sklearn.feature_extraction.text import HashingVectorizer

    block = f"FROM {{table}} WHERE _row >= {start} AND _row < {start + rows} ORDER BY _row"
    (texts,) = table.arrays(f"SELECT coalesce({as_text(table, name)}, '') {block}")
    return HashingVectorizer(n_features=HASHED_WORDS, alternate_sign=False, norm=None).transform(texts)


def check_columns(table: Table, columns: Sequence[Column]) -> list[str]:
    """Raise where a column is missing, or holds something else than in the fit; return notes on empty and new cells."""
    known, notes = {one.name: one for one in columns}, []
    for one in columns:
        kind = table.types.get(one.name, "nothing")
        is_vector = kind.endswith("]")
        if (
            kind == "nothing"
            or is_vector != (one.kind == "vector")
            or (is_vector and _vector_column(table, one.name, "vector").width != one.width)
        ):
            raise UnreadableFileError(
                f"{table.where} must have the column '{one.name}' as in the fit ({one}), got {kind}."
            )

    def right(name: str) -> str:
        column = known[name]
        if column.kind == "category":
            return f"list_position([{', '.join(map(quoted, column.values))}], {as_text(table, name)})"
        return number(table, name, column.style) if column.kind in SCALARS else table.column(name)

    cells = {name: found[0] for name, found in _ask(table, list(known), table.column, "count({v})")}
    for name, (count,) in _ask(table, list(known), right, "count({v})"):
        one, wrong = known[name], cells[name] - count
        if one.kind in SCALARS and wrong and table.types[name] == "VARCHAR":
            raise _mixed(table, name, one.style, wrong)
        if one.kind == "category" and wrong:
            notes.append(f"column {name}: {wrong} cells hold values not seen in fit and count as none")
    return [*_empty_cells(columns, {name: table.rows - count for name, count in cells.items()}), *notes]


def _unusable(table: Table, name: str, why: str) -> UnreadableFileError:
    way_out = f"Change it, or leave it out with --column {name}=ignore."
    return UnreadableFileError(f"{table.where}: the column '{name}' {why}. {way_out}")


def _mixed(table: Table, name: str, style: str, count: int) -> UnreadableFileError:
    """Return the error of a column with numbers and other texts."""
    column = table.column(name)
    wrong = f"{column} IS NOT NULL AND {number(table, name, style)} IS NULL"
    row, word = table.all(f"SELECT _row, {column}[:80] FROM {{table}} WHERE {wrong} ORDER BY _row LIMIT 1")[0]
    return UnreadableFileError(
        f"{table.where}: the column '{name}' mixes numbers with text: {count} cells are no numbers, the first is "
        f"'{word}' ({table.place(row)}). Correct them, name the word for unknown with --missing '{word}', or read it "
        f"otherwise with --column {name}=category."
    )
