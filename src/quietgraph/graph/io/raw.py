"""What a file holds, before columns become features: the common form of all formats."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.errors import UnreadableFileError


@dataclass(frozen=True, eq=False)
class Raw:
    """Nodes, edges and either named columns or a ready matrix.

    Attributes:
        form: The format in words.
        node_ids: As the file has them [nodes] object.
        edges: Positions of both ends [2, edges] int64.
        weights: Of the edges [edges]; None without.
        table: One row per node, without the id; None where the file has no named columns.
        typed: Whether the file itself says which cells are numbers (CSV does not).
        id_column: Name of the id column; None where there is none.
        matrix: Features [nodes, features]; None without.
        labels: Label values [nodes]; None where they are a column, or missing.
        validation: Nodes to choose by [nodes] bool; None where the file does not say.
        notes: What a user should know.
    """

    form: str
    node_ids: np.ndarray[Any, Any]
    edges: np.ndarray[Any, np.dtype[np.int64]]
    weights: Any = None
    table: pd.DataFrame | None = None
    typed: bool = True
    id_column: str | None = None
    matrix: Any = None
    labels: Any = None
    validation: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    notes: tuple[str, ...] = ()


def id_key(value: Any) -> str:
    """Return an id as text, the same for 7, 7.0 and '7', so that files of any kind agree."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def decode_bytes(values: Any, *, where: str) -> np.ndarray[Any, Any]:
    """Return values in which bytes have become the texts they stand for [any] object."""
    given = np.asarray(values, dtype=object)
    try:
        decoded = [one.decode() if isinstance(one, bytes) else one for one in given]
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            f"{where} holds texts that are not UTF-8 (byte 0x{error.object[error.start]:02x}). "
            "Save them again as UTF-8."
        ) from error
    return np.array([*decoded, None], dtype=object)[:-1]  # a value may be a list


def positions_of(ids: Any, *, where: str) -> pd.Index:
    """Return the ids as texts in the order of the nodes; missing or repeated ones are refused."""
    missing = pd.isna(np.asarray(ids, dtype=object))
    keys = pd.Index([id_key(value) for value in ids], dtype=object)
    missing = missing | (keys == "")
    if missing.any():
        raise UnreadableFileError(
            f"{where} must give every node an id, {int(missing.sum())} have none. Fill them in."
        )
    twice = keys[keys.duplicated()]
    if len(twice):
        raise UnreadableFileError(
            f"{where} gives the id '{twice[0]}' to more than one node ({len(twice)} repeats). "
            "Keep one row per node."
        )
    return keys
