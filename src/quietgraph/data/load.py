"""`quietgraph.load`: a benchmark dataset by its name, or a graph of one's own by its path."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from quietgraph.data.datasets import DATASETS, load_benchmark
from quietgraph.data.observation import Observation, observe
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.graph.io import ReadGraph, read_graph
from quietgraph.graph.io.read import LABEL_NAMES, SUFFIXES


def load(
    source: str | Path,
    *,
    seed: int = 0,
    data_root: str | Path | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Observation:
    """Return a dataset by its name, or a graph of your own by its path.

    Args:
        source: A name (`digits`, `cora`, ...), a folder with nodes.csv and edges.csv (or Parquet),
            or a file: `.npz`, PyG `.pt`, `.graphml`, `.gml`.
        seed: Decides the split; of own data, which fifth of the labels is for validation.
        data_root: Of datasets by name: folder of the raw files.
        split: Of datasets by name: another split than their own.
        columns: Of own tables: kind of some columns by name (number, scaled, category, text,
            label, id, ignore).
    """
    if is_path(source):
        if split is not None:
            raise InvalidParameterError(f"split goes with datasets by name, not with {source}.")
        return observe_files(read_graph(source, columns=columns), Path(source), seed=seed)
    if columns:
        raise InvalidParameterError(f"{source} is a dataset by name, so --column does not apply.")
    return load_benchmark(str(source), seed=seed, data_root=data_root, split=split)[0]


def is_path(source: str | Path) -> bool:
    """Return whether a source is meant as a path: no dataset's name, and there or like a path."""
    if isinstance(source, Path):
        return True
    looks = "/" in source or "\\" in source or source.endswith((*SUFFIXES, ".csv", ".parquet"))
    return source not in DATASETS and (looks or Path(source).exists())


def observe_files(read: ReadGraph, path: Path, *, seed: int) -> Observation:
    """Return what was read from files as an observation.

    Args:
        read: Of `read_graph`.
        path: Where it came from, for its name and for messages.
        seed: Decides the validation nodes where the files do not name them.
    """
    if read.understood.label_column is None:
        raise InvalidLabelsError(
            f"{path} has no labels: nothing in it is called {', '.join(LABEL_NAMES)}. "
            "Name the column that holds them with --column NAME=label."
        )
    return replace(
        observe(read.graph, read.labels, read.validation, seed=seed),
        name=path.resolve().stem,
        node_ids=read.node_ids,
        understood=read.understood,
        encoding=read.encoding,
    )
