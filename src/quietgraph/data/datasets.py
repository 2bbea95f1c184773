"""Benchmark datasets by name: data under the split of a seed, and true labels."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from quietgraph.data.data import Data, Truth
from quietgraph.data.sources import FILES, TEST, TRAIN, VALIDATION, Raw, find_root, read_files
from quietgraph.data.splits import Split, draw_split, hold_out
from quietgraph.errors import UnknownNameError
from quietgraph.graph.synthetic import block_model, digits_graph
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN

SPLITS: Final = {
    "public": "20 a class train, 500 validation, 1000 test, always the same",
    "per-class": "20 a class train, 30 a class validation, rest test, fresh per seed",
    "geom-gcn": "10 files of 48/32/20 %, number seed % 10",
    "wiki-cs": "20 official splits, number seed % 20; validation is their stopping set",
    "time": "papers until 2017 train, of 2018 validation, from 2019 test",
    "1-15": "1 % train, 15 % validation, rest test, fresh per seed",
    "5-15": "5 % train, 15 % validation, rest test, fresh per seed",
    "noisygl": "20 a class train, 500 validation, 1000 test, fresh per seed where none is public",
    "train+validation": "training and validation nodes together train, but for a stratified fifth",
    "all-but-test": "all nodes outside the test set train, but for a stratified fifth",
}
_FRACTIONS: Final = {"1-15": 0.01, "5-15": 0.05}  # of training nodes
_MORE: Final = ("train+validation", "all-but-test")  # other training nodes beside the same test set


@dataclass(frozen=True)
class DatasetFacts:
    """What is known of a dataset without reading it."""

    nodes: int
    edges: int  # undirected, without loops and duplicates
    features: int
    classes: int
    homophily: float  # fraction of edges that join nodes of one class
    split: str  # the default one

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that can be asked for."""
        noisygl = ("noisygl",) if self.split in {"public", "per-class"} else ()
        return tuple(dict.fromkeys((self.split, "per-class", *noisygl, *_MORE)))


DATASETS: Final = {
    "digits": DatasetFacts(1797, 9931, 64, 10, 0.961, "per-class"),
    "sbm": DatasetFacts(1000, 4926, 32, 4, 0.794, "per-class"),
    "cora": DatasetFacts(2708, 5278, 1433, 7, 0.810, "public"),
    "citeseer": DatasetFacts(3327, 4552, 3703, 6, 0.736, "public"),
    "pubmed": DatasetFacts(19717, 44324, 500, 3, 0.802, "public"),
    "coauthor-cs": DatasetFacts(18333, 81894, 6805, 15, 0.808, "per-class"),
    "amazon-computers": DatasetFacts(13752, 245861, 767, 10, 0.777, "per-class"),
    "amazon-photo": DatasetFacts(7650, 119081, 745, 8, 0.827, "per-class"),
    "texas": DatasetFacts(183, 279, 1703, 5, 0.061, "geom-gcn"),
    "chameleon": DatasetFacts(2277, 31371, 2325, 5, 0.230, "geom-gcn"),
    "dblp": DatasetFacts(17716, 52867, 1639, 4, 0.828, "1-15"),
    "blogcatalog": DatasetFacts(5196, 171743, 8189, 6, 0.401, "5-15"),
    "flickr": DatasetFacts(7575, 239738, 12047, 9, 0.239, "5-15"),
    # These two as published, all others as measured on the files.
    "wiki-cs": DatasetFacts(11701, 215603, 300, 10, 0.65, "wiki-cs"),
    "ogbn-arxiv": DatasetFacts(169343, 1157799, 128, 40, 0.66, "time"),
}


def load_benchmark(
    name: str, *, seed: int = 0, split: str | None = None, data_root: str | Path | None = None
) -> tuple[Data, Truth]:
    """Return a dataset under the split of this seed, and its true labels to score with.

    The data hold the labels of training and validation nodes, without noise.

    Args:
        name: One of `DATASETS`.
        seed: Decides the split where there are several.
        split: One of the splits that the facts of the dataset name; its own without one.
        data_root: Folder of the raw files; else QUIETGRAPH_DATA, else a folder in the user's cache.
    """
    if name not in DATASETS:
        raise UnknownNameError("dataset", name, DATASETS)
    facts = DATASETS[name]
    chosen = split or facts.split
    if chosen not in facts.splits:
        raise UnknownNameError(f"split of {name}", chosen, facts.splits)
    raw = read_files(name, data_root) if name in FILES else _generated(name)
    parts = _draw(raw, name, facts.split if chosen in _MORE else chosen, seed)
    if chosen in _MORE:
        labelled = parts.labelled if chosen == "train+validation" else ~parts.test & (raw.labels >= 0)
        validation = hold_out(torch.where(labelled, raw.labels, UNKNOWN), seed=seed)
        parts = Split(labelled & ~validation, validation, parts.test)
    codes = torch.where(parts.labelled, raw.labels, UNKNOWN)
    classes = np.arange(int(raw.labels.max()) + 1)
    return Data(name, raw.graph, codes, classes, parts), Truth(raw.graph, raw.labels)


def describe_datasets(data_root: str | Path | None = None) -> list[dict[str, Any]]:
    """Return what is known of every dataset, and whether it is here without a download."""
    root = find_root(data_root)
    away = {name for name, files in FILES.items() if files.missing(root)}
    return [
        {"name": name, **asdict(facts), "split_words": SPLITS[facts.split], "here": "no" if name in away else "yes"}
        for name, facts in DATASETS.items()
    ]


def _generated(name: str) -> Raw:
    # One graph for every seed, as with real data: only the split changes.
    drawn = digits_graph() if name == "digits" else block_model(1000, generator=numpy_generator(0, "sbm"))
    return Raw(drawn.graph, torch.from_numpy(drawn.classes), torch.zeros((len(drawn.classes), 0), dtype=torch.int8))


def _draw(raw: Raw, name: str, chosen: str, seed: int) -> Split:
    generator = numpy_generator(seed, "split", name)
    if chosen == "per-class":
        return draw_split(raw.labels, train=20, validation=30, generator=generator)
    if chosen in _FRACTIONS:
        return draw_split(raw.labels, train=_FRACTIONS[chosen], validation=0.15, generator=generator)
    if raw.parts.shape[1] == 0:  # noisygl
        return draw_split(raw.labels, train=20, validation=500, test=1000, generator=generator)
    part = raw.parts[:, seed % raw.parts.shape[1]]
    return Split(part == TRAIN, part == VALIDATION, part == TEST)
