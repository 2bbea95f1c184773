"""Terms of the bound of eight methods, and which orderings they have."""

from typing import Final

import pandas as pd

from study.blocks import block
from study.fresh import PAIR, PAPER
from study.records import old_words, runs, some
from study.words import draws, fixed, graph, listed, markdown

_COLUMNS: Final = {  # of a run: heading, decimals
    "L1": ("L1", 1), "L2": ("L2", 1), "KC": ("KC", 2), "rank": ("rank", 0),
    "KC of plain F": ("KC of plain F", 2), "bound": ("bound", 2), "test loss": ("test loss", 2),
    "accuracy": ("accuracy", 3), "dim": ("dim", 0),
}  # fmt: skip


@block
def bound_terms_table() -> str:
    """Return the terms of every method, mean ± std over draws, the simplest kernel first."""
    frame, rows = _frame(), []
    for dataset in PAIR:
        own = some(frame, dataset=dataset)
        for method in own.groupby("method")["KC"].mean().sort_values().index:
            part = some(own, method=method)
            cells = [_mean_std(part[name], places) for name, (_, places) in _COLUMNS.items()]
            rows.append([graph(dataset), f"`{method}`", *cells])
    heads = ["graph", "method", *(heading for heading, _ in _COLUMNS.values())]
    words = f"{draws(frame).capitalize()}. {old_words(frame)}".strip()
    return f"{markdown(heads, rows, names=2)}\n\n{words}"


@block
def bound_places(column: str) -> str:
    """Return the places of the paper's two, from the lowest, and the method with the lowest."""
    parts = []
    for dataset in PAIR:
        means = _means(dataset)[column].sort_values()
        places = [list(means.index).index(name) + 1 for name in PAPER]
        named = listed([f"`{name}` {place}" for name, place in zip(PAPER, places, strict=True)])
        first = means.index[0]
        best = "" if first in PAPER else f" (`{first}` 1)"
        parts.append(f"{graph(dataset)} {named}{best}")
    return f"{'; '.join(parts)}, of {len(_means(PAIR[0]))}"


@block
def bound_against_accuracy(column: str) -> str:
    """Return the rank correlation over methods of a column with accuracy."""
    found = []
    for dataset in PAIR:
        means = _means(dataset)
        value = means[column].corr(means["accuracy"], method="spearman")
        found.append(f"{fixed(value, 2, signed=True)} on {graph(dataset)}")
    return listed(found)


def _frame() -> pd.DataFrame:
    return some(runs("study-theory"), noise="symmetric:0.4", dataset=PAIR)


def _means(dataset: str) -> pd.DataFrame:
    """Return the mean of every column, a row per method."""
    return some(_frame(), dataset=dataset).groupby("method")[list(_COLUMNS)].mean()


def _mean_std(values: "pd.Series[float]", places: int) -> str:
    spread = values.std()
    words = fixed(values.mean(), places)
    return f"{words} ± {fixed(spread, places)}" if spread > 0 else words
