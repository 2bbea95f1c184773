"""`quietgraph.load`: a benchmark dataset by its name, or a graph of one's own by its path."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import AnnotationsLike
from quietgraph.data.datasets import DATASETS, load_benchmark
from quietgraph.data.observation import GraphLike, Observation, observe, observe_annotations
from quietgraph.errors import InvalidLabelsError, InvalidParameterError, nearest_name
from quietgraph.graph.io import ReadGraph, read_graph
from quietgraph.graph.io.read import LABEL_NAMES, SUFFIXES, TABLE_ENDINGS, ReadOptions
from quietgraph.graph.io.result import CodedLabels


def load(
    source: object = None,
    *,
    seed: int = 0,
    data_root: str | Path | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    nodes: object = None,
    edges: object = None,
    unknown: str | Sequence[str] = (),
    drop_dangling: bool = False,
    limit: str | int | None = None,
    annotations: "AnnotationsLike | None" = None,
) -> Observation:
    """Return a dataset by its name, or a graph of your own.

    Args:
        source: A name (`digits`, `cora`, ...), a folder with nodes.csv and edges.csv (or Parquet),
            a file (`.npz`, PyG `.pt`, `.graphml`, `.gml`), or a NetworkX graph.
        seed: Decides the split; of own data, which fifth of the labels is for validation.
        data_root: Of datasets by name: folder of the raw files.
        split: Of datasets by name: another split than their own.
        columns: Of own tables: kind of some columns by name (number, scaled, date, category, text,
            vector, label, id, ignore).
        nodes: Instead of a source: a table of nodes, as a file or a DataFrame.
        edges: Instead of a source: a table of edges, as a file or a DataFrame.
        unknown: Of own tables: cells that mean unknown, such as "?".
        drop_dangling: Of own tables: leave out edges to ids that are no nodes.
        limit: Memory that reading files may take, such as "8GB", instead of 20 times their size.
        annotations: Answers of several annotators: a file, a DataFrame or a matrix (see
            `read_annotations`); own graphs need no labels then.
    """
    reading = ReadOptions(
        columns=columns,
        nodes=nodes,
        edges=edges,
        unknown=unknown,
        drop_dangling=drop_dangling,
        limit=limit,
    )
    given = [name for name, value in reading.items() if not _is_default(value)]
    if isinstance(source, str) and not is_path(source):
        if given:
            raise InvalidParameterError(
                f"{source} is a dataset by name, so {_option(given[0])} does not apply."
            )
        found = load_benchmark(source, seed=seed, data_root=data_root, split=split)[0]
        return found if annotations is None else found.annotate(annotations)
    if split is not None:
        raise InvalidParameterError("split goes with datasets by name, not with own graphs.")
    read = read_graph(source, **reading)
    path = path_of(source, nodes, edges)
    return observe_files(read, path, seed=seed, annotations=annotations)


def path_of(source: object, nodes: object = None, edges: object = None) -> Path:
    """Return the path that names a graph of one's own; `graph` where it is in memory."""
    paths = [one for one in (source, nodes, edges) if isinstance(one, str | Path)]
    return Path(paths[0]) if paths else Path("graph")


def _is_default(value: object) -> bool:
    return value is None or value is False or (isinstance(value, tuple | list | dict) and not value)


def _option(name: str) -> str:
    return "--" + {"columns": "column"}.get(name, name.replace("_", "-"))


def is_path(source: str | Path) -> bool:
    """Return whether a source is meant as a path: no dataset's name, nor nearly one."""
    if isinstance(source, Path):
        return True
    looks = "/" in source or "\\" in source or source.endswith((*SUFFIXES, *TABLE_ENDINGS))
    if source in DATASETS or looks or Path(source).exists():
        return source not in DATASETS
    return not nearest_name(source, DATASETS)


def read_network(graph: "GraphLike", *, with_labels: bool, seed: int = 0) -> "GraphLike":
    """Return a NetworkX graph as an observation or, without labels, as a graph.

    Node attributes are columns of a table. Anything else is returned as it is.

    Args:
        graph: What a caller gave to `fit`.
        with_labels: Whether labels are read from the graph too.
        seed: Decides the validation nodes.
    """
    networkx = sys.modules.get("networkx")
    if networkx is None or not isinstance(graph, networkx.Graph):
        return graph
    return load(graph, seed=seed) if with_labels else read_graph(graph).graph


def _example_of_label(read: ReadGraph) -> str:
    """Return an option that may be meant: a column of few different texts may hold the labels."""
    parted = (words.rpartition(": ") for words in read.understood.columns)
    names = [name for name, _, kind in parted if kind.startswith("category")]
    return f", perhaps --column '{names[-1]}=label'" if names else ""


def observe_files(
    read: ReadGraph, path: Path, *, seed: int, annotations: "AnnotationsLike | None" = None
) -> Observation:
    """Return what was read from files as an observation.

    Args:
        read: Of `read_graph`.
        path: Where it came from, for its name and for messages.
        seed: Decides the validation nodes where the files do not name them.
        annotations: Answers of several annotators, which own labels are joined to.
    """
    if read.understood.label_column is None and annotations is None:
        raise InvalidLabelsError(_without_labels(path, read))
    facts: dict[str, Any] = {
        "name": path.resolve().stem,
        "node_ids": read.node_ids,
        "understood": read.understood,
        "encoding": read.encoding,
    }
    if annotations is not None and not _has_labels(read.labels):
        answers = read_annotations(annotations, read.node_ids)
        return replace(observe_annotations(read.graph, answers, seed=seed), **facts)
    ids = read.node_ids
    observed = observe(read.graph, read.labels, read.validation, seed=seed, node_ids=ids)
    found = replace(observed, **facts)
    return found if annotations is None else found.annotate(annotations)


def _without_labels(path: Path, read: ReadGraph) -> str:
    if path.stem == "nodes" and path.is_file():
        return f"{path} is a table of nodes without edges. Name the folder of both: {path.parent}."
    form = read.understood.form
    if form == "the edges" or (form.endswith(TABLE_ENDINGS) and " and " not in form):
        return (
            f"{path} has edges alone, and so no labels. Give a table of nodes that has them "
            "(--nodes FILE), or labels of some nodes as a table node,label (--annotations FILE)."
        )
    return (
        f"{path} has no labels: nothing in it is called {', '.join(LABEL_NAMES)}. Name the column "
        f"that holds them with --column NAME=label (columns= in Python){_example_of_label(read)}."
    )


def _has_labels(labels: object) -> bool:
    if isinstance(labels, CodedLabels):
        return bool(labels.codes.max() >= 0)
    return labels is not None and not pd.isna(np.asarray(labels, dtype=object)).all()
