"""Annotations from files, tables and matrices, checked: every mistake is one sentence."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.data.annotation_cells import cell_text, is_empty, parse_ranking
from quietgraph.data.annotations import COLUMNS, Annotations, plain_ranks
from quietgraph.data.sources import find_label_file
from quietgraph.errors import InvalidLabelsError, UnknownNameError
from quietgraph.graph.io.labels import class_values
from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.table import FrameTable, open_table
from quietgraph.types import AnyArray

_NAMES: Final = {
    "node": ("node", "id", "node_id", "index", "task"),
    "annotator": ("annotator", "worker", "annotator_id"),
    "label": ("label",),
    "confidence": ("confidence", "probability"),
    "ranking": ("ranking",),
}


def read_annotations(
    source: Any, node_ids: Sequence[Any] | AnyArray, classes: Sequence[Any] | AnyArray | None = None
) -> Annotations:
    """Return the answers of several annotators on the nodes of a graph.

    A long table has the columns node, annotator and label, and may have confidence (0 to 1) or
    ranking (classes, likeliest first, separated by > or |); a row without a label or a ranking is
    no answer. A wide table has a column node and one column per annotator; a matrix has one row
    per node and one column per annotator. Unknown: an empty cell, NaN, None, -1.

    Args:
        source: A CSV or Parquet file, a DataFrame, a matrix, `Annotations`, or a list of the
            first two, whose answers are joined.
        node_ids: Of the nodes [nodes].
        classes: Label values that may occur, in order; without them, those of the answers.
    """
    if isinstance(source, Annotations):
        return source
    many = isinstance(source, list | tuple) and bool(source)
    sources = (
        list(source) if many and isinstance(source[0], str | Path | pd.DataFrame) else [source]
    )
    tables = [_answered(_long_table(one, node_ids), _words(one)) for one in sources]
    return _checked(pd.concat(tables, ignore_index=True), node_ids, classes)


def answer_rows(path: str | Path) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a file of answers as text, in the order of `COLUMNS`.

    A path that leads nowhere is looked for in `real-noise/` of the data folder.
    """
    table = _long_table(find_label_file(path), ())
    cells = [[cell_text(value) for value in table[name]] for name in COLUMNS]
    return tuple(zip(*cells, strict=True))


def _long_table(source: object, node_ids: Sequence[object] | AnyArray) -> pd.DataFrame:
    """Return the answers of one source, one row each, and in `place` where each stands."""
    where = _words(source)
    if isinstance(source, str | Path):
        path = Path(source)
        table = open_table(path, budget_of(str(path), [path], None))
        rows = [row for piece in table.pieces() for row in piece.to_pylist()]
        frame = pd.DataFrame(rows, columns=list(table.names), dtype=object)
    elif isinstance(source, pd.DataFrame | Mapping):
        frame = pd.DataFrame(source)
        FrameTable(frame, where).batches  # refuses columns that are named twice  # noqa: B018
        frame = _with_index(frame)
    else:
        frame = _of_matrix(source, node_ids)
    known = {str(name).strip().lower(): name for name in frame.columns}
    found = {
        column: next((known[name] for name in names if name in known), None)
        for column, names in _NAMES.items()
    }
    if found["node"] is None:
        raise InvalidLabelsError(
            f"{where} must have a column node, got {', '.join(map(str, frame.columns)) or 'none'}."
        )
    if found["annotator"] is None:
        return _of_wide(frame, found["node"], where)
    if found["label"] is None and found["ranking"] is None:
        raise InvalidLabelsError(
            f"{where} must have a column label or ranking beside annotator, got "
            f"{', '.join(map(str, frame.columns))}."
        )
    nothing = [None] * len(frame)
    columns = {name: nothing if key is None else frame[key] for name, key in found.items()}
    return pd.DataFrame(columns, dtype=object).assign(source=where, place=range(len(frame)))


