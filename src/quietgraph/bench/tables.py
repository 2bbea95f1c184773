"""Runs as a table to print: methods down, datasets and noise across, with significance."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd
from pandas.io.formats.style import Styler

from quietgraph.bench.execute import PAPER, SAME_LABELS
from quietgraph.bench.metrics import describe_metric
from quietgraph.bench.statistics import ALPHA, CELL, compare, summary
from quietgraph.errors import UnknownNameError

FORMATS: Final = ("markdown", "latex", "html", "csv", "json")
BOLD: Final = "font-weight: bold"
_WORDS: Final = {
    SAME_LABELS: "Every method was handed the same labels.",
    PAPER: "Training labels teach, validation labels choose (the paper's protocol).",
}


def table(runs: pd.DataFrame, *, metric: str = "test_accuracy", baseline: str | Sequence[str] | None = None) -> Styler:
    """Return runs as `mean ± std (n)`; the caption says what bold and arrows mean, and the protocol.

    Bold is the best mean of a column among the methods with the most finished runs there. With a baseline, an arrow
    marks what is significantly better or worse (paired t-test, Holm). Methods that ran by several protocols have a row
    for each.

    Args:
        runs: One row a run.
        metric: Column that is shown.
        baseline: A method, or several of which the best of each column is compared with.
    """
    cells = judged(runs, metric, baseline)
    reading, texts = describe_metric(metric), []
    for cell in cells.to_dict("records"):
        value = number(cell["mean"], cell["std"], cell["n"], decimals=reading.decimals, factor=reading.factor)
        failed = f"failed: {cell['failed']}" if cell["failed"] else ""
        texts.append(", ".join(filter(None, [value + {1: " ↑", -1: " ↓"}.get(cell["mark"], ""), failed])))
    cells = cells.assign(text=texts, bold=np.where(cells["is_best"], BOLD, ""))
    columns = sorted(set(zip(cells["dataset"], cells["noise"], strict=True)), key=_column_order)
    shape: Any = {"index": "row", "columns": ["dataset", "noise"]}
    shown, bold = (
        cells.pivot(**shape, values=name)  # noqa: PD010
        .reindex(cells["row"].unique())[columns]
        .fillna(empty)
        for name, empty in (("text", "-"), ("bold", ""))
    )
    for frame in (shown, bold):
        frame.index.name, frame.columns.names = "method", [None, None]
    return shown.style.apply(lambda _: bold, axis=None).set_caption(_caption(cells, metric, baseline))


def to_text(runs: pd.DataFrame, format: str = "markdown", **options: Any) -> str:  # noqa: A002
    """Return the table of runs as text; csv and json have a line per cell, with all tests.

    Args:
        runs: One row a run.
        format: One of `FORMATS`.
        options: Those of `table`.
    """
    if format not in FORMATS:
        raise UnknownNameError("table format", format, FORMATS)
    if format in {"csv", "json"}:
        cells = judged(runs, options.get("metric", "test_accuracy"), options.get("baseline"))
        cells = cells.drop(columns="row")
        return cells.to_csv(index=False) if format == "csv" else cells.to_json(orient="records", indent=1)
    return styled_text(table(runs, **options), format)


def styled_text(styled: Styler, format: str) -> str:  # noqa: A002
    """Return a Styler and its caption as Markdown, LaTeX (needs booktabs) or HTML; bold cells stay bold."""
    if format == "html":
        return styled.to_html()
    if format == "latex":
        signs = {"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "_": r"\_", "%": r"\%"}
        text = styled.to_latex(convert_css=True, hrules=True, multicol_align="c")
        return "% needs \\usepackage{booktabs}\n" + text.translate(str.maketrans(signs))
    frame = styled.data  # type: ignore[attr-defined]
    bold = styled._compute().ctx  # type: ignore[attr-defined]  # (row, column) -> [(property, value)]
    texts = [
        [
            f"**{text}**" if ("font-weight", "bold") in bold.get((row, column), []) else text
            for column, text in enumerate(line)
        ]
        for row, line in enumerate(frame.to_numpy().tolist())
    ]
    heads = [head if isinstance(head, str) else ", ".join(filter(None, head)) for head in frame.columns]
    plain = pd.DataFrame(texts, columns=heads, index=frame.index).reset_index()
    align = ["left"] * frame.index.nlevels + ["right"] * len(heads)
    caption = f"\n{styled.caption}\n" if styled.caption else ""  # type: ignore[attr-defined]
    return plain.to_markdown(index=False, colalign=align, disable_numparse=True) + "\n" + caption


def number(mean: float, std: float, n: float, *, decimals: int, factor: float = 1, sign: str = "") -> str:
    """Return `mean ± std (n)` without what is unknown; rounded to six digits before, since means lie on halves."""
    if pd.isna(mean):
        return ""
    parts = [f"{round(round(factor * mean, 6), decimals) + 0.0:{sign},.{decimals}f}"]  # + 0.0: no -0.0
    if not pd.isna(std):
        parts.append(f"± {round(factor * std, 6):.{decimals}f}")
    return " ".join([*parts, f"({n:g})"] if not pd.isna(n) else parts)


def judged(runs: pd.DataFrame, metric: str, baseline: str | Sequence[str] | None) -> pd.DataFrame:
    """Return one row per cell and method: summary, tests against the baseline, `is_best`, `mark` and the row's name."""
    cells, reading = summary(runs, metric), describe_metric(metric)
    sign = 1 if reading.higher_is_better else -1
    if baseline is not None:
        cells = cells.merge(compare(runs, baseline, metric).drop(columns="n"), on=[*CELL, "method"], how="left")
        direction = np.sign(sign * cells["difference"])
        cells["mark"] = np.where(cells["p_holm"] < ALPHA, direction, 0).astype(int)
    shown = (sign * cells["mean"] * reading.factor).round(6).round(reading.decimals)
    eligible = shown.where(cells["n"] == cells.groupby(CELL)["n"].transform("max"))
    best = eligible.groupby([cells[name] for name in CELL]).transform("max")
    names = cells["method"]
    for column in ("protocol", "split"):
        if len(set(cells[column])) > 1:
            names = names + ", " + column + " " + cells[column]
    first = [baseline] if isinstance(baseline, str) else list(baseline or [])
    order = cells["method"].map({name: place for place, name in enumerate(first)}).fillna(len(first))
    cells = cells.assign(is_best=(eligible == best) & eligible.notna(), row=names, order=order)
    return cells.assign(mark=cells.get("mark", 0)).sort_values(["order", "row"], kind="stable").drop(columns="order")


