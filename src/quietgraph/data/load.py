"""`quietgraph.load`: any source as one `Data`: a benchmark by its name, own tables, arrays, networks."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
import torch

from quietgraph.data.data import Data
from quietgraph.data.decisions import Decisions
from quietgraph.data.splits import Split, no_node
from quietgraph.data.tables import LABEL_NAMES, Read, Source
from quietgraph.errors import (
    InvalidGraphError,
    InvalidLabelsError,
    InvalidParameterError,
    UnreadableFileError,
    nearest_name,
)
from quietgraph.graph import Graph
from quietgraph.graph.io.arrays import SUFFIXES
from quietgraph.graph.io.encode import Allocate
from quietgraph.graph.io.tables import ENDINGS
from quietgraph.types import AnyArray

__all__ = ["Source", "is_path", "load", "load_like", "load_like_with_ids"]
_NETWORKS: Final = (".graphml", ".gml")


def load(
    source: Any = None,
    *,
    nodes: Any = None,
    edges: Any = None,
    columns: Mapping[str, str] | None = None,
    missing: str | Sequence[str] = (),
    drop_dangling: bool = False,
    classes_max: int | None = None,
    annotations: Any = None,
    verified: Any = (),
    seed: int = 0,
    split: str | None = None,
    data_root: str | Path | None = None,
    allocate: Allocate | None = None,
) -> Data:
    """Return a dataset by its name, or a graph of your own.

    Args:
        source: A name (`digits`, `cora`, ...); a folder with nodes.csv and edges.csv (or .parquet, .xlsx); a converted
            folder; a table of edges; a `.npz`, PyG `.pt`, `.graphml` or `.gml` file; or a NetworkX graph.
        nodes: Instead of a source: a table of nodes, as a file or a DataFrame.
        edges: Instead of a source: a table of edges, as a file or a DataFrame; without `nodes`, all ids in it are the
            nodes and their features come from the structure.
        columns: Of own tables: kind of some columns by name (label, id, weight, number, date, category, text, vector,
            ignore).
        missing: Of own tables: words that mean unknown beside an empty cell, NA, N/A, NaN and null.
        drop_dangling: Of own tables: leave out edges to ids that are no nodes.
        classes_max: Allow so many different labels where nearly every node has its own.
        annotations: Answers of several annotators: a file, a DataFrame, or a list of them (`read_annotations`).
        verified: Decisions of people about labels: files or run folders (`read_decisions`).
        seed: Of datasets by name: decides the split.
        split: Of datasets by name: another split than their own.
        data_root: Of datasets by name: folder of the raw files.
        allocate: Makes the arrays of own tables; in memory without it.
    """
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    tables = {"nodes": nodes is not None, "edges": edges is not None}
    given = {**tables, "column": bool(columns), "missing": bool(words), "drop-dangling": drop_dangling}
    is_name = isinstance(source, str) and not is_path(source)
    made = None if is_name else make_source(source, nodes, edges)
    if made is None or isinstance(made, Data):
        for option in (name for name, is_given in given.items() if is_given):
            kind = "a dataset by name" if made is None else "converted already"
            raise InvalidParameterError(f"{source} is {kind}, so --{option} does not apply.")
    if made is None:
        from quietgraph.data.datasets import load_benchmark

        data = load_benchmark(source, seed=seed, split=split, data_root=data_root)[0]
    elif split is not None:
        raise InvalidParameterError("split goes with datasets by name, not with own graphs.")
    else:
        if isinstance(made, Source):
            own = replace(made, kinds=columns, missing=words, drop_dangling=drop_dangling, classes_max=classes_max)
            paths = [Path(one) for one in (source, nodes, edges) if isinstance(one, str | Path)]
            made = _data(own, paths[0].resolve().stem if paths else "graph", own.read(allocate=allocate))
        data = made
        if not len(data.classes) and annotations is None and allocate is None:
            raise InvalidLabelsError(_without_labels(data, source))
    data = data if annotations is None else data.annotate(annotations)
    for decisions in [verified] if isinstance(verified, str | Path | Decisions) else verified:
        data = data.correct(decisions)
    return data


def _data(source: Source, name: str, read: Read) -> Data:
    known = read.codes >= 0
    marked = no_node(known) if read.validation is None else torch.from_numpy(read.validation)
    split, source = Split(known & ~marked, known & marked, no_node(known)), replace(source, columns=read.columns)
    return Data(name, read.graph, read.codes, read.classes, split, ids=read.ids, source=source, notes=read.notes)


def is_path(source: str | Path) -> bool:
    """Return whether a source is meant as a path: no dataset's name, nor nearly one."""
    from quietgraph.data.datasets import DATASETS

    text = str(source)
    looks = {"/", "\\"} & {*text} or text.endswith((*SUFFIXES, *ENDINGS, *_NETWORKS))
    if isinstance(source, Path) or text in DATASETS:
        return isinstance(source, Path)
    return bool(looks) or Path(text).exists() or not nearest_name(text, DATASETS)


