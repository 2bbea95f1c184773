"""The ablation of the paper's two: encoder seeds crossed with noise draws."""

from typing import Final

import pandas as pd

from study.blocks import block
from study.fresh import PAIR
from study.records import table
from study.words import fixed, graph, listed, markdown, setting


@block
def ablation_table(dataset: str, extra: str = "") -> str:
    """Return a row per step: accuracy in every setting, their mean, and the gain of the step.

    Args:
        dataset: Its name.
        extra: Further parameters of every step.
    """
    frame, means = _frame(dataset, extra), _means(dataset, extra)
    noises = list(frame["noise"].unique())
    rows = []
    for place, step in enumerate(means.columns):
        own = frame[frame["step"] == step]
        cells = [_mean_error(own[own["noise"] == noise]) for noise in noises]
        gain = _gain(means, means.columns[place - 1], step) if place else ""
        rows.append([step, *cells, fixed(means[step].mean(), 2), gain])
    drawn = f"{frame['draw'].nunique()} draws from {frame['draw'].min()} on"
    words = f"{graph(dataset)}, in percent; {len(means)} encoders, {drawn}."
    heads = ["step", *map(setting, noises), "mean", "gain of the step"]
    return f"{markdown(heads, rows)}\n\n{words}"


@block
def step_gain(step: str, extra: str = "") -> str:
    """Return what a step gains on Cora and on CiteSeer; it is named by how it begins."""
    parts = []
    for dataset in PAIR:
        means = _means(dataset, extra)
        place = _place(means, step)
        parts.append(_gain(means, means.columns[place - 1], means.columns[place]))
    return listed(parts)


@block
def step_means(step: str, extra: str = "") -> str:
    """Return the means over the columns after a step, Cora / CiteSeer."""
    found = [_means(dataset, extra) for dataset in PAIR]
    return " / ".join(fixed(means.iloc[:, _place(means, step)].mean(), 2) for means in found)


@block
def chain_gain(*noises: str) -> str:
    """Return what all steps together gain over contrast alone, by noise."""
    parts = []
    for dataset in PAIR:
        frame = _frame(dataset, "")
        steps = frame["step"].unique()
        cells = 100 * frame.groupby(["step", "noise"])["accuracy"].mean()
        gains = [cells[steps[-1], noise] - cells[steps[0], noise] for noise in noises]
        shown = listed([fixed(gain, signed=True) for gain in gains])
        parts.append(f"{shown} on {graph(dataset)}")
    return listed(parts)


def _frame(dataset: str, extra: str) -> pd.DataFrame:
    rows = table("ablation").fillna({"set": ""})
    return rows[(rows["dataset"] == dataset) & (rows["set"] == extra)]


def _means(dataset: str, extra: str) -> pd.DataFrame:
    """Return the mean over all settings of each encoder, a column per step in their order."""
    frame = _frame(dataset, extra)
    cells = frame.groupby(["encoder", "step", "noise"])["accuracy"].mean()
    wide = 100 * cells.groupby(["encoder", "step"]).mean().reset_index().pivot_table(
        "accuracy", "encoder", "step"
    )
    return wide[list(frame["step"].unique())]


def _mean_error(rows: pd.DataFrame) -> str:
    """Return the mean over draws ± its standard error, encoders averaged first."""
    draws = 100 * rows.groupby("draw")["accuracy"].mean()
    error = draws.std() / len(draws) ** 0.5
    return fixed(draws.mean()) + (f" ± {fixed(error)}" if len(draws) > 1 else "")


def _gain(means: pd.DataFrame, before: str, step: str) -> str:
    gains: Final = means[step] - means[before]
    error = gains.std() / len(gains) ** 0.5
    return f"{fixed(gains.mean(), 2, signed=True)} ± {fixed(error, 2)}"


def _place(means: pd.DataFrame, step: str) -> int:
    return next(place for place, name in enumerate(means.columns) if name.startswith(step))
