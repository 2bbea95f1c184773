"""Labels as files give them: whole numbers or texts, None where unknown."""

import re
import shlex
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.errors import InvalidLabelsError
from quietgraph.graph.io.cells import MISSING_WORDS
from quietgraph.types import UNKNOWN, AnyArray, LabelValue

LABEL_NAMES: Final = ("label", "class", "y", "target")
_WHOLE = re.compile(r"[+-]?\d+(\.0*)?")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?")
_CODE = re.compile(r"[+-]?0\d+")  # 007 is a name, not seven
FEW_LABELS: Final = 5  # of a class, below which little can be learned of it
_MAY_BE_UNKNOWN: Final = {
    "?", "??", "???", "-", "--", "tbd", "todo", "unknown", "unlabeled", "unlabelled", "undefined",
    "unspecified", "unassigned", "uncategorized", "uncategorised", "pending", "missing", "no label",
    "not set", "not available",
}  # fmt: skip


def read_labels(values: object, *, typed: bool, unknown: Sequence[str] = ()) -> AnyArray:
    """Return the labels [nodes] object: all whole numbers or all texts, None = unknown.

    Args:
        values: One per node; empty, NaN, 'NA' and the like, and the number -1 are unknown.
        typed: Whether the values' types are meant; texts that look like numbers are numbers if
            not.
        unknown: More words for unknown.
    """
    given = np.asarray(values, dtype=object)
    if given.ndim != 1:
        raise InvalidLabelsError(
            f"labels must be one class per node, got shape {given.shape}. "
            "Turn one-hot rows into class numbers first; several classes per node are not read."
        )
    codes, found = pd.factorize(given)  # None and NaN become -1
    classes = class_values(found.tolist(), typed=typed, unknown=unknown)
    labels: AnyArray = np.array([*classes, None], dtype=object)[codes]
    return labels


def class_values(
    values: Sequence[object], *, typed: bool, unknown: Sequence[str] = ()
) -> list[object]:
    """Return what each different value of a label column stands for; None = unknown."""
    empty = {*MISSING_WORDS, *(word.lower() for word in unknown)}
    known = [
        place
        for place, value in enumerate(values)
        if not _is_nan(value) and str(value).lower() not in empty
    ]
    # Python's own numbers, which JSON knows.
    found: Sequence[LabelValue] = [_plain(values[place]) for place in known]
    if found and not (typed and isinstance(found[0], str)):
        found = _whole_numbers(found)
    classes: list[object] = [None] * len(values)
    for place, value in zip(known, found, strict=True):
        is_unknown = not isinstance(value, str) and value == UNKNOWN
        classes[place] = None if is_unknown else value
    return classes


def warn_of_classes(classes: dict[str, int]) -> list[str]:
    """Return notes on classes that may mean unknown, and on those with too few labels."""
    return [*_warn_of_unknown(classes), *_warn_of_rare(classes)]


def _warn_of_unknown(classes: dict[str, int]) -> list[str]:
    return [
        f"{count:,} labels are {name!r}, a class like any other here; if it means that the label "
        f"is unknown, add --unknown {shlex.quote(name)}"
        for name, count in classes.items()
        if name.strip().lower() in _MAY_BE_UNKNOWN
    ]


def _warn_of_rare(classes: dict[str, int]) -> list[str]:
    rare = [name for name, count in classes.items() if count < FEW_LABELS]
    if not rare:
        return []
    shown = ", ".join(rare[:5]) + (", ..." if len(rare) > 5 else "")
    return [
        f"{len(rare)} of {len(classes)} classes have fewer than {FEW_LABELS} labels ({shown}): "
        "little can be learned of them"
    ]


def _is_nan(value: Any) -> bool:
    missing = pd.isna(value)
    return bool(missing) if np.ndim(missing) == 0 else False


def _plain(value: object) -> LabelValue:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bytes):
        try:
            return plain.decode()
        except UnicodeDecodeError as error:
            raise InvalidLabelsError("labels are not UTF-8 texts. Save them as UTF-8.") from error
    if isinstance(plain, bool | int | float | str):
        return plain
    if isinstance(plain, complex | list | dict | tuple) or np.ndim(np.asarray(plain)):
        raise InvalidLabelsError(
            f"labels must be whole numbers or texts, got {type(plain).__name__}. Give every node "
            "one class; several classes per node are not read."
        )
    return str(plain)  # a date, a decimal number


def _whole_numbers(found: Sequence[LabelValue]) -> Sequence[LabelValue]:
    """Return integers where all are whole numbers, the values as they are otherwise."""
    texts = [_digits(value) for value in found]
    if any(_CODE.fullmatch(text) for text in texts) or not all(map(_NUMBER.fullmatch, texts)):
        strange = [value for value in found if isinstance(value, float)]
        if strange:
            raise _no_classes(strange[0])
        return found
    broken = [text for text in texts if not _WHOLE.fullmatch(text)]
    if broken:
        raise _no_classes(float(broken[0]))
    if any(len(text) > 18 for text in texts):  # no 64-bit integers: names made of digits
        return texts
    return [int(text.partition(".")[0]) for text in texts]


def _digits(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def _no_classes(value: float) -> InvalidLabelsError:
    return InvalidLabelsError(
        f"labels must be classes, but there are fractions ({value:g}). "
        "Name another column, or turn numbers into classes first."
    )
