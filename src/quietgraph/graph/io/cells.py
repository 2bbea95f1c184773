"""Cells of one column: numbers, texts as places in a list of distinct ones, or vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from quietgraph.errors import UnreadableFileError
from quietgraph.types import BoolArray, FloatArray, IntArray

MISSING_WORDS: Final = ("", "na", "n/a", "nan", "null", "none", "<na>", "#n/a")
PLAIN: Final = "plain"
_NUMBER: Final = r"^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^[+-]?inf(inity)?$"
# How numbers may be written with commas: what they look like, and what to replace.
_COMMAS: Final = {
    "decimal comma": (r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)(,\d+)?$", ((".", ""), (",", "."))),
    "thousands": (r"^[+-]?(\d+|[1-9]\d{0,2}(,\d{3})+)(\.\d+)?$", ((",", ""),)),
}
_TIMES: Final = ("", " %H:%M", " %H:%M:%S")
_DAYS: Final = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y")
_NAMED_DAYS: Final = ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%B %d %Y")
ISO: Final = "ISO8601"
DATE_STYLES: Final = (
    ISO,
    *(day + time for day in (*_DAYS, *_NAMED_DAYS) for time in _TIMES),
)
NUMBER_STYLES: Final = (PLAIN, "thousands", "decimal comma")
_DATE_LIKE: Final = (
    r"^(\d{4}-\d{1,2}|\d{1,4}[-./]\d{1,2}[-./]\d{1,4}|\d{1,2}\.? [A-Za-z]{3,9}\.?,? \d{4}"
    r"|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})([T ]\d.*)?$"
)
_NUMERIC: Final = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
)


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column in some rows.

    Attributes:
        kind: `number`, `date`, `text` or `vector`, by the type of the column.
        numbers: Of numbers and dates (in days): NaN where empty [rows] float64.
        codes: Of texts: which of `values` each cell holds, -1 where empty [rows].
        values: Of texts: the different ones.
        vectors: Of vectors: NaN where empty [rows, width] float64.
    """

    kind: str
    numbers: Any = None
    codes: Any = None
    values: pa.StringArray = None
    vectors: Any = None

    def __len__(self) -> int:
        given = (self.codes, self.numbers, self.vectors)
        return len(next(part for part in given if part is not None))

    def used(self) -> IntArray:
        """Return how many cells hold each text [values]."""
        counts: IntArray = np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))
        return counts

    def texts(self) -> list[str]:
        """Return the different texts."""
        found: list[str] = self.values.to_pylist()
        return found


