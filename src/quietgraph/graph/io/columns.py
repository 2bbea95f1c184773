"""Columns as features: numbers scaled, dates in days, categories one-hot, text hashed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse

from quietgraph.errors import UnknownNameError, UnreadableFileError
from quietgraph.graph.io.cells import DATE_STYLES, ISO, PLAIN, Cells, parse, read_cells
from quietgraph.graph.sparse import as_dense
from quietgraph.types import AnyArray, Matrix, SparseMatrix

FEATURE_KINDS: Final = ("number", "scaled", "date", "category", "text", "vector")
KINDS: Final = (*FEATURE_KINDS, "label", "id", "ignore")
SCALARS: Final = ("number", "scaled", "date")
HASHED_WORDS: Final = 2048
_LAST_DAY: Final = datetime(2024, 12, 31, 23, 59, tzinfo=UTC)  # shows which number is the month
_LARGEST: Final = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Column:
    """What one column becomes, learned from the data of `fit`.

    Attributes:
        name: As the file has it.
        kind: `number` as it is, `scaled`, `date`, `category`, `text` or `vector`.
        centre: Of numbers and dates: their mean; it stands for an empty cell.
        spread: Of numbers and dates: their standard deviation.
        values: Of a category: its values, one feature each; of text: the weight of each hashed
            word; of numbers and dates in texts: how they are written; of vectors: their length.
    """

    name: str
    kind: str
    centre: float = 0.0
    spread: float = 0.0
    values: tuple[str | float, ...] = ()

    @property
    def width(self) -> int:
        """Number of features."""
        if self.kind in SCALARS:
            return 1
        return int(self.values[0]) if self.kind == "vector" else len(self.values)

    def __str__(self) -> str:
        if self.kind == "category":
            return f"{self.name}: category ({len(self.values)} values)"
        if self.kind == "text":
            return f"{self.name}: text ({len(self.values):,} hashed words)"
        if self.kind == "vector":
            return f"{self.name}: vector ({self.values[0]:,} numbers)"
        if not self.values or self.values[0] == PLAIN:
            return f"{self.name}: {self.kind}"
        style = str(self.values[0])
        if style in DATE_STYLES:
            style = f"such as {_LAST_DAY.strftime('%Y-%m-%d' if style == ISO else style)}"
        return f"{self.name}: {self.kind} ({style})"


def check_roles(roles: Mapping[str, str], names: Sequence[str], *, where: str) -> None:
    """Raise where a column is named that is not there, or given a kind that does not exist."""
    for name, kind in roles.items():
        if kind not in KINDS:
            raise UnknownNameError("kind of column", kind, KINDS)
        if name not in names:
            raise UnknownNameError(f"column in {where}", name, names)


class Encoder:
    """Turns rows of a table into features, and counts what a user should know."""

    def __init__(
        self, columns: Sequence[Column], unknown: Sequence[str] = (), *, sparse: bool = False
    ) -> None:
        """Args: what the columns become, cells that mean unknown, and the form of the result."""
        self.columns, self.unknown, self.sparse = columns, unknown, sparse
        self._notes: Counter[tuple[str, str]] = Counter()

    def encode(self, piece: pa.RecordBatch) -> Matrix:
        """Return the features of some rows [rows, features] float32."""
        blocks: list[Matrix] = []
        scalars: list[AnyArray] = []
        for column in self.columns:
            plain = column.kind in SCALARS and not column.values
            array = piece.column(column.name)
            cells = read_cells(array, column.name, self.unknown, numbers=plain)
            if column.kind in SCALARS:
                scalars.append(self._scalar(column, cells))
                continue
            blocks += _side_by_side(scalars)
            blocks.append(getattr(self, f"_{column.kind}")(column, cells))
            scalars = []
        blocks += _side_by_side(scalars)
        if self.sparse:
            parts = [scipy.sparse.csr_matrix(block) for block in blocks]
            joined: SparseMatrix = scipy.sparse.hstack(parts, format="csr", dtype=np.float32)
            return joined
        return np.hstack([as_dense(block) for block in blocks]).astype(np.float32, copy=False)

    def notes(self) -> list[str]:
        """Return what a user should know."""
        notes = self._notes.items()
        return [f"column {name}: {count} {sentence}" for (name, sentence), count in notes]

    def _note(self, column: Column, count: np.integer, sentence: str) -> None:
        if count:
            self._notes[column.name, sentence] += int(count)

    def _scalar(self, column: Column, cells: Cells) -> AnyArray:
        numbers = scalar_numbers(cells, column)
        empty = np.isnan(numbers)
        mean = "" if column.kind == "date" else f" {column.centre:g}"
        self._note(column, empty.sum(), f"empty cells count as its mean{mean}")
        filled = np.where(empty, column.centre, numbers)
        if column.kind != "number":
            filled = (filled - column.centre) / (column.spread or 1.0)
        return to_float32(filled, f"the column '{column.name}'")

    def _category(self, column: Column, cells: Cells) -> SparseMatrix:
        codes, texts = text_codes(cells)
        places = pd.Index(column.values, dtype=object).get_indexer(pd.Index(texts, dtype=object))
        found = np.append(places, -1)[codes]
        rows = np.flatnonzero(found >= 0)
        new = (codes >= 0) & (found < 0)
        self._note(column, new.sum(), "cells hold values not seen in fit and count as none")
        shape = (len(codes), len(column.values))
        return scipy.sparse.csr_matrix((np.ones(len(rows)), (rows, found[rows])), shape=shape)

    def _text(self, column: Column, cells: Cells) -> SparseMatrix:
        from sklearn.preprocessing import normalize  # noqa: PLC0415  (slow to import)

        codes, counts = word_counts(cells)
        weighted = counts @ scipy.sparse.diags(np.array(column.values, dtype=np.float64))
        rows: SparseMatrix = normalize(weighted.tocsr())[codes]
        return rows

    def _vector(self, column: Column, cells: Cells) -> AnyArray:
        vectors = cells.vectors
        if vectors is None or vectors.shape[1] not in {0, column.width}:
            found = cells.kind if vectors is None else f"{vectors.shape[1]} numbers"
            raise UnreadableFileError(
                f"the column '{column.name}' must hold vectors of {column.width} numbers, got "
                f"{found}."
            )
        empty = np.isnan(vectors).any(axis=1) if vectors.shape[1] else np.ones(len(vectors), bool)
        full = np.zeros((len(vectors), column.width))
        full[~empty] = vectors[~empty]
        self._note(column, empty.sum(), "empty vectors count as zeros")
        return to_float32(full, f"the column '{column.name}'")


def scalar_numbers(cells: Cells, column: Column) -> AnyArray:
    """Return the numbers or dates of cells, NaN where empty; raise where some are neither."""
    if cells.kind == "vector":
        raise UnreadableFileError(f"the column '{column.name}' holds vectors, not numbers.")
    if cells.kind != "text":
        return check_finite(column.name, cells.numbers)
    numbers, wrong = parse(cells.values, str(column.values[0]) if column.values else PLAIN)
    bad = np.flatnonzero(wrong & (cells.used() > 0))
    if len(bad):
        raise mixed(column.name, int(cells.used()[bad].sum()), cells.values[int(bad[0])].as_py())
    return check_finite(column.name, np.append(numbers, np.nan)[cells.codes])


def mixed(name: str, count: int, first: str) -> UnreadableFileError:
    """Return the error of a column with numbers and texts."""
    return UnreadableFileError(
        f"the column '{name}' mixes numbers with text: {count} cells are no numbers, the first is "
        f"'{first[:80]}'. Correct them, name the word for unknown with --unknown, or read it "
        f"otherwise with --column {name}=category."
    )


def check_finite(name: str, numbers: AnyArray) -> AnyArray:
    """Return the numbers; raise where some are infinite."""
    if np.isinf(numbers).any():
        raise UnreadableFileError(
            f"the column '{name}' holds infinite numbers, or numbers beyond 1.8e308. Replace "
            f"them, or leave it out with --column {name}=ignore."
        )
    return numbers


def to_float32(numbers: AnyArray, what: str) -> AnyArray:
    """Return numbers as 32-bit floats; raise where some lie beyond their range."""
    large = np.abs(numbers) > _LARGEST
    if large.any():
        raise UnreadableFileError(
            f"{what} holds {numbers[large][0]:g}, which is beyond the range of 32-bit floats "
            "(3.4e38). Scale it first."
        )
    return numbers.astype(np.float32)


def text_codes(cells: Cells) -> tuple[AnyArray, list[str]]:
    """Return the place of each cell's text among the different ones, -1 where empty, and these."""
    if cells.kind == "text":
        return cells.codes, cells.texts()
    values = cells.numbers if cells.vectors is None else cells.vectors[:, :0].sum(axis=1)
    codes, found = pd.factorize(values)
    whole = all(float(value).is_integer() for value in found)
    return codes, [str(int(value)) if whole else str(value) for value in found]


def word_counts(cells: Cells) -> tuple[AnyArray, SparseMatrix]:
    """Return the row of each cell, and rows of hashed word counts, the last for an empty cell."""
    from sklearn.feature_extraction.text import HashingVectorizer  # noqa: PLC0415  (slow to import)

    codes, texts = text_codes(cells)
    hashing = HashingVectorizer(n_features=HASHED_WORDS, alternate_sign=False, norm=None)
    return np.where(codes < 0, len(texts), codes), hashing.transform([*texts, ""])


def _side_by_side(scalars: list[AnyArray]) -> list[Matrix]:
    return [np.column_stack(scalars)] if scalars else []
