"""What a file holds, before columns become features: the common form of all formats."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.cells import as_texts
from quietgraph.graph.io.table import Table
from quietgraph.types import AnyArray, BoolArray

# Positions of both ends and the weights of some edges; None where all weigh 1.
EdgeBlocks: TypeAlias = Iterator[tuple[AnyArray, AnyArray, AnyArray | None]]


@dataclass(frozen=True, eq=False)
class Raw:
    """Nodes, edges and either named columns or a ready matrix.

    Attributes:
        form: The format in words.
        where: The file, for messages.
        edges: Gives the edges block by block, once the ids of the nodes are known as texts.
        num_edges: About how many there are.
        ids: Of the nodes [nodes]; None where they are a column of the table.
        table: One row per node; None where the file has no named columns.
        id_column: Name of the id column; None where there is none.
        matrix: Features [nodes, features]; None without.
        labels: Label values [nodes]; None where they are a column, or missing.
        validation: Validation nodes [nodes] bool; None where the file does not say.
        notes: What a user should know; filled while the edges are read.
    """

    form: str
    where: str
    edges: Callable[[pd.Index], EdgeBlocks]
    num_edges: int
    notes: list[str]
    ids: Sequence[object] | AnyArray | None = None
    table: Table | None = None
    id_column: str | None = None
    matrix: Any = None
    labels: AnyArray | None = None
    validation: BoolArray | None = None


def id_key(value: object) -> str:
    """Return an id as text, the same for 7, 7.0 and '7', so that files of any kind agree."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def plain_values(array: pa.Array, name: str) -> list[object]:
    """Return the values of an Arrow array; bytes as texts, equal texts as one object."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        values = [*plain_values(array.dictionary, name), None]
        places = array.indices.fill_null(len(values) - 1).to_pylist()
        return [values[place] for place in places]
    found: list[object] = (as_texts(array, name) if pa.types.is_binary(kind) else array).to_pylist()
    return found


def id_texts(array: pa.Array, name: str) -> AnyArray:
    """Return a column of ids as texts [rows] object; an empty cell is an empty text."""
    if pa.types.is_string(array.type) or pa.types.is_integer(array.type):
        texts: AnyArray = array.cast(pa.string()).fill_null("").to_numpy(zero_copy_only=False)
        return texts
    values = ["" if one is None else id_key(one) for one in plain_values(array, name)]
    return np.array([*values, None], dtype=object)[:-1]


def positions_of(ids: Sequence[object], *, where: str) -> pd.Index:
    """Return the ids as texts in the order of the nodes; missing or repeated ones are refused."""
    missing = sum(value is None or value == "" or value != value for value in ids)  # noqa: PLR0124
    keys = pd.Index([id_key(value) for value in ids], dtype=object)
    if missing:
        raise UnreadableFileError(
            f"{where} must give every node an id, {missing} have none. Fill them in."
        )
    twice = keys[keys.duplicated()]
    if len(twice):
        raise UnreadableFileError(
            f"{where} gives the id '{twice[0]}' to more than one node ({len(twice)} repeats). "
            "Keep one row per node."
        )
    return keys
