"""Own tables and arrays as a graph with labels: which column is what, and what was understood."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from quietgraph.data.labels import class_codes, class_notes, encode_labels, enumerate_words, no_labels
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.graph import Features, Graph
from quietgraph.graph.io.arrays import read_arrays
from quietgraph.graph.io.columns import Column, check_columns, learn_columns
from quietgraph.graph.io.edges import fill_edges, ids_of_edges, make_ids, read_edges
from quietgraph.graph.io.encode import Allocate, encode
from quietgraph.graph.io.structure import features_of_structure
from quietgraph.graph.io.tables import MISSING, Table, id_keys, open_database, open_table, quoted
from quietgraph.types import AnyArray, BoolArray, Labels

KINDS: Final = ("label", "id", "weight", "number", "date", "category", "text", "vector", "ignore")
ID_NAMES: Final = ("id", "node", "node_id")
LABEL_NAMES: Final = ("label", "class", "y", "target")
OURS: Final = "quietgraph_"  # columns of this beginning were written by us: no features
_BOUNDED: Final = "300MB"  # memory of the database where arrays go to files
_STRUCTURE: Final = "none given, so the structure: log degree, PageRank, walks to {} landmarks"
_ENOUGH: Final = 10  # labelled nodes to decide by whether a column is a copy of the labels
_COPY: Final = 0.97  # share of the labels that such a column predicts


class Columns(BaseModel):
    """Where the features of a graph come from, learned once, so that a grown graph is read the same way."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["columns", "matrix", "structure"]  # of a table, a ready matrix, or the structure of the graph itself
    features: tuple[Column, ...] = ()  # what each column became, in the order of the features
    landmarks: tuple[str, ...] = ()  # ids of the nodes that structural features are measured from
    id: str | None = None  # name of the id column
    label: str | None = None  # name of the label column
    weight: str | None = None  # name of the column of edge weights that the user chose
    missing: tuple[str, ...] = ()  # words for unknown that the user added


class Read(NamedTuple):
    """What a source holds."""

    graph: Graph
    ids: AnyArray
    columns: Columns
    codes: Labels  # -1 = unknown
    classes: AnyArray  # empty without labels
    validation: BoolArray | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Source:
    """How a graph of one's own is read."""

    nodes: Path | pd.DataFrame | None = None  # the table of nodes; None where the edges are all there is
    edges: Path | pd.DataFrame | None = None
    ids: AnyArray | None = None  # instead of those of the table: the nodes of a NetworkX graph
    file: Path | None = None  # instead of tables: a file of arrays
    kinds: Mapping[str, str] | None = None  # of some columns, as the user says
    missing: tuple[str, ...] = ()  # words for unknown beside the usual ones
    drop_dangling: bool = False  # whether edges to ids that are no nodes are left out
    classes_max: int | None = None  # number of classes that is right though nearly every label has its own
    columns: Columns | None = None  # how columns became features; None before the first reading

    @property
    def form(self) -> str:
        """What was read, in words."""
        paths = [one for one in (self.nodes, self.edges, self.file) if isinstance(one, Path)]
        return " and ".join(path.name for path in paths)

    def columns_json(self) -> str:
        """Return how columns became features as JSON, to be saved with a model."""
        return "null" if self.columns is None else self.columns.model_dump_json()

    @classmethod
    def of_columns(cls, text: str) -> "Source":
        """Return the source that `columns_json` wrote, without its tables."""
        try:
            columns = None if text.strip() == "null" else Columns.model_validate_json(text)
        except ValidationError as error:
            raise UnreadableFileError(
                f"the saved columns do not say how tables become features ({error.error_count()} mistakes). Fit again."
            ) from error
        return cls(columns=columns, missing=columns.missing if columns else ())

    def read(self, columns: Columns | None = None, allocate: Allocate | None = None) -> Read:
        """Return what the source holds.

        Args:
            columns: How columns became features before, to read a grown graph the same way; labels are not read then.
            allocate: Makes the arrays; in memory without it.
        """
        make = allocate or (lambda _, shape, kind: np.empty(shape, kind))
        if self.file is not None:
            return _read_arrays(self, self.file, columns)
        if self.edges is None:
            raise InvalidParameterError("a graph needs edges: give a folder or file, or nodes and edges.")
        with open_database("70%" if allocate is None else _BOUNDED) as db:
            nodes = None if self.nodes is None else open_table(db, "nodes", self.nodes)
            return _read_tables(self, nodes, open_table(db, "edges", self.edges), columns, make)


