"""What pages show of stored runs: `make results` writes results.md, and the site calls `on_page_markdown`."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from quietgraph.bench import compare, ranks, read_runs
from quietgraph.bench.statistics import ALPHA
from quietgraph.bench.tables import number
from quietgraph.data.datasets import DATASETS
from quietgraph.methods.registry import METHODS
from quietgraph.paper import paper_tables
from quietgraph.params import parameters

DOCS = Path(__file__).resolve().parent
RESULTS = DOCS.parent / "results"
STUDIES = ("suspects", "shop", "crowds", "review")


def render(results: Path = RESULTS) -> str:
    """Return the page of results, from the CSV files of a folder; what has not run is left out."""
    same = sorted(results.glob("same-labels-*.csv"))
    found = {"headline": read_runs(*same)} if same else {}
    paths = {name: results / f"{name}.csv" for name in STUDIES}
    found |= {
        name: pd.read_csv(path, keep_default_na=False, na_values="") for name, path in paths.items() if path.exists()
    }
    tools = {one.__name__: one for one in (table, facts, first, against, command, ranks)}
    site = jinja2.Environment(loader=jinja2.FileSystemLoader(DOCS), trim_blocks=True, lstrip_blocks=True)  # noqa: S701
    return re.sub(r"\n{3,}", "\n\n", site.get_template("results.md.j2").render(found | tools)).rstrip() + "\n"


def table(
    runs: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], value: str, within: Sequence[str] = ()
) -> str:
    """Return `mean ± std` in percent by rows and columns; the best mean of a column is bold, within some rows alone."""
    cells = _cells(runs, rows, columns, value, within)
    bold = cells["text"].mask(cells["is_best"], "**" + cells["text"] + "**")
    wide = cells.assign(text=bold).pivot_table("text", list(rows), list(columns), aggfunc="first").fillna("-")
    wide = wide[sorted(wide, key=_order)]
    heads = [*rows, *map(_words, wide)]
    lines = [[*map(_words, _parts(row)), *texts] for row, texts in zip(wide.index, wide.to_numpy(), strict=True)]
    most, fewer = cells["n"].max(), " where a cell says nothing else" if cells["n"].min() < cells["n"].max() else ""
    return f"{_markdown(heads, lines)}\nn = {most}{fewer}.\n"


def facts(runs: pd.DataFrame, rows: Sequence[str], values: Mapping[str, str]) -> str:
    """Return columns of runs, by name and heading, as `mean ± std` in percent, a line for each group of rows."""
    lines = []
    for group, part in runs.groupby(list(rows)):
        done = (part["status"] == "done").sum()
        count = f"{done}, failed: {len(part) - done}" if done < len(part) else f"{done}"
        shown = [
            ", ".join(f"{level} {times}" for level, times in sorted(part[name].value_counts().items()))
            if name == "verdict"
            else _number(part[name].mean(), part[name].std(), float("nan"))
            for name in values
        ]
        lines.append([*map(_words, group), count, *shown])
    return _markdown([*rows, "n", *values.values()], lines)


def first(
    runs: pd.DataFrame, row: str = "method", columns: Sequence[str] = ("noise",), value: str = "test_accuracy"
) -> str:
    """Return a sentence that says in which columns of a table `quiet` has not the best mean."""
    cells = _cells(runs, [row], columns, value)
    named = {name: part.set_index(row) for name, part in cells.groupby(list(columns))}
    behind = [name for name in sorted(named, key=_order) if not named[name]["is_best"].get("quiet", False)]
    if not behind:
        return f"`quiet` has the best mean in all {len(named)} columns."
    words = []
    for name in behind:
        best, ours = named[name].query("is_best")["text"].iloc[:1], named[name]["text"].get("quiet", "not run")
        words.append(f"{_words(name)} ({''.join(f'{_words(one)} {best[one]}, ' for one in best.index)}it {ours})")
    return f"`quiet` is **not first** in {len(behind)} of {len(named)} columns: {'; '.join(words)}."


def against(runs: pd.DataFrame) -> str:
    """Return a sentence on `quiet` against the best of all others in each cell."""
    tests = compare(runs, sorted({*runs["method"]} - {"quiet"}))
    sure = tests[tests["p_holm"] < ALPHA]["difference"]
    return (
        f"Against the best other method of each cell, chosen on the same draws, `quiet` is significantly better in "
        f"{(sure > 0).sum()} and worse in {(sure < 0).sum()} of {len(tests)} cells (paired t-test, "
        f"p < {ALPHA} after Holm's correction)."
    )


def command(script: str) -> str:
    """Return the commands that the docstring of a script begins with, as a block of code."""
    text = ast.get_docstring(ast.parse((DOCS.parent / script).read_text(encoding="utf-8"))) or ""
    return "\n".join(["```", *re.findall(r"^ {4}(python .*)$", text, re.MULTILINE), "```"])


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Return a page with the parameters of all methods, and tables of the paper, in the place of their marks."""
    markdown = markdown.replace("<!-- parameters -->", "\n\n".join(map(_describe, METHODS)))
    return re.sub(r"<!-- paper: ([\w-]+) -->", lambda mark: _paper(mark[1]), markdown)


