"""A GCN beside the figures that the field's public benchmark, NoisyGL, publishes for one."""

from typing import Final

import pandas as pd

from study.blocks import block
from study.records import old_words, runs, some
from study.words import draws, fixed, graph, markdown, mean_std, setting

VARIANT: Final = "gcn:feature_norm=none"  # its features come as they are
NOISES: Final = ("none", "symmetric:0.3", "symmetric:0.4", "asymmetric:0.3", "asymmetric:0.4")
PUBLISHED: Final = {  # mean, standard deviation, in percent
    "cora": ((80.7, 0.5), (71.1, 4.4), (67.9, 3.7), (65.4, 5.5), (54.0, 3.5)),
    "citeseer": ((69.0, 0.7), (55.1, 3.1), (48.9, 4.6), (53.7, 5.0), (43.5, 4.9)),
    "pubmed": ((78.7, 0.5), (66.5, 6.2), (57.9, 5.0), (62.9, 5.5), (55.7, 9.6)),
}
_PAIR: Final = ("cora", "citeseer")


@block
def anchor_table() -> str:
    """Return a row per cell: published, ours with the same features, ours by default."""
    frame, rows = runs("anchor"), []
    for dataset, noise in _cells():
        published = " ± ".join(map(fixed, _published(dataset, noise)))
        ours = [_accuracies(frame, name, dataset, noise) for name in (VARIANT, "gcn")]
        apart = fixed(_apart(frame, VARIANT, dataset, noise), signed=True)
        shown = [mean_std(values, n=True) for values in ours]
        rows.append([graph(dataset), setting(noise), published, shown[0], apart, shown[1]])
    heads = ["graph", "noise", "published", "ours, same features", "apart, in published std"]
    table = markdown([*heads, "ours, default features"], rows, names=2)
    return f"{table}\n\n{draws(frame).capitalize()}. {old_words(frame)}".strip()


@block
def anchor_farthest() -> str:
    """Return the largest distance of a cell from the published one, in published deviations."""
    frame = runs("anchor")
    return fixed(max(abs(_apart(frame, VARIANT, *cell)) for cell in _cells()))


@block
def anchor_above() -> str:
    """Return how far our default features lie above the published figures, Cora and CiteSeer."""
    frame = runs("anchor")
    return " and ".join(fixed(_apart(frame, "gcn", name, "none")) for name in _PAIR)


@block
def anchor_noisy() -> str:
    """Return the largest distance of default features under noise, in published deviations."""
    frame = runs("anchor")
    noisy = [(name, noise) for name, noise in _cells() if name in _PAIR and noise != "none"]
    return fixed(max(abs(_apart(frame, "gcn", *cell)) for cell in noisy))


def _cells() -> list[tuple[str, str]]:
    return [(dataset, noise) for dataset in PUBLISHED for noise in NOISES]


def _published(dataset: str, noise: str) -> tuple[float, float]:
    return PUBLISHED[dataset][NOISES.index(noise)]


def _accuracies(frame: pd.DataFrame, method: str, dataset: str, noise: str) -> "pd.Series[float]":
    return some(frame, method=method, dataset=dataset, noise=noise)["test_accuracy"]


def _apart(frame: pd.DataFrame, method: str, dataset: str, noise: str) -> float:
    """Return how far a mean is from the published one, in published standard deviations."""
    mean, spread = _published(dataset, noise)
    return float((100 * _accuracies(frame, method, dataset, noise).mean() - mean) / spread)
