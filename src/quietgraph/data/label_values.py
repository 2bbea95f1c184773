"""Label values: any scalar that can be compared, hashed and written down."""

import datetime
import decimal
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.errors import InvalidLabelsError
from quietgraph.types import AnyArray

_KIND, _VALUE = "kind", "value"
# Kinds that JSON does not have: type, how it is written, how it is read.
_WRITTEN: Final[dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]]] = {
    "timestamp": (pd.Timestamp, lambda one: one.isoformat(), pd.Timestamp),
    "datetime": (datetime.datetime, lambda one: one.isoformat(), datetime.datetime.fromisoformat),
    "date": (datetime.date, lambda one: one.isoformat(), datetime.date.fromisoformat),
    "time": (datetime.time, lambda one: one.isoformat(), datetime.time.fromisoformat),
    "bytes": (bytes, lambda one: one.hex(), bytes.fromhex),
    "decimal": (decimal.Decimal, str, decimal.Decimal),
    "uuid": (uuid.UUID, str, uuid.UUID),
    "tuple": (
        tuple,
        lambda one: [_to_json(part) for part in one],
        lambda one: tuple(_from_json(part) for part in one),
    ),
}
_PLAIN: Final = (bool, int, float, str)


def label_array(values: Sequence[object]) -> AnyArray:
    """Return values as an array that keeps each of them, be it 2^63 + 1 or a tuple [values]."""
    if not any(isinstance(value, tuple) for value in values):
        array = np.array(values)
        if array.dtype.kind not in "USiufc" or set(array.tolist()) == set(values):
            return array
    kept = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        kept[place] = value
    return kept


def classes_to_json(classes: AnyArray) -> object:
    """Return label values as JSON values; those of `classes_from_json` are the same."""
    if classes.dtype.kind == "M":
        return {_KIND: str(classes.dtype), _VALUE: classes.astype(np.int64).tolist()}
    return [_to_json(value) for value in classes.tolist()]


def classes_from_json(written: object) -> AnyArray:
    """Return the label values that `classes_to_json` wrote; ValueError where it did not."""
    if isinstance(written, dict):
        if not str(written[_KIND]).startswith("datetime64["):
            raise ValueError(f"labels of no known kind: {written[_KIND]}")
        found = np.array(written[_VALUE], dtype=np.int64).astype(written[_KIND])
    elif isinstance(written, list):
        found = label_array([_from_json(value) for value in written])
    else:
        raise TypeError("no list of classes")
    if len(set(found.tolist())) < found.size:
        raise ValueError("a class is there twice")
    return found


def check_kinds(classes: AnyArray) -> None:
    """Raise where a label is of a kind that a model could not be saved with."""
    if classes.dtype.kind == "M":
        return
    for value in classes.tolist():
        _to_json(value)


def _to_json(value: object) -> object:
    plain = value.item() if isinstance(value, np.generic) else value
    if type(plain) in _PLAIN:
        return plain
    for name, (kind, write, _) in _WRITTEN.items():
        if type(plain) is kind:
            return {_KIND: name, _VALUE: write(plain)}
    known = ", ".join((*(kind.__name__ for kind in _PLAIN), *_WRITTEN))
    raise InvalidLabelsError(
        f"labels must be of one of the kinds {known}, got {type(plain).__name__}. "
        "Convert them, for example with str()."
    )


def _from_json(written: object) -> object:
    if not isinstance(written, dict):
        if type(written) not in _PLAIN:
            raise TypeError("a class is no value")
        return written
    return _WRITTEN[written[_KIND]][2](written[_VALUE])