def _paper(name: str) -> str:
    runs = read_runs(*(path for path in sorted(RESULTS.glob("*.csv")) if path.stem in DATASETS))
    return f"{paper_tables()[name].title}\n\n{paper_tables()[name].text(runs, protocol='paper')}"


def _describe(name: str) -> str:
    method = METHODS[name]
    lines = [[f"`{one.name}`", f"`{one.default}`", one.help] for one in parameters(method).values()]
    title = f"## `{name}`\n\n`qg.{method.__name__}`: {(method.__doc__ or '').splitlines()[0]}\n\n"
    return title + _markdown(["parameter", "default", "meaning"], lines)


def _cells(
    runs: pd.DataFrame, rows: Sequence[str], columns: Sequence[str], value: str, within: Sequence[str] = ()
) -> pd.DataFrame:
    """Return mean, n and text of each cell, and whether it is the best of its column among those with the most runs."""
    done = runs["status"] == "done"
    groups = runs.assign(value=runs[value].where(done), failed=~done).groupby([*rows, *columns])
    cells = groups["value"].agg(["mean", "std", "count"]).rename(columns={"count": "n"})
    cells = cells.assign(failed=groups["failed"].sum()).reset_index()
    column = [cells[name] for name in (*within, *columns)]
    shown = cells["mean"].where(cells["n"] == cells["n"].groupby(column).transform("max")).round(3)
    texts = []
    for mean, std, n, failed in cells[["mean", "std", "n", "failed"]].itertuples(index=False):
        text = _number(mean, std, float("nan") if n == cells["n"].max() else n)
        texts.append(", ".join(filter(None, [text, f"failed: {failed}" if failed else ""])) or "-")
    return cells.assign(text=texts, is_best=shown.notna() & (shown == shown.groupby(column).transform("max")))


def _number(mean: float, std: float, n: float) -> str:
    return number(mean, std, n, decimals=1, factor=100).replace(" ± ", "±")


def _words(value: Any) -> str:
    """Return a noise setting or a method as pages name it, several with commas; anything else as text."""
    if isinstance(value, tuple):
        return ", ".join(map(_words, value))
    kind, _, rate = str(value).partition(":")
    if re.fullmatch(r"[\d.]+", rate):
        return f"{kind} {100 * float(rate):.0f} %"
    return f"`{value}`" if str(value) in METHODS else {"none": "clean"}.get(kind, str(value))


def _order(head: Any) -> list[tuple[bool, Any]]:
    return [(part != "none", part) for part in _parts(head)]  # clean labels first


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _markdown(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rule = [":--", *["--:"] * (len(heads) - 1)]
    return "".join(f"|{'|'.join(line)}|\n" for line in (heads, rule, *lines))


if __name__ == "__main__":
    (DOCS / "results.md").write_text(render(), encoding="utf-8")