def make_source(source: Any, nodes: Any = None, edges: Any = None) -> Any:
    """Return how a source is read, as `Source`; a converted folder is opened at once, as `Data`."""
    if source is not None and (nodes is not None or edges is not None):
        raise InvalidParameterError("give either a source, or nodes and edges, not both.")
    if source is None or isinstance(source, pd.DataFrame):
        nodes, edges = (
            Path(one) if isinstance(one, str) else one for one in (nodes, edges if source is None else source)
        )
        if edges is None:
            raise InvalidParameterError("a graph needs edges: give a source, or edges beside the nodes (--edges FILE).")
        return Source(nodes, edges)
    if not isinstance(source, str | Path):
        from quietgraph.graph.io.networks import tables_of_network

        return Source(*tables_of_network(source))
    path = Path(source)
    if path.is_dir():
        from quietgraph.data.mapped import is_mapped, open_folder

        return open_folder(path) if is_mapped(path) else Source(*_find(path))
    if not path.exists():
        raise UnreadableFileError(
            f"there is no file or folder {path}. Correct the path, or name a dataset: `quietgraph list datasets`."
        )
    if path.suffix in _NETWORKS:
        from quietgraph.graph.io.networks import read_network, tables_of_network

        return Source(*tables_of_network(read_network(path)))
    if path.suffix not in (*SUFFIXES, *ENDINGS):
        raise UnreadableFileError(
            f"{path} must be a folder with nodes.csv and edges.csv (or .parquet, .xlsx), or a file ending in "
            f"{', '.join((*SUFFIXES, *_NETWORKS, *ENDINGS))}."
        )
    return Source(file=path) if path.suffix in SUFFIXES else Source(edges=path)


def _find(folder: Path) -> tuple[Path | None, Path]:
    """Return the tables of nodes, if there is one, and of edges in a folder."""
    found = {
        name: [path for end in ENDINGS if (path := folder / f"{name}{end}").is_file()] for name in ("nodes", "edges")
    }
    for name, paths in found.items():
        if len(paths) > 1:
            raise UnreadableFileError(
                f"{folder} holds {' and '.join(path.name for path in paths)}. Remove one of them."
            )
        if not paths and name == "edges":
            raise UnreadableFileError(f"{folder} holds no edges.csv (or .parquet, .xlsx). A graph is nodes and edges.")
    return next(iter(found["nodes"]), None), found["edges"][0]


def _without_labels(data: Data, source: Any) -> str:
    """Return what to do about a graph without labels."""
    read, columns = data.source, data.source.columns if data.source is not None else None
    if read is not None and read.nodes is None and read.edges is not None:
        if isinstance(source, str | Path) and Path(source).stem == "nodes":
            return f"{source} is a table of nodes without edges. Name the folder of both: {Path(source).parent}."
        return f"{data.name} has edges alone, and so no labels. Give nodes that have them (--nodes FILE)."
    if columns is not None and columns.label is not None:
        return f"no node of {data.name} has a {columns.label}. Give labels to some nodes of each class."
    categories = [one.name for one in (columns.features if columns else ()) if one.kind == "category"]
    example = f", perhaps --column '{categories[-1]}=label'" if categories else ""
    return (
        f"{data.name} has no labels: nothing in it is called {', '.join(LABEL_NAMES)}. Name the column that holds them "
        f"with --column NAME=label (columns= in Python){example}."
    )


def load_like(source: Source | None, graph: Any, tables: Mapping[str, Any]) -> Graph:
    """Return the graph of anything that `predict` takes; own tables are encoded with the columns of the fit.

    Args:
        source: Of the data of the fit.
        graph: A `Graph`, `Data`, PyG graph, NetworkX graph, folder or file; None where tables are given.
        tables: `nodes` and `edges`, as files or DataFrames.
    """
    return load_like_with_ids(source, graph, tables)[0]


def load_like_with_ids(source: Source | None, graph: Any, tables: Mapping[str, Any]) -> tuple[Graph, AnyArray]:
    """Return the same, and the ids of its nodes."""
    columns = None if source is None else source.columns
    if hasattr(graph, "edge_index") or hasattr(graph, "edge_types"):
        found = graph if isinstance(graph, Graph) else Graph.from_pyg(graph)
        return found, np.arange(found.num_nodes)
    made = graph if isinstance(graph, Data) else make_source(graph, **tables)
    new = made.source if isinstance(made, Data) else made
    if isinstance(made, Data) and (columns is None or new is None or new.columns == columns):
        return made.graph, made.ids
    if columns is None or new is None or (new.edges is None and new.file is None):
        raise InvalidGraphError(
            "the columns of this graph cannot be encoded as those of the fit, which had no tables. Fit own tables, or "
            "give the tables instead of a converted folder."
        )
    words = tuple(dict.fromkeys((*new.missing, *columns.missing)))
    drop_dangling = new.drop_dangling or (source is not None and source.drop_dangling)
    read = replace(new, missing=words, drop_dangling=drop_dangling, kinds=None).read(columns)
    return read.graph, read.ids
