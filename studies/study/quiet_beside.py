"""`quiet` beside the method that is nearest to it, in every cell of the paper's grid."""

from functools import cache

import pandas as pd

from quietgraph.bench.statistics import against, holm
from study.blocks import block
from study.grid import INFORMATIVE
from study.quiet import OURS
from study.records import mark_read, of_today, old_words, runs, some
from study.words import fixed, graph, markdown, p_value, setting

WIDE = ("cora", "citeseer", "pubmed", "coauthor-cs", "amazon-photo")
BESIDE = tuple(noise for noise in INFORMATIVE if not noise.endswith("0.2"))


@block
def quiet_beside() -> str:
    """Return `quiet` beside the method that is nearest, or ahead by most, in every cell."""
    frame = _plain()
    rows = [_beside(frame, row) for row in _nearest().itertuples()]
    heads = ["graph", "noise", "`quiet`", "next", "lead", "p (Holm)", "n", "methods"]
    return f"{markdown(heads, rows, names=2)}\n\n{old_words(frame)}"


def _beside(frame: pd.DataFrame, row: "tuple") -> list[str]:
    own = some(frame, dataset=row.dataset, noise=row.noise)
    pairs = own.pivot_table("test_accuracy", "seed", "method")[[OURS, row.method]].dropna()
    ours, other = 100 * pairs.mean()
    return [
        graph(row.dataset), setting(row.noise), fixed(ours), f"{fixed(other)} `{row.method}`",
        fixed(row.points, signed=True), f"{p_value(row.t_p)} ({p_value(row.holm)})",
        str(row.n), str(row.methods),
    ]  # fmt: skip


def _nearest() -> pd.DataFrame:
    """Return, for every cell, the test against the method nearest to `quiet`, or ahead by most."""
    mark_read(*_PLAIN)
    return _nearest_cells()


@cache
def _nearest_cells() -> pd.DataFrame:
    tests = against(_plain(), OURS)
    most = tests.groupby(["dataset", "noise"])["n"].transform("max")
    tests = tests[(tests["n"] > 1) & (tests["n"] >= most / 2)]  # few draws say little
    cells = tests.sort_values("difference", ascending=False).groupby(["dataset", "noise"])
    nearest = cells.first().assign(methods=cells.size()).reset_index()
    return nearest.assign(holm=holm(nearest["t_p"]), points=-100 * nearest["difference"])


_PLAIN = tuple(f"paper-{name}" for name in WIDE)


def _plain() -> pd.DataFrame:
    frame = of_today(some(runs(*_PLAIN), noise=BESIDE, seed=range(1000, 1010)))
    return frame[~frame["method"].str.contains(":")]


@block
def quiet_beside_counts() -> str:
    """Return in how many noisy cells `quiet` has the best mean, and in how many surely."""
    cells = _nearest()
    noisy = cells[cells["noise"] != "none"]
    first, sure = noisy[noisy["points"] > 0], noisy[(noisy["points"] > 0) & (noisy["holm"] < 0.05)]
    own = some(_plain(), method=OURS)["old"]
    old = " (old)" if own.all() else " (in part old)" * bool(own.any())
    return (
        f"the best mean in {len(first)} of {len(noisy)} noisy cells, in {len(sure)} with p < 0.05 "
        f"after Holm's correction{old}"
    )


@block
def quiet_behind(noise: str) -> str:
    """Return the graphs on which another method is ahead in a setting, and by how much."""
    cells = _nearest()
    behind = cells[(cells["noise"] == noise) & (cells["points"] < 0)]
    own = some(_plain(), method=OURS, noise=noise)
    old = set(own[own["old"]]["dataset"])
    words = [
        f"{graph(row.dataset)} {fixed(-row.points)} behind `{row.method}` (n = {row.n}"
        f"{', old' * (row.dataset in old)})"
        for row in behind.itertuples()
    ]
    return "; ".join(words) or "ahead on every graph that was run"