def _read_tables(source: Source, nodes: Table | None, edges: Table, known: Columns | None, allocate: Allocate) -> Read:
    """Return the graph of two tables, or of all ids in a table of edges."""
    kinds, words = _checked_kinds(source, [] if nodes is None else nodes.names, edges), (*MISSING, *source.missing)
    weight = next((name for name, kind in kinds.items() if kind == "weight"), known.weight if known else None)
    notes = list[str]()
    columns = known or Columns(kind="structure", weight=weight, missing=source.missing)
    if nodes is None:
        ends = fill_edges(edges, weight)
        count = ids_of_edges(edges, ends)
        codes, classes = no_labels(count)
    else:
        columns, used = _fill_nodes(nodes, kinds, known, columns, words)
        count = nodes.rows
        codes, classes, notes = _labels(nodes, columns.label if known is None else None, words, source.classes_max)
        ends = fill_edges(edges, weight)
    adjacency, edge_notes = read_edges(edges, ends, count, allocate, drop_dangling=source.drop_dangling)
    if nodes is not None and known is None:
        learned, empty = learn_columns(nodes, used, kinds)
        kind: Literal["columns", "structure"] = "columns" if learned else "structure"
        columns = columns.model_copy(update={"kind": kind, "features": tuple(learned)})
        unnamed = ["the column without a name is ignored"] if "" in nodes.names else []
        notes = [*unnamed, *empty, *notes, *_copies(nodes, columns, codes, words)]
    keys = "key FROM ids ORDER BY code"
    features: Features
    if columns.kind == "structure":
        found = features_of_structure(adjacency, edges.arrays(f"SELECT {keys}")[0], columns.landmarks)
        features, columns = found[0], columns.model_copy(update={"landmarks": found[1]})
        made = _STRUCTURE.format(len(columns.landmarks))
    elif nodes is None or columns.kind == "matrix":
        raise UnreadableFileError(f"the model was fitted with features of nodes that {edges.where} lacks. Give them.")
    else:
        notes = [*(check_columns(nodes, columns.features) if known is not None else []), *notes]
        features = encode(nodes, columns.features, allocate)
        made = enumerate_words([str(column) for column in columns.features])
    given = keys if nodes is None else f"{nodes.column(str(columns.id))} FROM nodes ORDER BY _row"
    ids = edges.arrays(f"SELECT {given}")[0] if source.ids is None else source.ids
    sentences = (f"features: {made}", *edge_notes, *notes)
    return Read(Graph(features, adjacency), ids, columns, codes, classes, None, sentences)


def _fill_nodes(
    nodes: Table, kinds: Mapping[str, str], known: Columns | None, columns: Columns, words: Sequence[str]
) -> tuple[Columns, list[str]]:
    """Read ids, labels and the columns that become features; return which these are."""
    free = [name for name in nodes.names if name not in kinds and name]
    named = {kind: next((name for name in nodes.names if kinds.get(name) == kind), None) for kind in ("id", "label")}
    lower = {name.lower(): name for name in reversed(free)}
    label = named["label"] or next((lower[name] for name in LABEL_NAMES if name in lower), None)
    usual = [lower[name] for name in ID_NAMES if name in lower]
    first = [columns.id if columns.id in nodes.names else None, named["id"], *usual, *free, *nodes.names]
    id_name = next((name for name in first if name not in {None, label}), nodes.names[0])
    columns = columns.model_copy(update={"id": id_name, "label": label})
    if known is not None:
        label, used = None, [one.name for one in known.features if one.name in nodes.names]
    else:
        left = [name for name in nodes.names if name not in {columns.id, label, ""} and kinds.get(name) != "ignore"]
        used = [name for name in left if name in kinds or not name.startswith(OURS)]
    taken = [name for name in (columns.id, label) if name is not None]
    nodes.fill([*taken, *(name for name in used if name not in taken)], raw=taken, missing=words)
    make_ids(nodes, str(columns.id))
    return columns, used


