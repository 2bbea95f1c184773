"""Own tables and arrays as a graph with labels: which column is what, and what was understood."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from pydantic import BaseModel, ConfigDict, ValidationError

from quietgraph.data.labels import class_codes, encode_labels, enumerate_words
from quietgraph.errors import InvalidGraphError, InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.graph import Graph
from quietgraph.graph.io.arrays import read_arrays
from quietgraph.graph.io.columns import Column, check_columns, learn_columns
from quietgraph.graph.io.edges import fill_edges, ids_of_edges, pick_ends, read_edges
from quietgraph.graph.io.encode import Allocate, encode
from quietgraph.graph.io.structure import choose_landmarks, structural_features
from quietgraph.graph.io.tables import ID, MISSING, Table, id_keys, open_database, open_table, quoted
from quietgraph.graph.sparse import CSR
from quietgraph.types import UNKNOWN, AnyArray, BoolArray, Labels

KINDS: Final = ("label", "id", "weight", "number", "date", "category", "text", "vector", "ignore")
ID_NAMES: Final = ("id", "node", "node_id")
LABEL_NAMES: Final = ("label", "class", "y", "target")
OURS: Final = "quietgraph_"  # columns of this beginning were written by us: no features
_BOUNDED: Final = "500MB"  # memory of the database where arrays go to files
_STRUCTURE: Final = "none given, so the structure: log degree, PageRank, walks to {} landmarks"
_FEW_LABELS: Final = 5  # of a class, below which little can be learned of it
_COPY: Final = 0.97  # share of the labels that a column must predict to be called a copy
_MAY_BE_UNKNOWN: Final = {
    "?", "??", "???", "-", "--", "-1", "k.a.", "none", "tbd", "todo", "unknown", "unlabeled", "unlabelled", "undefined",
    "unspecified", "unassigned", "uncategorized", "uncategorised", "pending", "missing", "no label", "not set",
    "not available",
}  # fmt: skip


class Columns(BaseModel):
    """Where the features of a graph come from, learned once, so that a grown graph is read the same way.

    Attributes:
        kind: Columns of a table, a ready matrix, or the structure of the graph itself.
        features: What each column became, in the order of the features.
        landmarks: Ids of the nodes that structural features are measured from.
        id: Name of the id column; None where there is none.
        label: Name of the label column; None where there is none.
        weight: Name of the column of edge weights that the user chose.
        missing: Words for unknown that the user added.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    kind: Literal["columns", "matrix", "structure"]
    features: tuple[Column, ...] = ()
    landmarks: tuple[str, ...] = ()
    id: str | None = None
    label: str | None = None
    weight: str | None = None
    missing: tuple[str, ...] = ()


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
    """How a graph of one's own is read.

    Attributes:
        nodes: Table of nodes: a path, a DataFrame, or None where the edges are all there is.
        edges: Table of edges: a path or a DataFrame.
        file: Instead of both: a file of arrays, or a converted folder.
        ids: Instead of the ids of the table: the nodes of a NetworkX graph.
        kinds: Kind of some columns, as the user says.
        missing: Words for unknown beside the usual ones.
        drop_dangling: Whether edges to ids that are no nodes are left out.
        classes_max: Number of classes that is right though nearly every label has its own.
        columns: How columns became features; None before the first reading.
    """

    nodes: Path | pd.DataFrame | None = None
    edges: Path | pd.DataFrame | None = None
    file: Path | None = None
    ids: AnyArray | None = None
    kinds: Mapping[str, str] | None = None
    missing: tuple[str, ...] = ()
    drop_dangling: bool = False
    classes_max: int | None = None
    columns: Columns | None = None

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
            return _read_arrays(self, columns)
        if self.edges is None:
            raise InvalidParameterError("a graph needs edges: give a folder or file, or nodes and edges.")
        with open_database("70%" if allocate is None else _BOUNDED) as db:
            edges = open_table(db, "edges", self.edges)
            if self.nodes is None:
                return _read_edges_alone(self, edges, columns, make)
            return _read_tables(self, open_table(db, "nodes", self.nodes), edges, columns, make)


