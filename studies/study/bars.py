"""What was asked of each method before it was written, and what it reaches."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import pandas as pd

from study.blocks import block
from study.grid import SEEDS
from study.records import old_words, runs, some, table
from study.words import fixed, graph, markdown, setting

_PERCENT: Final = 100.0


@dataclass(frozen=True)
class Bar:
    """One thing that was asked of a method.

    Attributes:
        words: What was asked.
        values: Of a method: what was measured, one value a draw.
        low: What the mean has to reach.
        high: What it may not exceed.
        decimals: Of the figures.
        signed: Whether they are differences.
    """

    words: str
    values: Callable[[str], "pd.Series[float]"]
    low: float = float("-inf")
    high: float = float("inf")
    decimals: int = 1
    signed: bool = False

    def row(self, method: str) -> list[str]:
        """Return what was asked, what was measured, the number of draws, and whether it is met."""
        found = self.values(method)
        mean = fixed(found.mean(), self.decimals, signed=self.signed)
        spread = f" ± {fixed(found.std(), self.decimals)}" if len(found) > 1 else ""
        return [self.words, f"{mean}{spread}", str(len(found)), met(found, self.low, self.high)]


def met(values: "pd.Series[float]", low: float, high: float = float("inf")) -> str:
    """Return whether a mean is within its bars, and where its standard error cannot tell."""
    mean, error = values.mean(), values.std() / len(values) ** 0.5
    word = "yes" if low <= mean <= high else "**no**"
    distance = min(abs(mean - bar) for bar in (low, high))
    return f"{word}, within the standard error" if distance < error else word


def _accuracy(low: float, dataset: str = "cora", high: float = float("inf")) -> Bar:
    """Ask for an accuracy on clean labels."""
    limits = f"at least {low:g}" if high == float("inf") else f"{low:g} to {high:g}"
    values = partial(_drawn, dataset=dataset, noise="none")
    return Bar(f"clean {graph(dataset)} {limits}", values, low, high)


def _lead(low: float, noise: str = "symmetric:0.4", over: str = "gcn") -> Bar:
    """Ask for points over another method on Cora."""
    words = f"{low:g} points over `{over}` at {setting(noise)}"
    return Bar(words, partial(_leads, over=over, noise=noise), low, signed=True)


def _fact(words: str, measured: str, low: float, *, less: str = "", times: float = 1.0) -> Bar:
    """Ask for what `label_handling.py` measures, perhaps less something else."""
    signed = bool(less) or "over" in measured
    values = partial(_facts, measured=measured, less=less, times=times)
    decimals = 1 if times == _PERCENT else 2
    return Bar(words, values, low, decimals=decimals, signed=signed)


def _drawn(method: str, *, dataset: str, noise: str) -> "pd.Series[float]":
    """Return the accuracies of a method in a cell of the grid, in percent, by draw."""
    frame = some(_cells(dataset, noise), method=method)
    return _PERCENT * frame.set_index("seed")["test_accuracy"]


def _leads(method: str, *, over: str, noise: str) -> "pd.Series[float]":
    """Return the lead of a method over another on Cora, by draw, in points."""
    own, other = (_drawn(name, dataset="cora", noise=noise) for name in (method, over))
    return (own - other).dropna()


def _facts(method: str, *, measured: str, less: str, times: float) -> "pd.Series[float]":
    frame = some(table("label-handling"), method=method)
    wide = times * frame.pivot_table("value", "seed", "measured")
    return wide[measured] - wide[less] if less else wide[measured]


def _on_a_tenth(method: str) -> "pd.Series[float]":
    """Return the accuracy of logistic regression on embeddings, random 10 % splits, in percent."""
    return _PERCENT * some(table("ten-percent"), method=method)["accuracy"]


def _fit_seconds(method: str) -> "pd.Series[float]":
    """Return the seconds of a fit on Cora, one thread, nothing beside it."""
    return some(runs("study-times"), method=method, dataset="cora")["seconds_fit"]


def _cells(dataset: str, noise: str) -> pd.DataFrame:
    """Return the runs of all methods in a cell, by the draws of the grid."""
    name = "methods" if noise == "symmetric:0.3" else f"paper-{dataset}"
    return some(runs(name), dataset=dataset, noise=noise, seed=SEEDS, split="default")


_BARS: Final[dict[str, tuple[Bar, ...]]] = {
    "gcn": (
        _accuracy(81),
        Bar(
            "Cora, symmetric 40 %, 62 to 70",
            partial(_drawn, dataset="cora", noise="symmetric:0.4"),
            62,
            70,
        ),
    ),
    "s2gc": (_accuracy(81, high=83), _accuracy(72, "citeseer")),
    "gce": (
        _accuracy(80),
        _fact(
            "last epoch 2 points over that of `gcn` at symmetric 40 %",
            "last epoch over that of a GCN",
            2,
            times=_PERCENT,
        ),
    ),
    "unionnet": (
        _accuracy(80),
        _lead(4, "symmetric:0.3"),
        _fact(
            "right labels weigh more than wrong ones, symmetric 40 %",
            "weight of right labels",
            0,
            less="weight of wrong labels",
        ),
    ),
    "nrgnn": (_accuracy(80), _lead(2)),
    "rtgnn": (
        _accuracy(80),
        _lead(3),
        _fact(
            "labels held for clean are right 10 points more often than all",
            "right among those held for clean",
            10,
            less="right among all",
            times=_PERCENT,
        ),
    ),
    "grand-plus": (_accuracy(84.5), _accuracy(73.5, "citeseer"), _accuracy(81, "pubmed")),
    "cgnn": (
        _accuracy(80),
        _lead(1),
        _fact(
            "more than 60 % of changed labels become right",
            "right among changed labels",
            60,
            times=_PERCENT,
        ),
    ),
    "crgnn": (_accuracy(79), _lead(2, "symmetric:0.3")),
    "gfsa": (_accuracy(81.5),),
    "hongat": (
        _accuracy(82),
        Bar(
            "fewer than 32 neighbours kept of a node, mean",
            partial(_facts, measured="neighbours kept", less="", times=1.0),
            high=32,
        ),
    ),
    "tedgcn": (_accuracy(75, "texas"), _accuracy(55, "chameleon")),
    "graphcl": (_accuracy(81),),
    "sugrl": (_accuracy(82), Bar("a fit on Cora below 10 s", _fit_seconds, high=10)),
    "merit": (_accuracy(81.5), _accuracy(71, "citeseer")),
    "ariel": (_accuracy(79), Bar("clean Cora, 10 % split, at least 83", _on_a_tenth, 83)),
    "sfa": (_accuracy(80), Bar("clean Cora, 10 % split, at least 83", _on_a_tenth, 83)),
    "sel-cl": (
        _accuracy(81),
        _lead(1, over="merit"),
        _fact(
            "at least 75 % of trusted labels are right, symmetric 40 %",
            "right among trusted labels",
            75,
            times=_PERCENT,
        ),
    ),
    "jo-src": (
        _accuracy(81),
        _lead(1, over="merit"),
        _fact(
            "area under the ROC curve, right against wrong labels, at least 0.75",
            "area under the ROC curve of agreement",
            0.75,
        ),
    ),
}


@block
def method_bars() -> str:
    """Return a row for everything that was asked of a method."""
    rows = [
        [f"`{method}`" if not place else "", *bar.row(method)]
        for method, bars in _BARS.items()
        for place, bar in enumerate(bars)
    ]
    used = pd.concat(
        [_cells("cora", noise) for noise in ("none", "symmetric:0.3", "symmetric:0.4")]
    )
    missed = sum("no" in row[-1] for row in rows)
    words = f"{len(rows) - missed} of {len(rows)} are met. {old_words(used)}".strip()
    heads = ["method", "asked", "measured, mean ± std", "n", "met"]
    return f"{markdown(heads, rows, names=2)}\n\n{words}"


@block
def missed_bars() -> str:
    """Return which methods miss one of theirs by more than a standard error."""
    clear = {
        method: [bar for bar in bars if met(bar.values(method), bar.low, bar.high) == "**no**"]
        for method, bars in _BARS.items()
    }
    return ", ".join(f"`{method}`" for method, bars in clear.items() if bars)
