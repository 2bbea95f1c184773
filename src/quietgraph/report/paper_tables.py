"""Comparisons with the paper, written in each format: ours, then the printed figure."""

import csv
import html
import io
import string
from collections.abc import Callable, Sequence
from typing import Final

from quietgraph.errors import UnknownNameError
from quietgraph.paper.comparison import Cell, Comparison, Number
from quietgraph.report.table_formats import SPECIAL

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
        tables: In order; CSV puts all into one table.
        format: One of `PAPER_FORMATS`.
        figures: By target, the file name of a figure without its suffix.
    """
    if format not in PAPER_FORMATS:
        raise UnknownNameError("table format", format, PAPER_FORMATS)
    if format == "csv":
        return _csv(tables)
    write = PAPER_FORMATS[format]
    return "\n".join(write(table, (figures or {}).get(table.target)) for table in tables)


def footnotes(table: Comparison) -> dict[str, str]:
    """Return the letter of each mark, in the order in which they appear."""
    letters = [*string.ascii_lowercase, *(f"a{letter}" for letter in string.ascii_lowercase)]
    return dict(zip(table.marks(), letters, strict=False))


def _markdown(table: Comparison, figure: str | None) -> str:
    def cell_text(cell: Cell) -> str:
        theirs = _printed(cell)
        parts = [_escape_markdown(_ours(cell, has_printed=bool(theirs)))]
        if theirs:
            parts.append(f"*{theirs}*" + "".join(f" [{notes[mark]}]" for mark in cell.marks))
        return " · ".join(filter(None, parts))

    notes = footnotes(table)
    heads = [_escape_markdown(name) for name in _heads(table)]
    rule = [":--"] * (len(heads) - len(table.columns)) + ["--:"] * len(table.columns)
    lines = [f"## {table.title}", ""]
    rows = _rows(table, cell_text, _escape_markdown)
    lines += [f"| {' | '.join(cells)} |" for cells in (heads, rule, *rows)]
    lines += ["", *_sentences(table)]
    lines += [""] * bool(notes) + [f"- [{letter}] {mark}" for mark, letter in notes.items()]
    if figure:
        lines += ["", f"![{table.title}]({figure}.svg)"]
    return "\n".join([*lines, ""])


def _latex(table: Comparison, figure: str | None) -> str:
    def cell_text(cell: Cell) -> str:
        theirs = _printed(cell)
        parts = [_escape_latex(_ours(cell, has_printed=bool(theirs)))]
        if theirs:
            letters = ",".join(notes[mark] for mark in cell.marks)
            raised = rf"\textsuperscript{{{letters}}}" if letters else ""
            parts.append(rf"\textit{{{_escape_latex(theirs)}}}{raised}")
        return " ".join(filter(None, parts))

    notes = footnotes(table)
    heads = [_escape_latex(name) for name in _heads(table)]
    shape = "l" * (len(heads) - len(table.columns)) + "r" * len(table.columns)
    words = [_escape_latex(sentence) for sentence in _sentences(table)]
    words += [
        rf"\textsuperscript{{{letter}}} {_escape_latex(mark)}" for mark, letter in notes.items()
    ]
    lines = [
        rf"\paragraph{{{_escape_latex(table.title)}}}",
        rf"\begin{{tabular}}{{{shape}}}  % needs \usepackage{{booktabs}}",
        r"\toprule",
        rf"{' & '.join(heads)} \\",
        r"\midrule",
        *(rf"{' & '.join(cells)} \\" for cells in _rows(table, cell_text, _escape_latex)),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\smallskip{{\footnotesize {' '.join(words)}\par}}",
    ]
    if figure:
        lines.append(rf"\includegraphics[width=\linewidth]{{{figure}.png}}")
    return "\n".join([*lines, ""])


def _html(table: Comparison, figure: str | None) -> str:
    def cell_text(cell: Cell) -> str:
        theirs = _printed(cell)
        parts = [html.escape(_ours(cell, has_printed=bool(theirs)))]
        if theirs:
            raised = "".join(f"<sup>{notes[mark]}</sup>" for mark in cell.marks)
            parts.append(f"<em>{html.escape(theirs)}</em>{raised}")
        return "<br>".join(filter(None, parts))

    notes = footnotes(table)
    heads = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in _heads(table))
    body = [
        "<tr>" + "".join(f"<td>{text}</td>" for text in cells) + "</tr>"
        for cells in _rows(table, cell_text, html.escape)
    ]
    lines = [
        f'<section id="{table.target}">',
        f"<h2>{html.escape(table.title)}</h2>",
        '<table class="results">',
        f"<thead><tr>{heads}</tr></thead>",
        "<tbody>",
        *body,
        "</tbody>",
        "</table>",
        *(f"<p>{html.escape(sentence)}</p>" for sentence in _sentences(table)),
        *(f"<p><sup>{letter}</sup> {html.escape(mark)}</p>" for mark, letter in notes.items()),
    ]
    if figure:
        lines.append(f'<img src="{html.escape(figure)}.svg" alt="{html.escape(table.title)}">')
    return "\n".join([*lines, "</section>", ""])


def _csv(tables: Sequence[Comparison]) -> str:
    """Return one line per cell of all tables, numbers in the unit that the line names."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_CSV)
    for table in tables:
        for row in table.rows:
            for column, cell in row.cells.items():
                names = [table.target, row.dataset, row.name, column, cell.unit.name]
                ours, theirs = (_values(number, cell) for number in (cell.ours, cell.printed))
                n = cell.ours.n if cell.ours else None
                words = [" ".join(cell.marks), cell.words]
                writer.writerow([*names, *ours, n, *theirs, *words])
    return text.getvalue()


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


def _names_datasets(table: Comparison) -> bool:
    """Whether the rows need a column that says their dataset."""
    return table.head != "dataset" and any(row.dataset for row in table.rows)


def _heads(table: Comparison) -> list[str]:
    return [*(["dataset"] if _names_datasets(table) else []), table.head, *table.columns]


def _rows(
    table: Comparison, cell_text: Callable[[Cell], str], escape: Callable[[str], str]
) -> list[list[str]]:
    """Return the texts of every row."""
    lines = []
    for row in table.rows:
        names = [row.dataset, row.name] if _names_datasets(table) else [row.name]
        cells = (row.cells.get(column, Cell()) for column in table.columns)
        lines.append([*map(escape, names), *map(cell_text, cells)])
    return lines


def _sentences(table: Comparison) -> list[str]:
    return [" ".join(table.notes)] if table.notes else []


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


def _escape_latex(text: str) -> str:
    return text.translate(SPECIAL)


PAPER_FORMATS: Final[dict[str, Callable[[Comparison, str | None], str]]] = {
    "markdown": _markdown,
    "latex": _latex,
    "csv": lambda table, _: _csv([table]),
    "html": _html,
}