def _caption(cells: pd.DataFrame, metric: str, baseline: str | Sequence[str] | None) -> str:
    reading, counts = describe_metric(metric), sorted(set(cells["n"]))
    numbers = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
    unit = " in percent" if reading.is_fraction else ""
    words = reading.words[0].upper() + reading.words[1:]
    sentences = [
        f"{words}{unit}: mean ± standard deviation (n finished runs), n = {numbers}.",
        "Bold: the best mean among the methods with the most finished runs of a column.",
    ]
    if baseline is not None:
        rival = baseline if isinstance(baseline, str) else f"the best of {', '.join(baseline)} in the column"
        tests = int(cells["p"].notna().sum())
        sentences.append(
            f"↑ ↓: significantly better, worse than {rival} (paired t-test, p < {ALPHA} after Holm's correction; "
            f"{tests} tests)."
        )
    protocols = sorted(set(cells["protocol"]))
    if len(protocols) > 1:
        sentences.append(
            f"This table mixes {len(protocols)} protocols ({', '.join(protocols)}), named in each row: compare within one."
        )
    else:
        sentences.append(_WORDS.get(protocols[0], ""))
    return " ".join(sentences)


def _column_order(column: tuple[str, str]) -> tuple[str, bool, str]:
    dataset, noise = column
    return dataset, noise != "none", noise
