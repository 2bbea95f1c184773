"""The table of nodes in a stream: ids and labels are kept, columns become features."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from quietgraph.errors import InvalidParameterError, UnreadableFileError
from quietgraph.graph.io.cells import as_texts, read_cells
from quietgraph.graph.io.columns import FEATURE_KINDS, Column, check_roles
from quietgraph.graph.io.encoding import Encoding
from quietgraph.graph.io.labels import LABEL_NAMES, class_values
from quietgraph.graph.io.learn import Learner
from quietgraph.graph.io.limits import FEATURE, NODE, Budget
from quietgraph.graph.io.raw import plain_values, positions_of
from quietgraph.graph.io.table import Table
from quietgraph.types import AnyArray

ID_NAMES: Final = ("id", "node", "node_id")
OUR_COLUMNS: Final = "quietgraph_"  # columns of this beginning were written by us: no features


@dataclass(frozen=True)
class Options:
    """What a user says of a source.

    Attributes:
        roles: Kind of some columns by name.
        unknown: Words that mean unknown, in labels and features.
        drop_dangling: Whether edges to ids that are no nodes are left out.
        budget: What reading may take.
        encoding: How columns became features before; None to look at the columns.
        folder: Where the arrays go; None to hold them in memory.
    """

    budget: Budget
    roles: Mapping[str, str]
    unknown: tuple[str, ...] = ()
    drop_dangling: bool = False
    encoding: Encoding | None = None
    folder: Path | None = None


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is kept of the nodes in memory.

    Attributes:
        ids: As the file has them [nodes] object.
        keys: The same as texts, to find them by.
        labels: Label values, None = unknown [nodes] object.
        label_column: Where they come from; None without.
        columns: What the columns become; empty where there are none, or where this is known.
        notes: What a user should know.
    """

    ids: AnyArray
    keys: pd.Index
    labels: AnyArray
    label_column: str | None = None
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()


def read_nodes(
    table: Table, options: Options, id_column: str | None, *, ids: Iterable[object] | None = None
) -> Nodes:
    """Return ids, labels and what the columns become; of a grown graph the ids alone.

    Args:
        table: One row per node.
        options: What the user says.
        id_column: Name of the id column; None where `ids` are given instead.
        ids: One per row.
    """
    learn = options.encoding is None
    check_roles(options.roles, table.names, where=table.where.rpartition("/")[2])
    label = pick_label(table.names, options.roles) if learn else None
    learners = _learners(table, options, {id_column, label, ""}) if learn else []
    found: list[object] = []
    label_codes = _LabelCodes()
    for piece in table.pieces():
        if id_column is not None:
            found += plain_values(piece.column(id_column), id_column)
        codes = label_codes.add(piece.column(label)) if label is not None else None
        options.budget.check("nodes", max(len(found), len(label_codes)), NODE)
        for one in learners:
            one.look(read_cells(piece.column(one.name), one.name, options.unknown), codes)
    found = list(found if ids is None else ids)
    if not found:
        raise UnreadableFileError(f"{table.where} has no rows. Put one row per node in it.")
    keys = positions_of(found, where=table.where)
    classes = class_values(label_codes.values, typed=table.typed, unknown=options.unknown)
    labels = np.full(len(found), None, dtype=object)
    if label is not None:
        labels = np.array([*classes, None], dtype=object)[label_codes.result()]
    notes = ["the column without a name is ignored"] if "" in table.names and learn else []
    columns = _finish(table, learners, options, notes)
    known = [value is not None for value in classes]
    notes += [note for one in learners for note in _warn_of_copy(one, label, known)]
    ids_as_given = np.array([*found, None], dtype=object)[:-1]  # an id may be a tuple
    return Nodes(ids_as_given, keys, labels, label, tuple(columns), tuple(notes))


def _learners(table: Table, options: Options, taken: set[str | None]) -> list[Learner]:
    learners = []
    for name in table.names:
        kind = options.roles.get(name)
        ours = name.startswith(OUR_COLUMNS) and kind is None
        if name not in taken and not ours and (kind is None or kind in FEATURE_KINDS):
            learners.append(Learner(name, kind, typed=table.typed))
    return learners


def _finish(
    table: Table, learners: list[Learner], options: Options, notes: list[str]
) -> list[Column]:
    """Return what columns become, once all rows were looked at."""
    doubtful = [one for one in learners if one.is_doubtful]
    for piece in table.pieces() if doubtful else ():
        for one in doubtful:
            one.look_again(read_cells(piece.column(one.name), one.name, options.unknown))
    decided = [(one, one.decide()) for one in learners]
    holding = [one for one, holds in decided if holds]
    notes += [f"column {one.name} is empty and not used" for one, holds in decided if not holds]
    options.budget.check("features", sum(one.num_features for one in holding), FEATURE)
    for piece in table.pieces() if holding else ():
        for one in holding:
            array, plain = piece.column(one.name), one.is_plain
            one.count(read_cells(array, one.name, options.unknown, numbers=plain))
    return [one.column() for one in holding]


def _warn_of_copy(one: Learner, label: str | None, known: Sequence[bool]) -> list[str]:
    accuracy = one.label_accuracy(known)
    if not accuracy:
        return []
    return [
        f"column {one.name} alone predicts {accuracy:.0%} of the labels: if it was made from "
        f"{label}, leave it out with --column {one.name}=ignore"
    ]


class _LabelCodes:
    """The labels of all rows as places in a list of the different values."""

    def __init__(self) -> None:
        self.values: list[object] = []
        self._places: dict[object, int] = {}
        self._codes: list[AnyArray] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def add(self, cells: pa.Array) -> AnyArray:
        """Take in the cells of some rows; return their codes, -1 where empty."""
        if pa.types.is_nested(cells.type) and not pa.types.is_dictionary(cells.type):
            raise UnreadableFileError(
                f"labels must be one class per node, got {cells.type}. Give every node one class; "
                "several classes per node are not read."
            )
        encoded = cells if pa.types.is_dictionary(cells.type) else cells.dictionary_encode()
        values = encoded.dictionary
        if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
            values = as_texts(values, "label")
        local = []
        for value in values.to_pylist():
            if value not in self._places:
                self._places[value] = len(self.values)
                self.values.append(value)
            local.append(self._places[value])
        inside = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        codes: AnyArray = np.array([*local, -1], dtype=np.int64)[inside]
        self._codes.append(codes)
        self._rows += len(codes)
        return codes

    def result(self) -> AnyArray:
        """Return the codes of all rows."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self._codes])


def pick_id(names: Sequence[str], roles: Mapping[str, str]) -> str:
    """Return the name of the id column: as the user says, a usual one, or the first."""
    named = [name for name in names if roles.get(name) == "id"]
    usual = [name for name in names if name.lower() in ID_NAMES and name not in roles]
    free = [name for name in names if name not in roles]
    return (named + usual + free + list(names))[0]


def pick_label(names: Sequence[str], roles: Mapping[str, str]) -> str | None:
    """Return the name of the label column: as the user says, or a usual one; None without."""
    named = [name for name, kind in roles.items() if kind == "label"]
    if len(named) > 1:
        raise InvalidParameterError(f"only one column can be the label, got {', '.join(named)}.")
    usual = {name.lower(): name for name in names if name not in roles}
    found = [usual[name] for name in LABEL_NAMES if name in usual]
    return (named + found + [""])[0] or None