def _read_tables(source: Source, nodes: Table, edges: Table, columns: Columns | None, allocate: Allocate) -> Read:
    kinds = _checked_kinds(source, nodes.names, edges)
    words = (*MISSING, *source.missing)
    id_name = columns.id if columns and columns.id in nodes.names else _pick_id(nodes.names, kinds)
    label = _pick_label(nodes.names, kinds) if columns is None else None
    used = [one.name for one in columns.features if one.name in nodes.names] if columns else [
        name
        for name in nodes.names
        if name not in {id_name, label, ""} and kinds.get(name) != "ignore" and (name in kinds or not name.startswith(OURS))
    ]  # fmt: skip
    nodes.fill([*dict.fromkeys([id_name, *([label] if label else []), *used])], raw=(id_name, label), missing=words)
    ids = _ids(nodes, id_name)
    codes, classes, notes = _labels(nodes, label, words, source.classes_max)
    ends = pick_ends(edges, _weight(kinds, columns, edges))
    fill_edges(edges, ends)
    adjacency, edge_notes = read_edges(edges, ends, nodes.rows, allocate, drop_dangling=source.drop_dangling)
    if columns is None:
        learned, empty = learn_columns(nodes, used, kinds)
        notes = [*(["the column without a name is ignored"] if "" in nodes.names else []), *empty, *notes]
        notes += _copies(nodes, learned, label, codes, words)
        facts = {"id": id_name, "label": label, "weight": _weight(kinds, None, edges), "missing": source.missing}
        columns = Columns(kind="columns" if learned else "structure", features=tuple(learned), **facts)
    if columns.kind == "matrix":
        raise UnreadableFileError(
            f"the model was fitted on a matrix of features, and {nodes.where} has none. Give .npz or .pt."
        )
    if columns.kind == "structure":
        keys = nodes.arrays("SELECT key FROM ids ORDER BY code")[0]
        features, columns = _structure(adjacency, keys, columns)
        words_of = [_STRUCTURE.format(len(columns.landmarks))]
    else:
        notes += check_columns(nodes, columns.features)
        features, words_of = encode(nodes, columns.features, allocate), [str(column) for column in columns.features]
    sentences = (f"features: {enumerate_words(words_of)}", *edge_notes[:1], *edge_notes[1:], *notes)
    return Read(
        Graph(features, adjacency),
        source.ids if source.ids is not None else ids,
        columns,
        codes,
        classes,
        None,
        sentences,
    )


def _read_edges_alone(source: Source, edges: Table, columns: Columns | None, allocate: Allocate) -> Read:
    """Return the graph of all ids in a table of edges, with features of its structure."""
    kinds = _checked_kinds(source, [], edges)
    ends = pick_ends(edges, _weight(kinds, columns, edges))
    fill_edges(edges, ends)
    ids_of_edges(edges, ends)
    keys = edges.arrays("SELECT key FROM ids ORDER BY code")[0]
    if not len(keys):
        raise UnreadableFileError(f"{edges.where} has no rows. Put one edge in each.")
    adjacency, notes = read_edges(edges, ends, len(keys), allocate, drop_dangling=False)
    found = columns or Columns(kind="structure", weight=_weight(kinds, None, edges))
    if found.kind != "structure":
        raise UnreadableFileError(
            "the model was fitted with features of nodes, and these are edges alone. Give nodes, too."
        )
    features, found = _structure(adjacency, keys, found)
    words = f"features: {_STRUCTURE.format(len(found.landmarks))}"
    return Read(Graph(features, adjacency), keys, found, *_no_labels(len(keys)), None, (words, *notes))


