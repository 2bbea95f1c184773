"""Figures of the pages on trust and suspects: verdicts, calibration, AUROC beside cleanlab."""

from collections.abc import Iterable, Iterator

import pandas as pd

from study.blocks import block
from study.records import table
from study.words import fixed, graph, listed, markdown, setting

VERDICTS = ("trust", "with care", "do not trust")
BAR = 0.05  # of the expected calibration error
_KINDS = {False: "without signal", True: "with signal"}
_NOISES = ("none", "symmetric:0.2", "symmetric:0.4", "asymmetric:0.2", "asymmetric:0.4")
LOGISTIC, _GCN = "logistic + cleanlab ", "gcn + cleanlab "


@block
def verdicts(file: str) -> str:
    """Return how many graphs with and without signal got which verdict, by method."""
    frame = table(file)
    rows = []
    for (method, signal), own in frame.groupby(["method", "signal"], sort=True):
        counts = [int((own["verdict"] == verdict).sum()) for verdict in VERDICTS]
        seeds = f"{own['seed'].min()}-{own['seed'].max()}"
        name = f"{len(own)} {_KINDS[bool(signal)]}"
        rows.append([f"`{method}`", name, seeds, *map(str, counts)])
    return markdown(["method", "graphs", "seeds", *VERDICTS], rows, names=3)


@block
def false_verdicts(file: str, method: str) -> str:
    """Return how often a method trusts graphs without signal and condemns those with it."""
    frame = table(file)
    own = frame[frame["method"] == method]
    without, with_signal = own[~own["signal"]], own[own["signal"]]
    trusted = int((without["verdict"] == "trust").sum())
    condemned = int((with_signal["verdict"] == "do not trust").sum())
    return (
        f"{trusted} of {len(without)} without signal are trusted, {condemned} of "
        f"{len(with_signal)} with signal are called untrustworthy"
    )


@block
def after_review(file: str) -> str:
    """Return wrong and estimated labels after parts of the suspects were reviewed."""
    rows = []
    for (name, method, part), own in table(file).groupby(["graph", "method", "part"], sort=False):
        means = [fixed(own[each].mean(), 0) for each in ("reviewed", "wrong", "estimated")]
        inside = int(((own["low"] <= own["wrong"]) & (own["wrong"] <= own["high"])).sum())
        flagged = int(own["flagged"].sum())
        right = f"{own['flagged_wrong'].sum() / flagged:.0%}" if flagged else ""
        cells = [f"{inside} of {len(own)}", fixed(own["flagged"].mean(), 0), right]
        rows.append([str(name) if part == 0 else "", f"`{method}`", *means, *cells])
    heads = ["graph, noise", "method", "reviewed", "wrong", "estimated"]
    return markdown([*heads, "inside the interval", "flagged", "of these wrong"], rows, names=2)


@block
def after_review_short(file: str) -> str:
    """Return by how much the estimate is off after a review, and how often the interval holds."""
    frame = table(file)
    own = frame[frame["part"] > 0]
    ratio = (own["estimated"] / own["wrong"].clip(lower=1)).median()
    inside = ((own["low"] <= own["wrong"]) & (own["wrong"] <= own["high"])).mean()
    return (
        f"the estimate is {fixed(ratio, 2)} times the truth in the median, and the interval holds "
        f"the truth in {inside:.0%} of {len(own)} fits"
    )


@block
def calibration(*files: str) -> str:
    """Return the expected calibration error of every cell that was measured."""
    frame = study_rows(files).dropna(subset=["calibration_error"])
    rows = []
    for dataset, noise, method, own in study_cells(frame):
        error = own["calibration_error"]
        above = int((error > BAR).sum())
        mean = f"**{fixed(error.mean(), 3)}**" if error.mean() > BAR else fixed(error.mean(), 3)
        spread = f" ± {fixed(error.std(), 3)}" if len(error) > 1 else ""
        name = [graph(dataset), setting(noise), f"`{method}`"]
        largest = fixed(error.max(), 3)
        rows.append([*name, f"{mean}{spread}", largest, f"{above} of {len(error)}"])
    heads = ["", "noise", "method", "mean ± std", "largest", f"draws above {BAR}"]
    return markdown(heads, rows, names=3)


@block
def calibration_missed(*files: str) -> str:
    """Return the cells whose mean calibration error is above the bar, in words."""
    frame = study_rows(files).dropna(subset=["calibration_error"])
    missed: dict[str, list[str]] = {}
    for dataset, noise, method, own in study_cells(frame):
        error = own["calibration_error"].mean()
        if error > BAR:
            words = f"{setting(noise)} {fixed(error, 3)} (n = {len(own)})"
            missed.setdefault(f"{graph(dataset)}, `{method}`", []).append(words)
    return "\n".join(f"- {name}: {listed(cells)}" for name, cells in missed.items()) or "No cell."


@block
def suspects_beside_cleanlab(*files: str) -> str:
    """Return AUROC and average precision of our suspects and of cleanlab on the same draws."""
    frame = study_rows(files).dropna(subset=["auroc"])
    is_rival = frame["score"].str.contains("cleanlab")
    rows = []
    for dataset, noise, method, own in study_cells(frame[~is_rival]):
        cell = frame[(frame["dataset"] == dataset) & (frame["noise"] == noise)]
        logistic, gcn = better_score(cell, LOGISTIC), better_score(cell, _GCN)
        logistic = logistic[logistic.index.isin(own["seed"])]
        rival = logistic["auroc"].reindex(own["seed"])
        ahead = int((own["auroc"].to_numpy() > rival.to_numpy()).sum())
        share, flagged = fixed(100 * own["precision"].mean(), 0), fixed(own["flagged"].mean(), 0)
        name = [graph(dataset), setting(noise), f"`{method}`", str(len(own))]
        beside = [_pair(logistic), f"{ahead} of {rival.count()}"]
        by_gcn = f"{_pair(gcn)} ({len(gcn)})" if len(gcn) else ""
        rows.append([*name, _pair(own), *beside, by_gcn, f"{share} % of {flagged}"])
    heads = ["", "noise", "method", "n", "ours", "logistic + cleanlab", "draws ahead"]
    return markdown([*heads, "GCN + cleanlab (n)", "wrong among flagged"], rows, names=3)


def study_rows(files: Iterable[str]) -> pd.DataFrame:
    """Return the rows of files of results/studies, one below the other."""
    return pd.concat([table(file) for file in files], ignore_index=True)


def study_cells(frame: pd.DataFrame) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Return graph, noise, method and rows of every cell, in the order of the tables."""
    order = {noise: place for place, noise in enumerate(_NOISES)}
    keys = frame[["dataset", "noise", "score"]].drop_duplicates().itertuples(index=False)
    for dataset, noise, score in sorted(keys, key=lambda key: (key[0], order[key[1]], key[2])):
        is_own = (frame["dataset"] == dataset) & (frame["noise"] == noise)
        yield dataset, noise, score, frame[is_own & (frame["score"] == score)]


def better_score(cell: pd.DataFrame, rival: str) -> pd.DataFrame:
    """Return the better of the rival's two scores in every draw, by seed."""
    own = cell[cell["score"].str.startswith(rival)]
    return own.groupby("seed")[["auroc", "average_precision"]].max()


def _pair(rows: pd.DataFrame) -> str:
    return f"{fixed(rows['auroc'].mean(), 3)} / {fixed(rows['average_precision'].mean(), 3)}"