def _read_arrays(source: Source, path: Path, columns: Columns | None) -> Read:
    """Return the graph of a `.npz` or `.pt` file."""
    if source.kinds:
        raise InvalidParameterError(f"{source.file} has no named columns, so --column does not apply.")
    found = read_arrays(path)
    keys = id_keys(found.ids)
    if len({*keys}) < len(keys):
        twice = next(iter(pd.Index(keys)[pd.Index(keys).duplicated()]))
        raise UnreadableFileError(f"{source.file} has the id '{twice}' again. Keep one row per node.")
    features = np.ones((len(keys), 1)) if found.features is None else found.features
    graph = Graph.from_arrays(features, found.edges, weights=found.weights)
    if found.features is None:
        known = columns or Columns(kind="structure")
        made, landmarks = features_of_structure(graph.adjacency, np.array(keys, dtype=object), known.landmarks)
        columns = known.model_copy(update={"landmarks": landmarks})
        graph, words = graph.with_features(made), _STRUCTURE.format(len(columns.landmarks))
    else:
        words, columns = f"a matrix of {graph.num_features:,} columns", columns or Columns(kind="matrix")
    if (columns.kind == "structure") != (found.features is None) or columns.kind == "columns":
        raise UnreadableFileError(
            f"the model was fitted on other features than those of {source.file}. Give what it was fitted on."
        )
    codes, classes = no_labels(len(keys))
    if found.labels is not None and not pd.isna(found.labels).all():
        codes, classes = encode_labels(found.labels, len(keys), classes_max=source.classes_max)
    notes = (f"features: {words}", *graph.notes, *found.notes, *class_notes(codes, classes))
    return Read(graph, found.ids, columns, codes, classes, found.validation, notes)


def _checked_kinds(source: Source, names: Sequence[str], edges: Table) -> dict[str, str]:
    """Return what the user says of columns; raise where one is not there, or the kind does not exist."""
    kinds = dict(source.kinds or {})
    for name, kind in kinds.items():
        if kind not in KINDS:
            raise UnknownNameError("kind of column", kind, KINDS)
        known = edges.names if kind == "weight" else names
        if name not in known:
            raise UnknownNameError("column of the edges" if kind == "weight" else "column of the nodes", name, known)
    twice = next((kind for kind in ("id", "label", "weight") if list(kinds.values()).count(kind) > 1), None)
    if twice:
        raise InvalidParameterError(
            f"only one column can be the {twice}, got {', '.join(k for k in kinds if kinds[k] == twice)}."
        )
    return kinds


def _labels(
    nodes: Table, name: str | None, words: Sequence[str], classes_max: int | None
) -> tuple[Labels, AnyArray, list[str]]:
    """Return class codes, label values, and notes on words that mean unknown or might."""
    if name is None:
        return *no_labels(nodes.rows), []
    if nodes.types[name].endswith("]"):
        raise UnreadableFileError(
            f"{nodes.where}: several classes per node are not read. Give every node one class in {name}."
        )
    cells = pd.Series(nodes.arrays(f"SELECT {nodes.column(name)} AS v FROM {{table}} ORDER BY _row")[0], dtype=object)
    empty = cells.map(str).isin([word for word in words if word]) & cells.notna()
    notes = [
        f"{count:,} cells of {name} hold '{word}' and count as unknown"
        for word, count in cells[empty].value_counts().items()
    ]
    cells = cells.mask(empty | cells.isna(), None)
    if cells.isna().all():
        return *no_labels(nodes.rows), notes
    codes, classes = class_codes(
        cells, texts=nodes.is_text, classes_max=classes_max, where=f"{nodes.where}: column {name}"
    )
    return codes, classes, [*notes, *class_notes(codes, classes)]


def _copies(nodes: Table, columns: Columns, codes: Labels, words: Sequence[str]) -> list[str]:
    """Return notes on columns that alone predict nearly all labels."""
    known, classes, label = int((codes >= 0).sum()), len(codes.unique()), columns.label
    if label is None or known < _ENOUGH:
        return []
    shares = codes[codes >= 0].bincount().sort(descending=True).values.cumsum(0) / known
    notes, given = [], f"{nodes.column(label)}::VARCHAR NOT IN ({', '.join(map(quoted, words))})"
    for one in columns.features:
        most = one.width if one.kind == "category" else 2 if (one.kind, one.scale) == ("number", 1) else 2 * classes
        if one.kind in {"text", "vector"} or most > 2 * classes or shares[min(most, len(shares)) - 1] < _COPY:
            continue  # so few values cannot predict so many classes
        pairs = f"SELECT {nodes.column(one.name)} AS v, count(*) AS n FROM {{table}} WHERE {given} AND v IS NOT NULL"
        best = f"SELECT max(n) AS m, sum(n) AS t FROM ({pairs} GROUP BY v, {nodes.column(label)}) GROUP BY v"
        values, right, total = nodes.all(f"SELECT count(*), sum(m), sum(t) FROM ({best})")[0]
        if values <= 2 * classes and total >= _ENOUGH and right >= _COPY * total:
            notes.append(
                f"column {one.name} alone predicts {right / total:.0%} of the labels: if it was made from {label}, "
                f"leave it out with --column {one.name}=ignore"
            )
    return notes
