"""Benchmark datasets by name: an observation under the split of a seed, and true labels."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np
import torch

from quietgraph.data.dataset_cache import read_cached
from quietgraph.data.folds import hold_out
from quietgraph.data.observation import Observation, Reference
from quietgraph.data.sources import SOURCES, TEST, TRAIN, VALIDATION, RawDataset, find_root
from quietgraph.data.splits import Split, count_split, fraction_split, per_class_split
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.graph import block_model, digits_graph
from quietgraph.rng import numpy_generator
from quietgraph.types import UNKNOWN, Mask

TAUGHT_BY_BOTH: Final = "train+validation"
TAUGHT_BY_REST: Final = "all-but-test"
SPLIT_WORDS: Final = {
    "public": "20 a class train, 500 validation, 1000 test, always the same",
    "per-class": "20 a class train, 30 a class validation, rest test, fresh per seed",
    "geom-gcn": "10 files of 48/32/20 %, number seed % 10",
    "wiki-cs": "20 official splits, number seed % 20; validation is their stopping set",
    "time": "papers until 2017 train, of 2018 validation, from 2019 test",
    "1-15": "1 % train, 15 % validation, rest test, fresh per seed",
    "5-15": "5 % train, 15 % validation, rest test, fresh per seed",
    TAUGHT_BY_BOTH: "training and validation nodes together train, but for a stratified fifth",
    TAUGHT_BY_REST: "all nodes outside the test set train, but for a stratified fifth",
    "noisygl": "20 a class train, 500 validation, 1000 test, fresh per seed where none is public",
}


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a dataset without reading it.

    Attributes:
        nodes: Number of nodes.
        edges: Number of undirected edges, without loops and duplicates.
        features: Number of feature columns.
        classes: Number of classes.
        homophily: Fraction of edges that join nodes of one class.
        split: The default split; from `describe`, in words.
        measured: Whether counts and homophily were measured here; else they are as published.
        name: As `load_benchmark` takes it.
        available: Whether it can be loaded without a download.
        path: Folder of its raw files, or where to put them; None where it needs none.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    homophily: float
    split: str
    measured: bool = True
    name: str = ""
    available: bool = True
    path: Path | None = None


_FACTS: Final = {
    "digits": DatasetInfo(1797, 9931, 64, 10, 0.961, "per-class"),
    "sbm": DatasetInfo(1000, 4926, 32, 4, 0.794, "per-class"),
    "cora": DatasetInfo(2708, 5278, 1433, 7, 0.810, "public"),
    "citeseer": DatasetInfo(3327, 4552, 3703, 6, 0.736, "public"),
    "pubmed": DatasetInfo(19717, 44324, 500, 3, 0.802, "public"),
    "coauthor-cs": DatasetInfo(18333, 81894, 6805, 15, 0.808, "per-class"),
    "amazon-computers": DatasetInfo(13752, 245861, 767, 10, 0.777, "per-class"),
    "amazon-photo": DatasetInfo(7650, 119081, 745, 8, 0.827, "per-class"),
    "texas": DatasetInfo(183, 279, 1703, 5, 0.061, "geom-gcn"),
    "chameleon": DatasetInfo(2277, 31371, 2325, 5, 0.230, "geom-gcn"),
    "dblp": DatasetInfo(17716, 52867, 1639, 4, 0.828, "1-15"),
    "blogcatalog": DatasetInfo(5196, 171743, 8189, 6, 0.401, "5-15"),
    "flickr": DatasetInfo(7575, 239738, 12047, 9, 0.239, "5-15"),
    "wiki-cs": DatasetInfo(11701, 215603, 300, 10, 0.65, "wiki-cs", measured=False),
    "ogbn-arxiv": DatasetInfo(169343, 1157799, 128, 40, 0.66, "time", measured=False),
}

DATASETS: Final = tuple(_FACTS)
_FRACTIONS: Final = {"1-15": 0.01, "5-15": 0.05}  # of training nodes


def load_benchmark(
    name: str, *, seed: int = 0, data_root: str | Path | None = None, split: str | None = None
) -> tuple[Observation, Reference]:
    """Return a dataset under the split of this seed, and its true labels to score with.

    The observation holds the labels of training and validation nodes, without noise.

    Args:
        name: One of `DATASETS`.
        seed: Decides the split where there are several.
        data_root: Folder of the raw files; else QUIETGRAPH_DATA, else a folder in the user's cache.
        split: `per-class`, `train+validation` and `all-but-test` on any dataset, `noisygl` where
            that benchmark has one; else its own.
    """
    facts = _facts(name)
    chosen = split or facts.split
    known = {facts.split, "per-class", TAUGHT_BY_BOTH, TAUGHT_BY_REST}
    if facts.split in {"public", "per-class"}:
        known.add("noisygl")
    if chosen not in known:
        raise UnknownNameError(f"split of {name}", chosen, known)
    raw = _read_embedded(name) or read_cached(name, SOURCES[name], find_root(data_root))
    by_more = chosen in {TAUGHT_BY_BOTH, TAUGHT_BY_REST}
    parts = _split(raw, name, facts.split if by_more else chosen, seed)
    if by_more:
        labelled = parts.labelled if chosen == TAUGHT_BY_BOTH else ~parts.test & (raw.labels >= 0)
        parts = _taught_by(labelled, parts.test, raw, seed)
    codes = torch.where(parts.labelled, raw.labels, UNKNOWN)
    classes = np.arange(int(raw.labels.max()) + 1)
    return Observation(name, raw.graph, codes, classes, parts), Reference(raw.graph, raw.labels)


def describe(name: str, *, data_root: str | Path | None = None) -> DatasetInfo:
    """Return what is known of a dataset, and whether its files are here, without reading it."""
    facts, source, root = _facts(name), SOURCES.get(name), find_root(data_root)
    return replace(
        facts,
        name=name,
        split=f"{facts.split}: {SPLIT_WORDS[facts.split]}",
        available=source is None or not source.missing(root),
        path=None if source is None else root / source.folder,
    )


def _facts(name: str) -> DatasetInfo:
    if name in _FACTS:
        return _FACTS[name]
    if Path(name).exists():
        raise InvalidParameterError(
            f"'{name}' is a path, not the name of a dataset ({', '.join(DATASETS)}). "
            "Read your own data with quietgraph.load, or quietgraph fit PATH."
        )
    raise UnknownNameError("dataset", name, DATASETS)


def _read_embedded(name: str) -> RawDataset | None:
    """Return a dataset that needs no files, None where it needs some."""
    if name == "digits":
        labelled = digits_graph()
    elif name == "sbm":
        # The same graph for every seed, as with real data: only the split changes.
        labelled = block_model(_FACTS[name].nodes, generator=numpy_generator(0, "sbm"))
    else:
        return None
    parts = torch.zeros((labelled.graph.num_nodes, 0), dtype=torch.int8)
    return RawDataset(labelled.graph, torch.from_numpy(labelled.classes), parts)


def _taught_by(labelled: Mask, test: Mask, raw: RawDataset, seed: int) -> Split:
    """Return the split with these nodes to train on, but for a fifth of them to choose by."""
    validation = hold_out(torch.where(labelled, raw.labels, UNKNOWN), seed=seed)
    return Split(labelled & ~validation, validation, test)


def _split(raw: RawDataset, name: str, chosen: str, seed: int) -> Split:
    generator = numpy_generator(seed, "split", name)
    if chosen == "per-class":
        return per_class_split(
            raw.labels, train_per_class=20, validation_per_class=30, generator=generator
        )
    if chosen in _FRACTIONS:
        return fraction_split(
            raw.labels, train=_FRACTIONS[chosen], validation=0.15, generator=generator
        )
    if raw.parts.shape[1] == 0:
        return count_split(
            raw.labels, train_per_class=20, num_validation=500, num_test=1000, generator=generator
        )
    part = raw.parts[:, seed % raw.parts.shape[1]]
    return Split(part == TRAIN, part == VALIDATION, part == TEST)
