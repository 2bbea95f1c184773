"""A user's own graph: given labels, node ids, a held-out part, and no clean labels anywhere."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quietgraph.data import datasets
from quietgraph.data.datasets import DATASETS, Dataset
from quietgraph.data.folds import hold_out
from quietgraph.data.labels import encode_labels
from quietgraph.data.splits import Split
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.graph import Graph
from quietgraph.graph.io import ReadGraph, read_graph
from quietgraph.graph.io.read import LABEL_NAMES, SUFFIXES
from quietgraph.rng import torch_generator

_HELD_OUT_SHARE = 0.2


@dataclass(frozen=True, eq=False)
class OwnData:
    """A graph with given labels, some of which may be wrong.

    Attributes:
        name: The last part of its path.
        read: The graph, labels and ids, how the features were made, and what was understood.
        split: Training and validation labels; no test, since nobody knows the right ones.
    """

    name: str
    read: ReadGraph
    split: Split

    @property
    def graph(self) -> Graph:
        """The graph, which carries no labels."""
        return self.read.graph

    @property
    def labels(self) -> np.ndarray[Any, Any]:
        """Labels as given, None = unknown [nodes] object: for `fit`."""
        return self.read.labels

    @property
    def node_ids(self) -> np.ndarray[Any, Any]:
        """Ids as the file has them [nodes] object."""
        return self.read.node_ids


def load(
    source: str | Path,
    *,
    seed: int = 0,
    data_root: str | Path | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Dataset | OwnData:
    """Return a dataset by its name, or a graph of your own by its path.

    Args:
        source: A name (`digits`, `cora`, ...), a folder with nodes.csv and edges.csv (or Parquet),
            or a file: `.npz`, PyG `.pt`, `.graphml`, `.gml`.
        seed: Decides the split.
        data_root: Of datasets by name: folder of the raw files.
        split: Of datasets by name: another split than their own.
        columns: Of own tables: kind of some columns by name (number, scaled, category, text,
            label, id, ignore).
    """
    if is_path(source):
        if split is not None:
            raise InvalidParameterError(f"split goes with datasets by name, not with {source}.")
        return own_data(read_graph(source, columns=columns), Path(source), seed=seed)
    if columns:
        raise InvalidParameterError(f"{source} is a dataset by name, so --column does not apply.")
    return datasets.load(str(source), seed=seed, data_root=data_root, split=split)


def is_path(source: str | Path) -> bool:
    """Return whether a source is meant as a path: no dataset's name, and there or like a path."""
    if isinstance(source, Path):
        return True
    looks = "/" in source or "\\" in source or source.endswith((*SUFFIXES, ".csv", ".parquet"))
    return source not in DATASETS and (looks or Path(source).exists())


def own_data(read: ReadGraph, path: Path, *, seed: int) -> OwnData:
    """Return what was read, with a stratified fifth of the labels held out to choose by.

    Args:
        read: Of `read_graph`.
        path: Where it came from, for its name and for messages.
        seed: Decides what is held out.
    """
    if read.understood.label_column is None:
        raise InvalidLabelsError(
            f"{path} has no labels: nothing in it is called {', '.join(LABEL_NAMES)}. "
            "Name the column that holds them with --column NAME=label."
        )
    codes, _ = encode_labels(read.labels, read.graph.num_nodes)
    validation = hold_out(codes, _HELD_OUT_SHARE, generator=torch_generator(seed, "own data"))
    if read.validation is not None:
        validation = torch.from_numpy(read.validation) & (codes >= 0)
    train = (codes >= 0) & ~validation
    split = Split(train, validation, torch.zeros_like(train))
    return OwnData(path.resolve().stem, read, split)
