"""A table of texts in markdown, LaTeX or HTML, written by pandas."""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import pandas as pd

_LATEX: Final = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "<": "$<$", ">": "$>$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
)


@dataclass(frozen=True)
class Format:
    """How texts become a table; in the templates, {} is where the text goes.

    Attributes:
        escape: Makes plain text safe.
        bold: Template.
        italic: Template.
        raised: Template for the letters of footnotes.
        gap: Between two figures of one cell.
        table: Writes escaped texts; so many of the first columns are the names of the rows.
        notes: Puts sentences below a table.
        title: Template.
        figure: Template for the name of a file without its suffix.
    """

    escape: Callable[[str], str]
    bold: str
    italic: str
    raised: str
    gap: str
    table: Callable[[pd.DataFrame, int], str]
    notes: Callable[[Sequence[str]], str]
    title: str
    figure: str


def _escape_markdown(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


def _markdown_table(frame: pd.DataFrame, names: int) -> str:
    align = ["left"] * names + ["right"] * (frame.shape[1] - names)
    heads = [
        head if isinstance(head, str) else ", ".join(filter(None, head))
        for head in frame.columns.tolist()
    ]
    # Texts stay as they are: 80.0 is not to become 80.
    flat = frame.set_axis(heads, axis=1)
    return flat.to_markdown(index=False, colalign=align, disable_numparse=True) + "\n"


def _latex_table(frame: pd.DataFrame, names: int) -> str:
    shape = "l" * names + "r" * (frame.shape[1] - names)
    plain = frame.style.hide(axis="index")
    text = plain.to_latex(hrules=True, column_format=shape, multicol_align="c")
    return f"% needs \\usepackage{{booktabs}}\n{text}"


def _html_table(frame: pd.DataFrame, names: int) -> str:  # noqa: ARG001
    with pd.option_context("display.max_colwidth", None):
        return frame.to_html(index=False, escape=False, border=0, classes="results") + "\n"


MARKDOWN: Final = Format(
    escape=_escape_markdown,
    bold="**{}**",
    italic="*{}*",
    raised=" [{}]",
    gap=" · ",
    table=_markdown_table,
    notes=lambda sentences: "".join(f"\n{sentence}\n" for sentence in sentences),
    title="## {}\n\n",
    figure="\n![]({}.svg)\n",
)
LATEX: Final = Format(
    escape=lambda text: text.translate(_LATEX),
    bold=r"\textbf{{{}}}",
    italic=r"\textit{{{}}}",
    raised=r"\textsuperscript{{{}}}",
    gap=" ",
    table=_latex_table,
    notes=lambda sentences: rf"\par\smallskip{{\footnotesize {' '.join(sentences)}\par}}" + "\n",
    title="\\paragraph{{{}}}\n",
    figure="\\includegraphics[width=\\linewidth]{{{}.png}}\n",
)
HTML: Final = Format(
    escape=html.escape,
    bold="<strong>{}</strong>",
    italic="<em>{}</em>",
    raised="<sup>{}</sup>",
    gap="<br>",
    table=_html_table,
    notes=lambda sentences: "".join(f"<p>{sentence}</p>\n" for sentence in sentences),
    title="<h2>{}</h2>\n",
    figure='<img src="{}.svg" alt="">\n',
)
FORMATS: Final = {"markdown": MARKDOWN, "latex": LATEX, "html": HTML}
NAMES: Final = (*FORMATS, "csv", "json")