def read_cells(
    array: pa.Array, name: str, unknown: Sequence[str] = (), *, numbers: bool = False
) -> Cells:
    """Return the cells of an Arrow array; empty ones and those in `unknown` count as empty.

    Args:
        array: The cells.
        name: Of the column, for messages.
        unknown: Words that mean unknown.
        numbers: Whether texts are known to be plain numbers; then they are read at once.
    """
    kind, types = array.type, pa.types
    if numbers and not unknown and types.is_string(kind):
        try:
            return Cells("number", numbers=_to_float(pc.cast(array, pa.float64())))
        except pa.ArrowInvalid:
            pass  # some are empty
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return Cells("vector", vectors=_vectors(array, name))
    if types.is_null(kind):
        return Cells("number", numbers=np.full(len(array), np.nan))
    if types.is_date(kind) or types.is_timestamp(kind):
        days = pc.cast(array, pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        return Cells("date", numbers=_to_float(pc.cast(days, pa.int64())) / 86_400e6)
    if any(is_kind(kind) for is_kind in _NUMERIC):
        return Cells("number", numbers=_known(_to_float(array), unknown))
    value_kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (_is_text(value_kind) or _is_binary(value_kind)):
        raise UnreadableFileError(
            f"the column '{name}' must hold numbers, texts, dates or vectors, got {kind}. Convert "
            f"it, or leave it out with --column {name}=ignore."
        )
    encoded = array if types.is_dictionary(kind) else array.dictionary_encode()
    values = as_texts(encoded.dictionary, name)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    blank = _as_bool(pc.is_in(values, value_set=_blank_words(tuple(unknown))))
    codes = np.where((codes >= 0) & np.append(blank, True)[codes], -1, codes)
    return Cells("text", codes=codes, values=values)


@lru_cache(maxsize=8)
def _blank_words(unknown: tuple[str, ...]) -> pa.StringArray:
    return pa.array(["", None, *unknown], pa.string())


def as_texts(array: pa.Array, name: str) -> pa.StringArray:
    """Return texts, or bytes that stand for texts, as an Arrow array of texts."""
    try:
        return array.cast(pa.string())
    except pa.ArrowException as error:
        raise UnreadableFileError(
            f"the column '{name}' holds texts that are not UTF-8. Save them again as UTF-8."
        ) from error


def parse(values: pa.StringArray, style: str) -> tuple[FloatArray, BoolArray]:
    """Return texts as numbers in a style, NaN where empty or wrong, and which are wrong."""
    if style == PLAIN:
        try:
            return _to_float(pc.cast(values, pa.float64())), np.zeros(len(values), dtype=bool)
        except pa.ArrowInvalid:
            pass  # some are empty, or no numbers
    lower = pc.utf8_lower(values)
    empty = _as_bool(pc.is_in(lower, value_set=pa.array(MISSING_WORDS)))
    if style in DATE_STYLES:
        numbers = _dates(values, style)
    else:
        numbers = _numbers(pc.if_else(pa.array(empty), pa.scalar(None, pa.string()), lower), style)
    wrong = np.isnan(numbers) & ~empty
    return np.where(empty, np.nan, numbers), wrong


def is_hopeful(values: pa.StringArray) -> BoolArray:
    """Return which texts might be numbers with commas, or dates."""
    patterns = [_DATE_LIKE, *(pattern for pattern, _ in _COMMAS.values())]
    return _as_bool(pc.match_substring_regex(values, "|".join(f"({one})" for one in patterns)))


def _numbers(texts: pa.StringArray, style: str) -> FloatArray:
    pattern, changes = _COMMAS.get(style, (_NUMBER, ()))
    right = pc.match_substring_regex(texts, pattern)
    texts = pc.if_else(right, texts, pa.scalar(None, pa.string()))
    for old, new in changes:
        texts = pc.replace_substring(texts, old, new)
    return _to_float(pc.cast(texts, pa.float64()))


def _dates(values: pa.StringArray, style: str) -> FloatArray:
    likely = _as_bool(pc.match_substring_regex(values, _DATE_LIKE))
    if not likely.any():
        return np.full(len(values), np.nan)
    texts = pd.Series(values.to_pylist(), dtype=object).where(likely)
    stamps = pd.to_datetime(texts, format=style, errors="coerce", utc=True)
    days = (stamps - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)
    return np.asarray(days, dtype=np.float64)


def _vectors(array: pa.Array, name: str) -> FloatArray:
    kind = array.type.value_type
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        raise UnreadableFileError(
            f"the column '{name}' must hold vectors of numbers, got lists of {kind}. Leave it "
            f"out with --column {name}=ignore."
        )
    known = _as_bool(array.is_valid())
    lengths = np.unique(pc.list_value_length(array.drop_null()).to_numpy(zero_copy_only=False))
    if len(lengths) > 1:
        raise UnreadableFileError(
            f"the column '{name}' holds vectors of {lengths[0]} and of {lengths[1]} numbers. "
            "All must have the same length."
        )
    width = int(lengths[0]) if len(lengths) else 0
    vectors = np.full((len(array), width), np.nan)
    vectors[known] = _to_float(array.drop_null().flatten()).reshape(-1, width)
    if np.isnan(vectors[known]).any():
        raise UnreadableFileError(
            f"the column '{name}' holds vectors with empty or NaN entries. Fill them in."
        )
    return vectors


def _known(numbers: FloatArray, unknown: Sequence[str]) -> FloatArray:
    """Return numbers with NaN for those that mean unknown."""
    for word in unknown:
        try:
            numbers = np.where(numbers == float(word), np.nan, numbers)
        except ValueError:  # a text means nothing among numbers
            continue
    return numbers


def _to_float(array: pa.Array) -> FloatArray:
    plain = array.cast(pa.float64(), safe=False) if array.type != pa.float64() else array
    numbers: FloatArray = plain.to_numpy(zero_copy_only=False)  # null becomes NaN
    return numbers


def _as_bool(array: pa.Array) -> BoolArray:
    return np.asarray(array.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


def _is_binary(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )
