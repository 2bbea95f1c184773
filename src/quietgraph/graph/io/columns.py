"""Columns of a table as features: numbers as they are, categories one-hot, text hashed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse
from pandas.api import types as kinds

from quietgraph.errors import UnknownNameError, UnreadableFileError

FEATURE_KINDS: Final = ("number", "scaled", "category", "text")
KINDS: Final = (*FEATURE_KINDS, "label", "id", "ignore")
MISSING_WORDS: Final = ("", "na", "n/a", "nan", "null", "none", "<na>", "#n/a")
_MOST_CATEGORIES: Final = 100
_HASHED_WORDS: Final = 2048
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Column:
    """What one column becomes, learned from the data of `fit`.

    Attributes:
        name: As the file has it.
        kind: `number`, `scaled`, `category` or `text`.
        centre: Of numbers: their mean; it stands for an empty cell.
        spread: Of numbers: their standard deviation.
        values: Of a category: its values, one feature each; of text: the weight of each hashed
            word.
    """

    name: str
    kind: str
    centre: float = 0.0
    spread: float = 0.0
    values: tuple[Any, ...] = ()

    def __str__(self) -> str:
        if self.kind == "category":
            return f"{self.name}: category ({len(self.values)} values)"
        if self.kind == "text":
            return f"{self.name}: text ({len(self.values):,} hashed words)"
        return f"{self.name}: {self.kind}"


def check_roles(roles: Mapping[str, str], names: list[str], *, where: str) -> None:
    """Raise where a column is named that is not there, or given a kind that does not exist."""
    for name, kind in roles.items():
        if kind not in KINDS:
            raise UnknownNameError("kind of column", kind, KINDS)
        if name not in names:
            raise UnknownNameError(f"column in {where}", name, names)


def learn_column(name: str, cells: Any, kind: str | None, *, typed: bool) -> Column | None:
    """Return what a column becomes; None where it holds nothing.

    Args:
        name: Of the column.
        cells: One per node.
        kind: As the user wants it; None to look at the cells.
        typed: Whether the cells' types are meant; texts that look like numbers are numbers if not.
    """
    present = _present(cells)
    if not present.any():
        return None
    if kind in {None, "number", "scaled"}:
        numbers = _numbers(name, cells, typed=typed, wanted=kind is not None)
        if numbers is not None:
            found = numbers[~np.isnan(numbers)]
            return Column(name, kind or "number", float(found.mean()), float(found.std()))
    texts = _texts(cells)
    distinct = sorted(set(texts[present]))
    few = len(distinct) <= min(_MOST_CATEGORIES, int(present.sum()) / 2)
    if kind == "category" or (kind is None and few):
        return Column(name, "category", values=tuple(distinct))
    return Column(name, "text", values=_word_weights(texts))


def encode_column(column: Column, cells: Any, *, typed: bool) -> tuple[Any, str | None]:
    """Return the features of one column [nodes, width] sparse, and what to tell the user."""
    if column.kind == "category":
        return _one_hot(column, cells)
    if column.kind == "text":
        return _hashed(column, cells), None
    numbers = _numbers(column.name, cells, typed=typed, wanted=True)
    empty = np.isnan(numbers)
    filled = np.where(empty, column.centre, numbers)
    if column.kind == "scaled":
        filled = (filled - column.centre) / (column.spread or 1.0)
    told = f"column {column.name}: {int(empty.sum())} empty cells count as its mean "
    told += f"{column.centre:g}"
    return scipy.sparse.csr_matrix(filled[:, None]), told if empty.any() else None


def _present(cells: Any) -> _Array:
    known = ~np.asarray(pd.isna(cells))
    return np.asarray(known & (np.asarray(cells, dtype=object) != ""))


def _texts(cells: Any) -> _Array:
    present = _present(cells)
    texts = np.full(len(cells), "", dtype=object)
    texts[present] = [str(value) for value in np.asarray(cells, dtype=object)[present]]
    return texts


def _numbers(name: str, cells: Any, *, typed: bool, wanted: bool) -> Any:
    """Return numbers [nodes] with NaN where empty; None where the cells are texts."""
    if kinds.is_bool_dtype(cells) or kinds.is_numeric_dtype(cells):
        return _finite(name, np.asarray(cells, dtype=np.float64))
    _check_plain(name, cells)
    if typed and not wanted:
        return None
    texts = pd.Series(_texts(cells), dtype=object)
    empty = texts.str.lower().isin(MISSING_WORDS).to_numpy()
    parsed = pd.to_numeric(texts.mask(empty), errors="coerce").to_numpy(np.float64)
    wrong = np.isnan(parsed) & ~empty
    if not wrong.any():
        return _finite(name, parsed)
    if wanted or wrong.sum() < (~empty).sum() / 2:
        raise UnreadableFileError(
            f"the column '{name}' mixes numbers with text: {int(wrong.sum())} cells are no "
            f"numbers, the first is '{texts[wrong].iloc[0]}'. Mend them, or read it otherwise "
            f"with --column {name}=category."
        )
    return None


def _finite(name: str, numbers: _Array) -> _Array:
    if np.isinf(numbers).any():
        raise UnreadableFileError(
            f"the column '{name}' holds infinite numbers. Replace them, or leave it out with "
            f"--column {name}=ignore."
        )
    return numbers


def _check_plain(name: str, cells: Any) -> None:
    found = {type(value) for value in np.asarray(cells, dtype=object)[_present(cells)]}
    if found <= {str}:
        return
    words = ", ".join(sorted(kind.__name__ for kind in found))
    raise UnreadableFileError(
        f"the column '{name}' must hold only numbers or only texts, got {words}. Convert it, or "
        f"leave it out with --column {name}=ignore."
    )


def _one_hot(column: Column, cells: Any) -> tuple[Any, str | None]:
    texts = _texts(cells)
    codes = pd.Index(column.values, dtype=object).get_indexer(pd.Index(texts, dtype=object))
    known = codes >= 0
    shape = (len(codes), len(column.values))
    rows = np.flatnonzero(known)
    matrix = scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, codes[known])), shape=shape)
    new = int((~known & (texts != "")).sum())
    told = f"column {column.name}: {new} cells hold values not seen in fit and count as none"
    return matrix, told if new else None


def _word_counts(texts: _Array) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415  (slow to import)

    hashing = HashingVectorizer(n_features=_HASHED_WORDS, alternate_sign=False, norm=None)
    return hashing.transform(texts)


def _word_weights(texts: _Array) -> tuple[float, ...]:
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415

    return tuple(TfidfTransformer().fit(_word_counts(texts)).idf_.tolist())


def _hashed(column: Column, cells: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415

    transformer = TfidfTransformer()
    transformer.idf_ = np.array(column.values)
    return transformer.transform(_word_counts(_texts(cells)))
