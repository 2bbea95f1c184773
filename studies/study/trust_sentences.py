"""Figures in the sentences of the pages on trust and suspects."""

import math

import pandas as pd

from study.blocks import block
from study.records import some, table
from study.trust import LOGISTIC, better_score, study_cells, study_rows
from study.words import fixed, graph, listed, markdown, setting, span


@block
def calibration_error_of(file: str, dataset: str, noise: str, method: str) -> str:
    """Return the mean calibration error of one cell."""
    return fixed(_cell(file, dataset, noise, method)["calibration_error"].mean(), 3)


@block
def draws_of(file: str, dataset: str, noise: str, method: str) -> str:
    """Return how many draws one cell has, as `n = 10`."""
    return f"n = {len(_cell(file, dataset, noise, method))}"


@block
def right_of(file: str, dataset: str, noise: str, method: str) -> str:
    """Return which part of the predictions of one cell is right, in percent."""
    return _percent(_cell(file, dataset, noise, method)["accuracy"].mean())


@block
def verdict_of_draws(file: str, dataset: str, noise: str, method: str, verdict: str) -> str:
    """Return in how many draws of one cell the verdict is this one."""
    found = _cell(file, dataset, noise, method)["verdict"]
    return f"{int((found == verdict).sum())} of {len(found)}"


@block
def claimed_without_signal(file: str, classes: str) -> str:
    """Return the mean claimed accuracy on graphs without signal, by method."""
    rows = table(file)
    rows = rows[~rows["signal"] & (rows["classes"] == int(classes))]
    found = rows.groupby("method")["estimated_accuracy"].mean()
    return listed([f"{fixed(mean, 2)} (`{method}`)" for method, mean in found.items()])


@block
def condemned_graphs(file: str) -> str:
    """Return noise, homophily and labels of graphs with signal that are called untrustworthy."""
    rows = table(file)
    own = rows[rows["signal"] & (rows["verdict"] == "do not trust")]
    return (
        f"{span(list(100 * own['noise']))} % noise, a homophily of "
        f"{span(list(own['homophily']), 2)} and {span(list(own['labels']))} labels"
    )


@block
def wrong_under(file: str, noise: str) -> str:
    """Return how many labels of a noise setting are wrong, in percent."""
    return _percent(some(table(file), noise=noise)["wrong"].mean())


@block
def warnings_given(file: str) -> str:
    """Return in how many draws a warning was given, by noise setting and graph."""
    named = {"labels": "labels of GPT-3.5", "clean": "no noise"}
    frame = table(file)
    graphs = list(frame["dataset"].unique())
    rows = []
    for noise, part in frame.groupby("noise", sort=False):
        cells = [part[part["dataset"] == name]["warned"] for name in graphs]
        counts = [f"{int(own.sum())} of {len(own)}" if len(own) else "" for own in cells]
        name = setting(str(noise))
        rows.append([named.get(name, name), *counts])
    return markdown(["draws in which it warned", *(graph(name) for name in graphs)], rows)


@block
def accuracy_known_to(labels: str, rate: str, classes: str) -> str:
    """Return the standard error of an accuracy that is known from agreement with noisy labels.

    Args:
        labels: Number of noisy labels, about half of which agree.
        rate: Of symmetric noise; an accuracy higher by 1 raises the agreement by the slope.
        classes: Their number.
    """
    slope = 1 - float(rate) * (1 + 1 / (int(classes) - 1))
    return fixed(math.sqrt(0.25 / int(labels)) / slope, 2)


@block
def ahead_everywhere(*files: str) -> str:
    """Return the graphs where our AUROC is above that of logistic + cleanlab in every draw."""
    frame = study_rows(files).dropna(subset=["auroc"])
    ours = frame[~frame["score"].str.contains("cleanlab")]
    ahead: dict[str, bool] = {}
    for dataset, noise, method, _ in study_cells(ours):
        leads = _leads(frame, dataset, noise, method)["lead"]
        ahead[dataset] = ahead.get(dataset, True) and bool((leads > 0).all())
    return listed([graph(dataset) for dataset, always in ahead.items() if always])


@block
def ahead_of_logistic(dataset: str, noise: str, method: str, *files: str) -> str:
    """Return in how many draws our AUROC is above that of logistic + cleanlab.

    Args:
        dataset: The graph.
        noise: The setting; `all` for every one.
        method: Ours.
        files: Of results/studies.
    """
    frame = study_rows(files).dropna(subset=["auroc"])
    noises = sorted(set(some(frame, dataset=dataset)["noise"])) if noise == "all" else [noise]
    leads = pd.concat([_leads(frame, dataset, each, method)["lead"] for each in noises])
    return f"{int((leads > 0).sum())} of {len(leads)}"


@block
def behind_logistic(dataset: str, noise: str, method: str, *files: str) -> str:
    """Return by how much our AUROC is below and above that of logistic + cleanlab, by draw."""
    leads = _leads(study_rows(files).dropna(subset=["auroc"]), dataset, noise, method)["lead"]
    behind, ahead = -leads[leads <= 0], leads[leads > 0]
    return (
        f"in {len(behind)} of {len(leads)} draws it is behind, by {span(list(behind), 2)}; in the "
        f"others it is ahead, by {span(list(ahead), 2)}"
    )


@block
def without_the_worst_draw(dataset: str, noise: str, method: str, *files: str) -> str:
    """Return the draw that is furthest behind logistic + cleanlab, and both means without it."""
    found = _leads(study_rows(files).dropna(subset=["auroc"]), dataset, noise, method)
    found = found.sort_values("lead")
    worst, rest = found.iloc[0], found.iloc[1:]
    there = [fixed(float(worst[name]), 2) for name in ("ours", "rival")]
    ours, rival = (fixed(rest[name].mean(), 3) for name in ("ours", "rival"))
    return (
        f"draw {worst.name} is furthest behind ({' against '.join(there)}); without it the mean of "
        f"ours is {ours}, that of the rival {rival}"
    )


@block
def quality_of_draw(file: str, dataset: str, noise: str, method: str, seed: str) -> str:
    """Return what quality() says of one draw, and how many labels were wrong."""
    (row,) = some(_cell(file, dataset, noise, method), seed=int(seed)).to_dict("records")
    rate, low, high = (_percent(row[f"noise_{name}"]) for name in ("rate", "low", "high"))
    return (
        f"{int(row['wrong'])} of the labels are wrong, the estimated noise is {rate}, its interval "
        f"{low} to {high}, the verdict *{row['verdict']}*"
    )


def _cell(file: str, dataset: str, noise: str, method: str) -> pd.DataFrame:
    """Return the rows of one cell; an error where there are none."""
    found = some(table(file), dataset=dataset, noise=noise, score=method)
    if found.empty:
        raise KeyError(f"{file} has no rows of {method} on {dataset} with {noise}")
    return found


def _leads(frame: pd.DataFrame, dataset: str, noise: str, method: str) -> pd.DataFrame:
    """Return AUROC of ours and of logistic + cleanlab and the lead of ours, by draw of both."""
    cell = some(frame, dataset=dataset, noise=noise)
    ours = some(cell, score=method).set_index("seed")["auroc"]
    rival = better_score(cell, LOGISTIC)["auroc"]
    found = pd.concat([ours, rival], axis=1, keys=["ours", "rival"]).dropna()
    return found.assign(lead=found["ours"] - found["rival"])


def _percent(fraction: float) -> str:
    return f"{fixed(100 * fraction, 0)} %"
