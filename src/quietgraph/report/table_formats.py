"""One table of results, written in each format."""

import html
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pandas as pd

from quietgraph.bench.metrics import Metric

TESTS = ["baseline", "difference", "t_p", "t_holm", "wilcoxon_p", "wilcoxon_holm"]
_ENDS = {"failed": "failed", "timeout": "timeout", "out_of_memory": "out of memory"}
_MARKS = {"better": " ↑", "worse": " ↓", "": ""}
SPECIAL = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    | {"±": r"$\pm$", "<": "$<$", ">": "$>$", "↑": r"$\uparrow$", "↓": r"$\downarrow$"}
)


@dataclass(frozen=True)
class Table:
    """What every format shows: judged cells, the order of rows and columns, the footnote."""

    cells: pd.DataFrame  # one row per (dataset, noise, method), in the order of the table
    methods: list[str]
    columns: list[tuple[str, str]]  # (dataset, noise)
    footnote: str
    metric: Metric

    def rows(self, show: "Show") -> list[list[str]]:
        """Return method name and cell texts of each row."""
        cells = {
            (cell["method"], cell["dataset"], cell["noise"]): _cell_text(cell, self.metric, show)
            for cell in self.cells.to_dict("records")
        }
        return [
            [show(method), *(cells.get((method, *column), "-") for column in self.columns)]
            for method in self.methods
        ]

    def datasets(self) -> list[tuple[str, int]]:
        """Return each dataset with the number of its columns."""
        groups = groupby(self.columns, key=lambda column: column[0])
        return [(dataset, len(list(columns))) for dataset, columns in groups]


@dataclass(frozen=True)
class Show:
    """Turns plain text into the text of a format."""

    escape: Callable[[str], str]
    bold: str  # with {} where the text goes

    def __call__(self, text: str, *, is_bold: bool = False) -> str:
        """Return the text, escaped, and bold where asked."""
        escaped = self.escape(text)
        return self.bold.replace("{}", escaped) if is_bold else escaped


def markdown(table: Table) -> str:
    """Return the table as GitHub markdown."""
    show = Show(lambda text: text.replace("|", r"\|").replace("*", r"\*"), "**{}**")
    head = ["method", *(show(f"{dataset}, {noise}") for dataset, noise in table.columns)]
    rule = [":--", *("--:" for _ in table.columns)]
    lines = [f"| {' | '.join(cells)} |" for cells in (head, rule, *table.rows(show))]
    return "\n".join([*lines, "", table.footnote, ""])


def latex(table: Table) -> str:
    """Return the table as LaTeX; the preamble needs the package booktabs."""
    show = Show(lambda text: text.translate(SPECIAL), r"\textbf{{}}")
    spans, rules, first = [], [], 2
    for dataset, width in table.datasets():
        spans.append(rf"\multicolumn{{{width}}}{{c}}{{{show(dataset)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        first += width
    noises = ["method", *(show(noise) for _, noise in table.columns)]
    lines = [
        rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}  % needs \usepackage{{booktabs}}",
        r"\toprule",
        rf" & {' & '.join(spans)} \\",
        " ".join(rules),
        rf"{' & '.join(noises)} \\",
        r"\midrule",
        *(rf"{' & '.join(cells)} \\" for cells in table.rows(show)),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\par\smallskip{{\footnotesize {show(table.footnote)}\par}}",
    ]
    return "\n".join([*lines, ""])


def html_table(table: Table) -> str:
    """Return the table as an HTML element without style of its own."""
    show = Show(html.escape, "<strong>{}</strong>")
    spans = "".join(
        f'<th scope="colgroup" colspan="{width}">{show(dataset)}</th>'
        for dataset, width in table.datasets()
    )
    noises = "".join(f'<th scope="col">{show(noise)}</th>' for _, noise in table.columns)
    body = [
        f'<tr><th scope="row">{name}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
        for name, *cells in table.rows(show)
    ]
    footnote = f'<td colspan="{len(table.columns) + 1}">{show(table.footnote)}</td>'
    lines = [
        '<table class="results">',
        f'<thead><tr><th scope="col" rowspan="2">method</th>{spans}</tr>',
        f"<tr>{noises}</tr></thead>",
        "<tbody>",
        *body,
        "</tbody>",
        f"<tfoot><tr>{footnote}</tr></tfoot>",
        "</table>",
    ]
    return "\n".join([*lines, ""])


def csv(table: Table) -> str:
    """Return one line per cell, with the summary and the tests as columns."""
    cells = table.cells.round(dict.fromkeys(TESTS[2:], 6))
    names = ["method", "dataset", "noise", "metric", "mean", "std", "n", *_ENDS, "best", "mark"]
    return cells[[*names, *TESTS]].to_csv(index=False, lineterminator="\n")


def _cell_text(cell: dict[Any, Any], metric: Metric, show: Show) -> str:
    parts = []
    if cell["n"]:
        value = f"{cell['mean']:.{metric.decimals}f}"
        value += f" ± {cell['std']:.{metric.decimals}f}" if cell["n"] > 1 else ""
        rest = f" ({cell['n']}){_MARKS[cell['mark']]}"
        parts.append(show(value, is_bold=cell["best"]) + show(rest))
    parts += [show(f"{words}: {cell[end]}") for end, words in _ENDS.items() if cell[end]]
    return ", ".join(parts) or "-"


FORMATS: dict[str, Callable[[Table], str]] = {
    "markdown": markdown,
    "latex": latex,
    "csv": csv,
    "html": html_table,
}
