"""Small HTML for notebooks: a caption, facts, and a note; every text is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def facts_html(title: str, facts: Mapping[str, object], notes: Iterable[str] = ()) -> str:
    """Return a table of two columns under a title, and notes below it.

    Args:
        title: Of the whole.
        facts: Values by name; numbers are written for people.
        notes: Sentences.
    """
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(said(value))}</td></tr>'
        for name, value in facts.items()
    )
    return _framed(title, f"<table><tbody>{rows}</tbody></table>", notes)


def rows_html(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], notes: Iterable[str] = ()
) -> str:
    """Return a table with a row of column names under a title, and notes below it."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(said(value))}</td>' for value in row)}</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return _framed(title, table, notes)


def said(value: object) -> str:
    """Return a value as people write it: thousands apart, three digits of a fraction."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _framed(title: str, table: str, notes: Iterable[str]) -> str:
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f'<div class="quietgraph"><strong>{escape(title)}</strong>{table}{below}</div>'