def _with_index(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a DataFrame whose index, if it holds the node ids, is a column."""
    names = {str(name).lower() for name in frame.columns}
    if names & {*_NAMES["node"]}:
        return frame
    return frame.rename_axis(index="node").reset_index()


def _of_matrix(source: object, node_ids: Sequence[object] | AnyArray) -> pd.DataFrame:
    values = np.asarray(source, dtype=object)
    if values.ndim != 2 or len(values) != len(node_ids):
        raise InvalidLabelsError(
            f"a matrix of annotations must have one row per node ({len(node_ids)}) and one column "
            f"per annotator, got shape {values.shape}."
        )
    names = [f"annotator {place}" for place in range(values.shape[1])]
    frame = pd.DataFrame(values, columns=names)
    frame.insert(0, "node", list(node_ids))
    return frame


def _of_wide(frame: pd.DataFrame, node: object, where: str) -> pd.DataFrame:
    names = [name for name in frame.columns if name != node]
    if not names:
        raise InvalidLabelsError(f"{where} has no column of an annotator beside '{node}'.")
    # No melt: an annotator may be called node, place or label.
    answers = [frame[name].to_numpy(dtype=object) for name in names]
    columns = {
        "node": np.tile(frame[node].to_numpy(dtype=object), len(names)),
        "annotator": np.repeat(np.array(list(map(str, names)), dtype=object), len(frame)),
        "label": np.concatenate(answers),
        "place": np.tile(np.arange(len(frame)), len(names)),
    }
    return pd.DataFrame(columns).assign(confidence=None, ranking=None, source=where)


def _answered(table: pd.DataFrame, where: str) -> pd.DataFrame:
    """Return the rows with an answer, rankings as lists; a table without one is refused."""
    rankings = [parse_ranking(cell) for cell in table["ranking"]]
    labels = [
        ranking[0] if is_empty(label) and ranking else label
        for label, ranking in zip(table["label"], rankings, strict=True)
    ]
    there = np.array([not is_empty(label) for label in labels], dtype=bool)
    if not there.any():
        raise InvalidLabelsError(f"{where} holds no answer. Fill in labels of some nodes.")
    parsed = {
        name: pd.Series(cells, table.index, object)
        for name, cells in (("label", labels), ("ranking", rankings))
    }
    return table.assign(**parsed)[there]


def _words(source: object) -> str:
    if isinstance(source, str | Path):
        return str(source)
    kind = "table" if isinstance(source, pd.DataFrame | Mapping) else "matrix"
    return f"the {kind} of annotations"


def _checked(
    table: pd.DataFrame,
    node_ids: Sequence[Any] | AnyArray,
    classes: Sequence[Any] | AnyArray | None,
) -> Annotations:
    labels, rankings = table["label"].tolist(), table["ranking"].tolist()
    named = [name for ranking in rankings for name in ranking]
    values = _class_array([*labels, *named], classes)
    codes = {id_key(name): code for code, name in enumerate(values)}
    names = _names(table)
    nodes = _positions(table, node_ids)
    found = np.array([_code(codes, label, table, row) for row, label in enumerate(labels)])
    ranks = _ranks(rankings, found, codes, table)
    once = _first_answers(table, nodes, names, found)
    order, annotators = np.unique(names, return_inverse=True)
    return Annotations(
        tuple(order.tolist()),
        values,
        len(node_ids),
        nodes[once],
        annotators[once],
        found[once],
        _confidences(table)[once],
        ranks[once],
    )


def _class_array(labels: Sequence[object], classes: Sequence[object] | AnyArray | None) -> AnyArray:
    if classes is not None:
        return np.asarray(classes)
    if any(isinstance(label, list | dict | set) for label in labels):
        raise InvalidLabelsError(
            "a label of an annotator must be one class, got several. Give an order of classes in "
            "a column ranking."
        )
    typed = not all(isinstance(label, str) for label in labels)
    values = class_values(list(dict.fromkeys(labels)), typed=typed)
    different = np.unique(np.array([value for value in values if value is not None]))
    if len(different) < 2:
        raise InvalidLabelsError(
            f"annotations must have at least two classes, got only '{different[0]}'. Label some "
            "nodes of another class."
        )
    return different


def _names(table: pd.DataFrame) -> AnyArray:
    names = [("" if is_empty(name) else id_key(name).strip()) for name in table["annotator"]]
    for row, name in enumerate(names):
        if not name:
            raise InvalidLabelsError(
                f"{_place(table, row)} has a label but no annotator. Say who gave it."
            )
    return np.array(names)


def _positions(table: pd.DataFrame, node_ids: Sequence[object] | AnyArray) -> AnyArray:
    places = pd.Index([id_key(node) for node in node_ids], dtype=object)
    keys = [id_key(node) for node in table["node"]]
    nodes = places.get_indexer(pd.Index(keys, dtype=object))
    unknown = np.flatnonzero(nodes < 0)
    if len(unknown):
        more = f" ({len(unknown)} such answers)" if len(unknown) > 1 else ""
        raise InvalidLabelsError(
            f"{_place(table, unknown[0])} is about the node '{keys[unknown[0]]}', which is not in "
            f"the graph{more}. Check the ids."
        )
    return np.asarray(nodes, dtype=np.int64)


def _code(codes: Mapping[str, int], label: object, table: pd.DataFrame, row: int) -> int:
    code = codes.get(id_key(label))
    if code is None:
        raise UnknownNameError("class", id_key(label), codes, where=_place(table, row))
    return code


def _ranks(
    rankings: Sequence[Sequence[object]],
    labels: AnyArray,
    codes: Mapping[str, int],
    table: pd.DataFrame,
) -> AnyArray:
    ranks = plain_ranks(labels, len(codes))
    for row, ranking in enumerate(rankings):
        places = list(dict.fromkeys(_code(codes, name, table, row) for name in ranking))
        if places and places[0] != labels[row]:
            raise InvalidLabelsError(
                f"{_place(table, row)} has another label than the first class of its ranking. "
                "Leave one of the two out."
            )
        ranks[row, places] = np.arange(len(places))
    return ranks


def _confidences(table: pd.DataFrame) -> AnyArray:
    cells = [None if is_empty(cell) else cell for cell in table["confidence"]]
    values = pd.to_numeric(pd.Series(cells, dtype=object), errors="coerce").to_numpy(float)
    for row in np.flatnonzero([cell is not None for cell in cells]).tolist():
        if not 0 <= values[row] <= 1:  # also catches NaN
            raise InvalidLabelsError(
                f"{_place(table, row)} has the confidence '{cells[row]}'; it must be a number "
                "between 0 and 1. Write 0.85 for 85 %."
            )
    return values


def _first_answers(
    table: pd.DataFrame, nodes: AnyArray, names: AnyArray, labels: AnyArray
) -> AnyArray:
    """Return the rows to keep, one per node and annotator; two different answers are refused."""
    answers = pd.DataFrame({"node": nodes, "annotator": names})
    repeated = answers.duplicated().to_numpy()
    first = answers.groupby(["node", "annotator"], sort=False).ngroup().to_numpy()
    original = labels[~repeated][first]
    for row in np.flatnonzero(original != labels).tolist():
        raise InvalidLabelsError(
            f"{_place(table, row)} contradicts an earlier answer of the annotator "
            f"'{names[row]}' on the node '{id_key(table['node'][row])}'. Keep one of the two."
        )
    return np.flatnonzero(~repeated)


def _place(table: pd.DataFrame, row: int) -> str:
    source, place = table["source"][row], table["place"][row]
    return f"{source}, answer {int(place) + 1}"