def _read_arrays(source: Source, columns: Columns | None) -> Read:
    """Return the graph of a `.npz` or `.pt` file."""
    assert source.file is not None
    if source.kinds:
        raise InvalidParameterError(f"{source.file} has no named columns, so --column does not apply.")
    found = read_arrays(source.file)
    keys = id_keys(found.ids)
    if len({*keys}) < len(keys):
        twice = next(iter(pd.Index(keys)[pd.Index(keys).duplicated()]))
        raise UnreadableFileError(f"{source.file} has the id '{twice}' again. Keep one row per node.")
    features = np.ones((len(keys), 1)) if found.features is None else found.features
    graph = Graph.from_arrays(features, found.edges, weights=found.weights)
    if found.features is None:
        made, columns = _structure(graph.adjacency, np.array(keys, object), columns or Columns(kind="structure"))
        graph, words = graph.with_features(made), _STRUCTURE.format(len(columns.landmarks))
    else:
        words, columns = f"a matrix of {graph.num_features:,} columns", columns or Columns(kind="matrix")
    if (columns.kind == "structure") != (found.features is None) or columns.kind == "columns":
        raise UnreadableFileError(
            f"the model was fitted on other features than those of {source.file}. Give what it was fitted on."
        )
    codes, classes = _no_labels(len(keys))
    if found.labels is not None and not pd.isna(found.labels).all():
        codes, classes = encode_labels(found.labels, len(keys), classes_max=source.classes_max)
    notes = (f"features: {words}", *graph.notes, *found.notes, *_class_notes(codes, classes))
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


def _pick_id(names: Sequence[str], kinds: Mapping[str, str]) -> str:
    """Return the name of the id column: as the user says, a usual one, or the first."""
    named = [name for name in names if kinds.get(name) == "id"]
    free = [name for name in names if name not in kinds]
    return [*named, *(name for name in free if name.lower() in ID_NAMES), *free, *names][0]


def _pick_label(names: Sequence[str], kinds: Mapping[str, str]) -> str | None:
    """Return the name of the label column: as the user says, or a usual one; None without."""
    named = [name for name, kind in kinds.items() if kind == "label"]
    usual = {name.lower(): name for name in names if name not in kinds}
    return next(iter([*named, *(usual[name] for name in LABEL_NAMES if name in usual)]), None)


def _weight(kinds: Mapping[str, str], columns: Columns | None, edges: Table) -> str | None:
    named = next((name for name, kind in kinds.items() if kind == "weight"), columns.weight if columns else None)
    return named if named in edges.names else None


def _ids(nodes: Table, name: str) -> AnyArray:
    """Make the table `ids` of the database; return the ids as the file has them."""
    if not nodes.rows:
        raise UnreadableFileError(f"{nodes.where} has no rows. Put one row per node in it.")
    column = nodes.column(name)
    nodes.all(f"CREATE TABLE ids AS SELECT {ID.format(column)} AS key, _row AS code FROM {{table}}")
    missing, row = nodes.all("SELECT count(*), min(code) FROM ids WHERE key IS NULL")[0]
    if missing:
        raise UnreadableFileError(
            f"{nodes.where} {nodes.place(row)} has no id ({missing} such rows). Give every node one."
        )
    twice = nodes.all("SELECT key, min(code), max(code) FROM ids GROUP BY key HAVING count(*) > 1 ORDER BY 3 LIMIT 1")
    if twice:
        raise UnreadableFileError(
            f"{nodes.where} {nodes.place(twice[0][2])} has the id '{twice[0][0]}' again (first {nodes.place(twice[0][1])}). Keep one row "
            "per node."
        )
    return nodes.arrays(f"SELECT {column} AS id FROM {{table}} ORDER BY _row")[0]


def _no_labels(nodes: int) -> tuple[Labels, AnyArray]:
    return torch.full((nodes,), UNKNOWN), np.empty(0, dtype=object)


