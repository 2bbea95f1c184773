"""Figures in sentences of the pages on methods, ablation, theory, annotators and first steps."""

from typing import Final

import pandas as pd

from study.annotators import budget_draws
from study.blocks import block
from study.fresh import PAPER
from study.grid import grid
from study.records import mark_read, one_a_draw, printed, read_all, runs, some, table
from study.words import fixed, graph, listed, mean_std

_ALL_METHODS: Final = ("paper-digits", "paper-texas", "paper-cora")
_CLEAN_AND_NOISY: Final = ("none", "symmetric:0.4")


@block
def below_published(*pairs: str) -> str:
    """Return the largest distance of methods below published figures on clean Cora, in points.

    Args:
        pairs: A method, its published figure, the next method and so on.
    """
    frame = some(grid(), dataset="cora", noise="none")
    means = 100 * frame.groupby("method")["test_accuracy"].mean()
    known = zip(pairs[::2], pairs[1::2], strict=True)
    return fixed(max(float(figure) - means[name] for name, figure in known))


@block
def one_run_state() -> str:
    """Return how many runs all methods had on digits, Texas and Cora, and how many failed."""
    mark_read(*_ALL_METHODS)
    frame = pd.concat([read_all(name) for name in _ALL_METHODS], ignore_index=True)
    frame = some(frame, noise=_CLEAN_AND_NOISY, seed=(1000, 1001), split="default")
    frame = one_a_draw(frame[~frame["method"].str.contains(":")])
    failed = int((frame["status"] != "done").sum())
    return f"{len(frame)} runs, {failed or 'none'} failed"


@block
def choice_gains() -> str:
    """Return what forms of choosing the second stage gain over the one of GCL-LR-Attention."""
    wide = 100 * table("classifier-choice").set_index(["dataset", "noise", "seed"])
    gains = wide.drop(columns="att 1").sub(wide["att 1"], axis=0)
    means = gains.mean().sort_values()
    error = gains[means.index[-1]].std() / len(gains) ** 0.5
    others = [fixed(value, signed=True) for value in (means.iloc[0], means.iloc[-2])]
    return (
        f"gains {fixed(means.iloc[-1])} ± {fixed(error)} points over {len(gains)} draws, the "
        f"others {' to '.join(others)}"
    )


@block
def stage_gain(form: str, than: str, noise: str, *datasets: str) -> str:
    """Return the gain of a form of the second stage over another, with that of each draw."""
    frame = some(table("second-stage-0"), form=(form, than), noise=noise)
    wide = 100 * frame.pivot_table("accuracy", ["dataset", "seed"], "form")
    parts = []
    for dataset in datasets:
        gains = (wide[form] - wide[than]).loc[dataset]
        drawn = listed([fixed(gain, signed=True) for gain in gains])
        mean = fixed(gains.mean(), signed=True)
        parts.append(f"{graph(dataset)} {mean}{f' ({drawn})' if len(gains) > 1 else ''}")
    return listed(parts)


@block
def complexity_of(dataset: str) -> str:
    """Return kernel complexities of GCL-LR-Attention: plain F and the features it classifies."""
    frame = some(runs("study-theory"), dataset=dataset, noise="symmetric:0.4", method=PAPER[1])
    plain, own = (fixed(frame[name].mean(), 2) for name in ("KC of plain F", "KC"))
    return f"{plain} and its classified features {own} (n = {len(frame)})"


@block
def safe_problems() -> str:
    """Return how many problems had two labels per dimension or more."""
    heads, rows = printed("bound-labels")
    violated = heads.index("violated at c_0 = 1")
    return f"{sum(int(row[1]) for row in rows if row[violated] == '0'):,}"


@block
def budget_accuracy(choice: str, budget: str) -> str:
    """Return test accuracy after labels of a person, mean ± std and number of draws."""
    return mean_std(budget_draws(choice, int(budget)), n=True)


@block
def install_share() -> str:
    """Return which part of the first steps is the download and unpacking of packages."""
    seconds = dict(printed("stranger")[1])
    installed = ("torch, CPU build", "quietgraph with its other dependencies")
    part = sum(float(seconds[step]) for step in installed) / float(seconds["all of it"])
    return f"{fixed(100 * part, 0)} %"
