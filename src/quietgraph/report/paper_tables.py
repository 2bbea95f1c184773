"""Comparisons with the paper, written in each format: ours, then the printed figure."""

import string
from collections.abc import Iterator, Sequence
from typing import Any, Final

import pandas as pd

from quietgraph.errors import UnknownNameError
from quietgraph.paper.comparison import Cell, Comparison, Number
from quietgraph.report.table_formats import FORMATS, NAMES, Format

_CSV: Final = (
    "target", "dataset", "row", "column", "unit", "ours", "ours_std", "n", "printed",
    "printed_std", "marks", "words",
)  # fmt: skip


def render_comparisons(
    tables: Sequence[Comparison],
    *,
    format: str = "markdown",  # noqa: A002
    figures: dict[str, str] | None = None,
) -> str:
    """Return tables of the paper as text, ours beside theirs, with footnotes.

    Args:
        tables: In order; CSV and JSON put all into one table.
        format: markdown, latex, csv, json or html.
        figures: By target, the file name of a figure without its suffix.
    """
    if format not in NAMES:
        raise UnknownNameError("table format", format, NAMES)
    if format in {"csv", "json"}:
        rows = [line for table in tables for line in _lines(table)]
        frame = pd.DataFrame(rows, columns=list(_CSV)).astype({"n": "Int64"})
        if format == "json":
            return frame.to_json(orient="records", indent=1)
        return frame.to_csv(index=False, lineterminator="\n")
    form, names = FORMATS[format], figures or {}
    return "\n".join(_section(table, form, names.get(table.target)) for table in tables)


def _section(table: Comparison, form: Format, figure: str | None) -> str:
    letters = footnotes(table)
    notes = [form.escape(" ".join(table.notes))] if table.notes else []
    notes += [
        f"{form.raised.format(letter).strip()} {form.escape(mark)}"
        for mark, letter in letters.items()
    ]
    parts = [
        form.title.format(form.escape(table.title)),
        form.table(*_texts(table, form, letters)),
        form.notes(notes),
        form.figure.format(form.escape(figure)) if figure else "",
    ]
    return "".join(parts)


def footnotes(table: Comparison) -> dict[str, str]:
    """Return the letter of each mark, in the order in which they appear."""
    letters = [*string.ascii_lowercase, *(f"a{letter}" for letter in string.ascii_lowercase)]
    return dict(zip(table.marks(), letters, strict=False))


def _texts(table: Comparison, form: Format, letters: dict[str, str]) -> tuple[pd.DataFrame, int]:
    """Return the text of every cell, and how many columns are names of the rows."""
    has_datasets = table.head != "dataset" and any(row.dataset for row in table.rows)
    heads = [*(["dataset"] if has_datasets else []), table.head]
    rows = []
    for row in table.rows:
        names = (row.dataset, row.name)[-len(heads) :]
        cells = (row.cells.get(column, Cell()) for column in table.columns)
        rows.append([*map(form.escape, names), *(_cell_text(c, form, letters) for c in cells)])
    columns = [form.escape(name) for name in (*heads, *table.columns)]
    return pd.DataFrame(rows, columns=columns), len(heads)


def _cell_text(cell: Cell, form: Format, letters: dict[str, str]) -> str:
    theirs = _printed(cell)
    parts = [form.escape(_ours(cell, has_printed=bool(theirs)))]
    if theirs:
        marks = ",".join(letters[mark] for mark in cell.marks)
        raised = form.raised.format(marks) if marks else ""
        parts.append(form.italic.format(form.escape(theirs)) + raised)
    return form.gap.join(filter(None, parts))


def _lines(table: Comparison) -> Iterator[list[Any]]:
    """Give one line per cell, numbers in the unit that the line names."""
    for row in table.rows:
        for column, cell in row.cells.items():
            names = [table.target, row.dataset, row.name, column, cell.unit.name]
            ours, theirs = (_values(number, cell) for number in (cell.ours, cell.printed))
            n = cell.ours.n if cell.ours else None
            yield [*names, *ours, n, *theirs, " ".join(cell.marks), cell.words]


def _values(number: Number | None, cell: Cell) -> tuple[float | None, float | None]:
    """Return mean and deviation in the cell's unit."""
    if number is None:
        return None, None
    mean, std = (
        None if value is None else round(cell.unit.factor * value, 6)
        for value in (number.mean, number.std)
    )
    return mean, std


def _ours(cell: Cell, *, has_printed: bool) -> str:
    if cell.ours is None:
        return cell.words or ("-" if has_printed else "")
    words = cell.unit.text(cell.ours)
    return f"{words}, {cell.words}" if cell.words else words


def _printed(cell: Cell) -> str:
    return cell.unit.text(cell.printed) if cell.printed else ""