def _labels(
    nodes: Table, name: str | None, words: Sequence[str], classes_max: int | None
) -> tuple[Labels, AnyArray, list[str]]:
    """Return class codes, label values, and notes on words that mean unknown or might."""
    if name is None:
        return *_no_labels(nodes.rows), []
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
        return *_no_labels(nodes.rows), notes
    codes, classes = class_codes(
        cells, texts=nodes.is_text, classes_max=classes_max, where=f"{nodes.where}: column {name}"
    )
    return codes, classes, [*notes, *_class_notes(codes, classes)]


def _class_notes(codes: Labels, classes: AnyArray) -> list[str]:
    """Return notes on classes that may mean unknown, and on those with too few labels."""
    counts = dict(
        zip(map(str, classes), torch.bincount(codes[codes >= 0], minlength=len(classes)).tolist(), strict=True)
    )
    notes = [
        f"{count:,} labels are {name!r}, a class like any other here; if it means that the label is unknown, add "
        f"--missing {shlex.quote(name)}"
        for name, count in counts.items()
        if name.strip().lower() in _MAY_BE_UNKNOWN
    ]
    rare = [name for name, count in counts.items() if count < _FEW_LABELS]
    if not rare:
        return notes
    shown = ", ".join(rare[:5]) + (", ..." if len(rare) > 5 else "")
    return [
        *notes,
        f"{len(rare)} of {len(counts)} classes have fewer than {_FEW_LABELS} labels ({shown}): little can be learned of them",
    ]


def _copies(nodes: Table, columns: Sequence[Column], label: str | None, codes: Labels, words: Sequence[str]) -> list[str]:
    """Return notes on columns that alone predict nearly all labels."""
    known, classes = int((codes >= 0).sum()), len(codes.unique())
    if label is None or known < 2 * _FEW_LABELS:
        return []
    shares = codes[codes >= 0].bincount().sort(descending=True).values.cumsum(0) / known
    notes, given = [], f"{nodes.column(label)} NOT IN ({', '.join(map(quoted, words))})"
    for one in columns:
        most = one.width if one.kind == "category" else 2 if (one.kind, one.scale) == ("number", 1) else 2 * classes
        if one.kind in {"text", "vector"} or most > 2 * classes or shares[min(most, len(shares)) - 1] < _COPY:
            continue  # so few values cannot predict so many classes
        pairs = f"SELECT {nodes.column(one.name)} AS v, count(*) AS n FROM {{table}} WHERE {given} AND v IS NOT NULL"
        best = f"SELECT max(n) AS m, sum(n) AS t FROM ({pairs} GROUP BY v, {nodes.column(label)}) GROUP BY v"
        values, right, total = nodes.all(f"SELECT count(*), sum(m), sum(t) FROM ({best})")[0]
        if values <= 2 * classes and total >= 2 * _FEW_LABELS and right >= _COPY * total:
            notes.append(
                f"column {one.name} alone predicts {right / total:.0%} of the labels: if it was made from {label}, leave it "
                f"out with --column {one.name}=ignore"
            )
    return notes


def _structure(adjacency: CSR, keys: AnyArray, columns: Columns) -> tuple[torch.Tensor, Columns]:
    """Return features of the structure of a graph, and the landmarks that they are measured from."""
    if not adjacency.num_entries:
        raise InvalidGraphError(
            f"the graph of {len(keys)} nodes has neither features nor edges, so there is nothing to learn from. Add one of them."
        )
    if not columns.landmarks:
        columns = columns.model_copy(update={"landmarks": tuple(keys[choose_landmarks(adjacency)])})
    places = pd.Index(keys).get_indexer(pd.Index(columns.landmarks))
    linked = (places >= 0) & (adjacency.row_counts.numpy()[places] > 0)
    if not linked.all():
        raise UnreadableFileError(
            f"the node '{columns.landmarks[int(np.argmin(linked))]}' must still be there with its edges: places in the graph are "
            "measured from it. Give the grown graph, not the new part alone."
        )
    return torch.from_numpy(structural_features(adjacency, places)), columns
