"""Figures of sentences on the page of the benchmark."""

import re

from study.blocks import block
from study.records import printed, runs, some
from study.words import fixed, span

_CLEAN = ("cora", "citeseer")


@block
def anchor_farthest() -> str:
    """Return the largest distance of a cell from the published one, in published deviations."""
    heads, rows = printed("anchor")
    column = heads.index("apart, in published std")
    return fixed(max(abs(float(row[column])) for row in rows))


@block
def anchor_above(noise: str = "none") -> str:
    """Return how far our default features lie above the published figures, Cora and CiteSeer."""
    heads, rows = printed("anchor")
    named = [dict(zip(heads, row, strict=True)) for row in rows]
    cells = [cell for name in _CLEAN for cell in named if _place(cell) == (name, noise)]
    return " and ".join(fixed(_above(cell)) for cell in cells)


@block
def anchor_noisy() -> str:
    """Return the largest distance of default features under noise, in published deviations."""
    heads, rows = printed("anchor")
    named = [dict(zip(heads, row, strict=True)) for row in rows]
    noisy = [cell for cell in named if cell["dataset"] in _CLEAN and cell["noise"] != "none"]
    return fixed(max(abs(_above(cell)) for cell in noisy))


@block
def seconds_with_embeddings(method: str, dataset: str) -> str:
    """Return the seconds of runs whose embeddings another run has left: the middle half."""
    frame = some(runs(f"paper-{dataset}"), method=method)
    label_noise = frame[~frame["noise"].str.startswith("attribute")]
    learned = label_noise.groupby("seed")["seconds"].transform("max") == label_noise["seconds"]
    later = label_noise[~learned]["seconds"]
    return f"{span([later.quantile(0.25), later.quantile(0.75)], 2)} s ({len(later)} runs)"


def _place(cell: dict[str, str]) -> tuple[str, str]:
    return cell["dataset"], cell["noise"]


def _above(cell: dict[str, str]) -> float:
    published, deviation = (float(part) for part in cell["published"].split(" ± "))
    ours = float(re.split(" ±", cell["ours, default features"])[0])
    return (ours - published) / deviation
