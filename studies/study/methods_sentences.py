"""Figures in sentences of the pages on methods, ablation, theory, annotators and first steps."""

from typing import Final

import pandas as pd

from study.annotators import budget_draws
from study.blocks import block
from study.fresh import PAIR, PAPER
from study.records import mark_read, one_a_draw, printed, read_all, runs, some, table
from study.words import fixed, graph, listed, mean_std

_ALL_METHODS: Final = ("paper-digits", "paper-texas", "paper-cora")
_CLEAN_AND_NOISY: Final = ("none", "symmetric:0.4")


@block
def mean_of(file: str, method: str, dataset: str, noise: str) -> str:
    """Return the mean accuracy of one cell of a file in percent, and its number of draws."""
    cell = some(runs(file), method=method, dataset=dataset, noise=noise)["test_accuracy"]
    return f"{fixed(100 * cell.mean())} (n = {len(cell)})"


@block
def below_published(*pairs: str) -> str:
    """Return the largest distance of methods below published figures on clean Cora, in points.

    Args:
        pairs: A method, its published figure, the next method and so on.
    """
    frame = some(runs("methods"), dataset="cora", noise="none")
    means = 100 * frame.groupby("method")["test_accuracy"].mean()
    known = zip(pairs[::2], pairs[1::2], strict=True)
    return fixed(max(float(figure) - means[name] for name, figure in known))


@block
def bars_after(method: str, clean: str, lead: str) -> str:
    """Return whether a corrected method reaches its bars on Cora today.

    Args:
        method: Its name.
        clean: Bar of its accuracy on clean labels, in percent.
        lead: Bar of its lead over a GCN at symmetric 40 %, in points.
    """
    frame = some(runs("paper-cora", "rivals-9110", is_current=True), dataset="cora")
    frame = some(frame, method=(method, "gcn"), split="default")
    wide = 100 * frame.pivot_table("test_accuracy", ["noise", "seed"], "method")
    own, leads = wide[method], (wide[method] - wide["gcn"]).dropna()
    return (
        f"{bar_words(own.loc['none'], clean)} on clean labels, and its lead under noise "
        f"{bar_words(leads.loc['symmetric:0.4'], lead)} points"
    )


def bar_words(values: "pd.Series[float]", bar: str) -> str:
    """Return `reaches the bar of 80`, and where a mean is within its standard error of the bar."""
    gap, error = values.mean() - float(bar), values.std() / len(values) ** 0.5
    word = "reaches" if gap >= 0 else "misses"
    chance = " (by less than the standard error)" if abs(gap) < error else ""
    return f"{word}{chance} the bar of {bar}"


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
def step_up(step: str, name: str) -> str:
    """Return what a step of the ablation gains on Cora and on CiteSeer.

    Args:
        step: The word after the plus.
        name: Of the tables, after the graph.
    """
    return listed([_ablation(dataset, name, f"+ {step}")[-1] for dataset in PAIR])


@block
def step_means(step: str, name: str) -> str:
    """Return the means over the columns of the ablation after a step, Cora / CiteSeer."""
    return " / ".join(_ablation(dataset, name, step)[-2] for dataset in PAIR)


@block
def chain_gain(name: str, *noises: str) -> str:
    """Return what all steps of the ablation together gain over contrast alone, by noise."""
    parts = []
    for dataset in PAIR:
        heads, rows = printed(f"ablation-{dataset}-{name}")
        ends = [
            [float(row[heads.index(noise)].split()[0]) for row in (rows[0], rows[-1])]
            for noise in noises
        ]
        gains = [fixed(last - first, signed=True) for first, last in ends]
        parts.append(f"{listed(gains)} on {graph(dataset)}")
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


def _ablation(dataset: str, name: str, step: str) -> list[str]:
    """Return the row of a step in a table of the ablation."""
    _, rows = printed(f"ablation-{dataset}-{name}")
    return next(row for row in rows if row[0].startswith(step))
