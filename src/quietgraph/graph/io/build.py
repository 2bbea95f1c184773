"""From what a file holds to a graph: columns, a ready matrix, or the structure as features."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pandas as pd
import scipy.sparse
import torch

from quietgraph.errors import InvalidGraphError, UnreadableFileError
from quietgraph.graph.graph import Graph
from quietgraph.graph.io.columns import FEATURE_KINDS, Column, encode_column, learn_column
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.raw import Raw, id_key
from quietgraph.graph.io.structural import choose_landmarks, structural_features

_LARGE: Final = 10.0  # numbers beyond it drown the other features


@dataclass(frozen=True, eq=False)
class Built:
    """A graph, how its features were made, and the same in words."""

    graph: Graph
    encoding: Encoding
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()


def build_graph(raw: Raw, roles: Mapping[str, str], encoding: Encoding | None) -> Built:
    """Return the graph of what a file holds.

    Args:
        raw: What the file holds.
        roles: Kind of some columns by name, the label among them.
        encoding: How columns became features before; None to look at the columns.
    """
    if encoding is not None:
        _check_kind(raw, encoding)
    if encoding is None and raw.matrix is not None:
        encoding = Encoding("matrix")
    if encoding is not None and encoding.kind == "matrix":
        graph = Graph.from_arrays(raw.matrix, raw.edges, weights=raw.weights)
        return Built(graph, encoding, (f"a matrix of {graph.num_features:,} columns",))
    notes: list[str] = []
    if encoding is None:
        encoding, notes = _learn(raw, roles)
    if encoding.kind == "structure":
        return _build_structural(raw, encoding, notes)
    return _build_columns(raw, encoding, notes)


def _learn(raw: Raw, roles: Mapping[str, str]) -> tuple[Encoding, list[str]]:
    columns, empty = [], []
    for name, cells in {} if raw.table is None else raw.table.items():
        kind = roles.get(str(name))
        if kind is not None and kind not in FEATURE_KINDS:
            continue
        column = learn_column(str(name), cells, kind, typed=raw.typed)
        columns += [column] if column else []
        empty += [] if column else [f"column {name} is empty and not used"]
    if not columns:
        return Encoding("structure", id_column=raw.id_column), empty
    return Encoding("columns", tuple(columns), raw.id_column), empty + _warn_of_large(columns)


def _warn_of_large(columns: list[Column]) -> list[str]:
    large = [
        column.name
        for column in columns
        if column.kind == "number" and abs(column.centre) + column.spread > _LARGE
    ]
    if not large or len(columns) == 1:
        return []
    return [
        f"large numbers drown other features ({', '.join(large)}): "
        f"--column {large[0]}=scaled brings a column to mean 0 and spread 1"
    ]


def _build_columns(raw: Raw, encoding: Encoding, notes: list[str]) -> Built:
    table = pd.DataFrame() if raw.table is None else raw.table
    parts = [encode_column(one, table[one.name], typed=raw.typed) for one in encoding.columns]
    features = scipy.sparse.hstack([matrix for matrix, _ in parts], format="csr")
    graph = Graph.from_arrays(features, raw.edges, weights=raw.weights)
    words = tuple(str(column) for column in encoding.columns)
    return Built(graph, encoding, words, (*notes, *(told for _, told in parts if told)))


def _build_structural(raw: Raw, encoding: Encoding, notes: list[str]) -> Built:
    keys = pd.Index([id_key(value) for value in raw.node_ids], dtype=object)
    bare = Graph.from_arrays(np.ones((len(keys), 1)), raw.edges, weights=raw.weights)
    if bare.num_edges == 0:
        raise InvalidGraphError(
            f"the graph of {len(keys)} nodes has neither features nor edges, so there is nothing "
            "to learn from. Add one of them."
        )
    if not encoding.landmarks:
        chosen = tuple(keys[choose_landmarks(bare.adjacency)])
        encoding = Encoding("structure", id_column=raw.id_column, landmarks=chosen)
    places = keys.get_indexer(pd.Index(encoding.landmarks, dtype=object))
    # A landmark that has gone, or lost its edges, is reached by no walk.
    linked = (places >= 0) & (bare.adjacency.row_counts.numpy()[places] > 0)
    if not linked.all():
        lost = encoding.landmarks[int(np.argmin(linked))]
        raise UnreadableFileError(
            f"the node '{lost}' must still be there with its edges: places in the graph are "
            "measured from it. Give the grown graph, not the new part alone."
        )
    features = torch.from_numpy(structural_features(bare.adjacency, places))
    words = f"none given, so the structure: log degree, PageRank, walks to {len(places)} landmarks"
    return Built(bare.with_features(features), encoding, (words,), tuple(notes))


def _check_kind(raw: Raw, encoding: Encoding) -> None:
    """Raise where the features that the model was fitted on are not here."""
    if encoding.kind == "columns":
        names = [] if raw.table is None else [str(name) for name in raw.table.columns]
        missing = [column.name for column in encoding.columns if column.name not in names]
        if missing:
            raise UnreadableFileError(
                f"the nodes must have the column '{missing[0]}', which the model was fitted with "
                f"({len(missing)} missing). Add it."
            )
    if encoding.kind == "matrix" and raw.matrix is None:
        raise UnreadableFileError(
            "the model was fitted on a matrix of features, and this graph has none. "
            "Give it as .npz or .pt with x."
        )
