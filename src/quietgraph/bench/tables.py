"""Runs as a table to print: methods down, datasets and noise across, with significance."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from quietgraph.bench.execute import PAPER, SAME_LABELS
from quietgraph.bench.metrics import Metric, describe_metric
from quietgraph.bench.statistics import ALPHA, CELL, compare, summary
from quietgraph.errors import UnknownNameError

FORMATS: Final = ("markdown", "latex", "html", "csv", "json")
_BOLD: Final = "font-weight: bold"
_SIGNS: Final = str.maketrans({"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "_": r"\_", "%": r"\%"})
_PROTOCOLS: Final = {
    SAME_LABELS: "Every method was handed the same labels.",
    PAPER: "Training labels teach, validation labels choose (the paper's protocol).",
}


def table(runs: pd.DataFrame, *, metric: str = "test_accuracy", baseline: str | Sequence[str] | None = None) -> Styler:
    """Return runs as `mean ± std (n)`; the caption says what bold and arrows mean, and the protocol.

    Bold is the best mean of a column among the methods with the most finished runs there. With a baseline, an arrow
    marks what is significantly better or worse (paired t-test, Holm). Methods that ran by several protocols have a row
    for each. Of several baselines, the best of each column is compared with.
    """
    return _styled(_judged(runs, metric, baseline), metric, baseline)


def to_text(
    runs: pd.DataFrame,
    format: str = "markdown",  # noqa: A002
    *,
    metric: str = "test_accuracy",
    baseline: str | Sequence[str] | None = None,
) -> str:
    """Return the `table` of runs in one of `FORMATS`; csv and json have a line per cell, with all tests."""
    cells = _judged(runs, metric, baseline)
    return written(cells, _styled(cells, metric, baseline), format)


def written(cells: pd.DataFrame, styled: Any, form: str) -> str:
    """Return cells as CSV or JSON, or the Styler made of them as Markdown, LaTeX or HTML; bold cells stay bold."""
    if form not in FORMATS:
        raise UnknownNameError("table format", form, FORMATS)
    if form == "csv":
        return cells.to_csv(index=False)
    if form == "json":
        return str(cells.to_json(orient="records", indent=1))
    if form == "html":
        return str(styled.to_html())
    if form == "latex":
        text = styled.to_latex(convert_css=True, hrules=True, multicol_align="c")
        return "% needs \\usepackage{booktabs}\n" + text.translate(_SIGNS)
    frame, bold = styled.data.copy(), styled._compute().ctx  # (row, column) -> [(property, value)]
    for row, column in np.ndindex(frame.shape):
        if ("font-weight", "bold") in bold.get((row, column), []):
            frame.iloc[row, column] = f"**{frame.iloc[row, column]}**"
    frame.columns = [head if isinstance(head, str) else ", ".join(filter(None, head)) for head in frame.columns]
    align = ["left"] * frame.index.nlevels + ["right"] * frame.shape[1]
    return (
        f"{frame.reset_index().to_markdown(index=False, colalign=align, disable_numparse=True)}\n\n{styled.caption}\n"
    )


def number(mean: float, std: float, n: float, *, decimals: int, factor: float = 1, sign: str = "") -> str:
    """Return `mean ± std (n)` without what is unknown; rounded to six digits before, since means lie on halves."""
    if pd.isna(mean):
        return ""
    first = f"{round(round(factor * mean, 6), decimals) + 0.0:{sign},.{decimals}f}"  # + 0.0: no -0.0
    spread = "" if pd.isna(std) else f"± {round(factor * std, 6):.{decimals}f}"
    return " ".join(filter(None, [first, spread, "" if pd.isna(n) else f"({n:g})"]))


def _judged(runs: pd.DataFrame, metric: str, baseline: str | Sequence[str] | None) -> pd.DataFrame:
    """Return one row per cell and method: summary, tests against the baseline, `is_best`, `mark` and the row's name."""
    cells, how = summary(runs, metric), describe_metric(metric)
    first, sign = [baseline] if isinstance(baseline, str) else list(baseline or []), 1 if how.higher_is_better else -1
    cells["mark"], cells["p_holm"] = 0, np.nan
    if first:
        tests = compare(runs, first, metric).drop(columns="n")
        cells = cells.drop(columns="p_holm").merge(tests, on=[*CELL, "method"], how="left")
        cells["mark"] = np.where(cells["p_holm"] < ALPHA, np.sign(sign * cells["difference"]), 0).astype(int)
    shown = (sign * cells["mean"] * how.factor).round(6).round(how.decimals)
    eligible = shown.where(cells["n"] == cells.groupby(CELL)["n"].transform("max"))
    best = eligible.groupby([cells[name] for name in CELL]).transform("max")
    names = cells["method"]
    for column in ("protocol", "split"):
        if len(set(cells[column])) > 1:
            names = names + f", {column} " + cells[column]
    order = cells["method"].map({name: place for place, name in enumerate(first)}).fillna(len(first))
    cells = cells.assign(is_best=eligible == best, row=names, order=order)
    return cells.sort_values(["order", "row"], kind="stable").drop(columns="order")


def _styled(cells: pd.DataFrame, metric: str, baseline: str | Sequence[str] | None) -> Styler:
    how, texts = describe_metric(metric), []
    for cell in cells.to_dict("records"):
        value = number(cell["mean"], cell["std"], cell["n"], decimals=how.decimals, factor=how.factor)
        failed = f"failed: {cell['failed']}" if cell["failed"] else ""
        texts.append(", ".join(filter(None, [value + {1: " ↑", -1: " ↓"}.get(cell["mark"], ""), failed])))
    cells = cells.assign(text=texts, bold=np.where(cells["is_best"], _BOLD, ""))
    wide = cells.pivot_table(["text", "bold"], "row", ["dataset", "noise"], aggfunc="first", sort=False)
    wide = wide.reindex(columns=sorted(wide, key=lambda at: (at[1], at[2] != "none", at[2])))
    wide.index.name, wide.columns.names = "method", [None, None, None]
    bold = wide["bold"].fillna("")
    return wide["text"].fillna("-").style.apply(lambda _: bold, axis=None).set_caption(_caption(cells, how, baseline))


def _caption(cells: pd.DataFrame, how: Metric, baseline: str | Sequence[str] | None) -> str:
    low, high = cells["n"].min(), cells["n"].max()
    sentences = [
        f"{how.words[0].upper()}{how.words[1:]}{' in percent' * (how.factor == 100)}: mean ± standard deviation "
        f"(n finished runs), n = {low if low == high else f'{low} to {high}'}.",
        "Bold: the best mean among the methods with the most finished runs of a column.",
    ]
    if baseline:
        rival = baseline if isinstance(baseline, str) else f"the best of {', '.join(baseline)} in the column"
        sentences.append(
            f"↑ ↓: significantly better, worse than {rival} (paired t-test, p < {ALPHA} after Holm's correction; "
            f"{cells['p_holm'].notna().sum()} tests)."
        )
    protocols = sorted(set(cells["protocol"]))
    mixed = f"This table mixes protocols ({', '.join(protocols)}), named in each row: compare rows of one."
    return " ".join([*sentences, mixed if len(protocols) > 1 else _PROTOCOLS.get(protocols[0], "")])
