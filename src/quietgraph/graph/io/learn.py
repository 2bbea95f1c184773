"""What the columns of a table become, learned in a stream: kinds first, then means and words."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.cells import DATE_STYLES, NUMBER_STYLES, PLAIN, Cells, is_hopeful, parse
from quietgraph.graph.io.columns import (
    HASHED_WORDS,
    SCALARS,
    Column,
    mixed,
    scalar_numbers,
    text_codes,
    word_counts,
)
from quietgraph.types import AnyArray

_MOST_CATEGORIES: Final = 100
_COPY: Final = 0.97  # fraction of labels that a column must predict to be called a copy
_ENOUGH: Final = 10  # labelled nodes to decide that by


class Learner:
    """Looks at one column, some rows at a time, and says what it becomes.

    The order of calls: `look` at all rows; `look_again` at all rows where `is_doubtful`; `decide`;
    `count` all rows; `column`.
    """

    __slots__ = (  # a table may have thousands of columns
        *("name", "wanted", "typed", "type", "rows", "present", "numbers", "wrong", "width"),
        *("first_wrong", "hopeful", "distinct", "styles", "pairs", "kind", "style"),
        *("_moments", "_documents"),
    )

    def __init__(self, name: str, wanted: str | None, *, typed: bool) -> None:
        """Args: of the column, its kind as the user wants it, whether the file has types."""
        self.name, self.wanted, self.typed = name, wanted, typed
        self.type: str | None = None
        self.rows = self.present = self.numbers = self.wrong = self.width = 0
        self.first_wrong = ""
        self.hopeful = True
        self.distinct: set[str] | None = set()
        self.styles: dict[str, int] = {}  # wrong cells, by how numbers and dates may be written
        self.pairs: dict[tuple[str, int], int] | None = {}
        self.kind, self.style = "", PLAIN
        self._moments = _Moments()
        self._documents: Any = 0.0  # cells that hold each hashed word

    def look(self, cells: Cells, labels: AnyArray | None) -> None:
        """Take in the cells of some rows, beside the codes of the labels of these rows."""
        if self.type not in {None, cells.kind}:
            raise UnreadableFileError(f"the column '{self.name}' changes its type on the way.")
        self.type = cells.kind
        self.rows += len(cells)
        if cells.kind == "vector":
            self._look_at_vectors(cells.vectors)
            return
        if cells.kind == "text":
            self._look_at_texts(cells)
        else:
            found = int((~np.isnan(cells.numbers)).sum())
            self.present, self.numbers = self.present + found, self.numbers + found
        self._look_at_values(cells, labels)

    def _look_at_vectors(self, vectors: AnyArray) -> None:
        self.present += int((~np.isnan(vectors).all(axis=1)).sum())
        widths = {self.width, vectors.shape[1]} - {0}
        if len(widths) > 1:
            low, high = sorted(widths)
            raise UnreadableFileError(
                f"the column '{self.name}' holds vectors of {low} and of {high} numbers. All must "
                "have the same length."
            )
        self.width = max(widths, default=0)

    def _look_at_texts(self, cells: Cells) -> None:
        used = cells.used()
        self.present += int(used.sum())
        if self.wanted in {"category", "text"}:
            return
        numbers, wrong = parse(cells.values, PLAIN)
        wrong &= used > 0
        self.numbers += int(used[~np.isnan(numbers)].sum())
        if wrong.any():
            if not self.wrong:
                self.first_wrong = cells.values[int(wrong.argmax())].as_py()
            self.wrong += int(used[wrong].sum())
            self.hopeful &= bool(is_hopeful(cells.values)[wrong].all())

    def _look_at_values(self, cells: Cells, labels: AnyArray | None) -> None:
        """Keep the different values while they are few, and how often each goes with a label."""
        if self.distinct is None and self.pairs is None:
            return
        if self.wanted != "category" and _are_many(cells):
            self.distinct = self.pairs = None
            return
        codes, texts = text_codes(cells)
        if self.distinct is not None:
            held = np.unique(codes[codes >= 0])
            self.distinct |= {texts[place] for place in held}
            if len(self.distinct) > _MOST_CATEGORIES:
                self.pairs = None
                if self.wanted != "category":
                    self.distinct = None
        if labels is None or self.pairs is None:
            return
        both = np.stack([codes, labels])[:, (codes >= 0) & (labels >= 0)]
        pairs, counts = np.unique(both, axis=1, return_counts=True)
        for (code, label), count in zip(pairs.T, counts, strict=True):
            pair = (texts[code], int(label))
            self.pairs[pair] = self.pairs.get(pair, 0) + int(count)

    @property
    def is_doubtful(self) -> bool:
        """Whether the texts may be numbers with commas, or dates."""
        asked = self.wanted in {None, *SCALARS}
        return self.type == "text" and bool(self.wrong) and self.hopeful and asked

    def look_again(self, cells: Cells) -> None:
        """Try the other ways to write numbers and dates on some rows."""
        used = cells.used()
        for style in (*NUMBER_STYLES[1:], *DATE_STYLES):
            if not self.styles.get(style):
                self.styles[style] = int(used[parse(cells.values, style)[1]].sum())

    def decide(self) -> bool:
        """Decide the kind of the column; return whether it holds anything."""
        holds = self._decide()
        self.distinct = self.distinct if self.kind == "category" else None
        return holds

    def _decide(self) -> bool:
        if not self.present or (self.type == "vector" and not self.width):
            return False
        if (self.type == "vector") != (self.wanted == "vector") and self.wanted is not None:
            raise UnreadableFileError(
                f"the column '{self.name}' holds {self.type}s, so it cannot be read as "
                f"{self.wanted}. Leave --column {self.name} out."
            )
        fitting = [style for style, wrong in self.styles.items() if not wrong]
        if self.type != "text":
            self.kind = self.wanted or {"number": "", "date": "date"}.get(str(self.type), "vector")
        elif self.wanted in {"category", "text"}:
            self.kind = self.wanted
        elif fitting:  # commas and dates are no codes such as 007, also where texts are meant
            self.style = fitting[0]
            self.kind = self.wanted or ("date" if self.style in DATE_STYLES else "")
        elif not self.wrong and (not self.typed or self.wanted):
            self.kind = self.wanted or ""
            return bool(self.numbers)  # else they are all words for nothing
        elif self.wanted or (not self.typed and self.wrong < (self.numbers + self.wrong) / 2):
            raise mixed(self.name, self.wrong, self.first_wrong)
        else:
            few = self.distinct is not None and len(self.distinct) <= self.present / 2
            self.kind = "category" if few else "text"
        return True

    @property
    def is_plain(self) -> bool:
        """Whether the decided kind is that of plain numbers."""
        return self.kind in {"", *SCALARS} and self.style == PLAIN

    @property
    def num_features(self) -> int:
        """How many features the decided kind gives."""
        widths = {"category": len(self.distinct or ()), "text": HASHED_WORDS, "vector": self.width}
        return widths.get(self.kind, 1)

    def count(self, cells: Cells) -> None:
        """Take in means or words of some rows, by the decided kind."""
        if self.kind == "text":
            rows, counts = word_counts(cells)
            counts.data[:] = 1
            self._documents = self._documents + np.asarray(counts[rows].sum(axis=0)).ravel()
        elif self.kind not in {"category", "vector"}:
            numbers = scalar_numbers(cells, Column(self.name, "number", values=self._written()))
            self._moments.add(numbers[~np.isnan(numbers)])

    def column(self) -> Column:
        """Return what the column becomes."""
        if self.kind == "category":
            return Column(self.name, "category", values=tuple(sorted(self.distinct or ())))
        if self.kind == "text":
            weights = np.log((1 + self.rows) / (1 + self._documents)) + 1
            return Column(self.name, "text", values=tuple(weights.tolist()))
        if self.kind == "vector":
            return Column(self.name, "vector", values=(self.width,))
        moments, kind = self._moments, self.kind
        centre, spread = moments.result(self.name)
        if not kind:
            kind = "number" if moments.are_flags else "scaled"
            if kind == "scaled" and moments.are_mostly_zero:
                centre, spread = 0.0, moments.largest
        return Column(self.name, kind, centre, spread, self._written())

    def _written(self) -> tuple[str, ...]:
        return () if self.style == PLAIN else (self.style,)

    def label_accuracy(self, known: Sequence[bool]) -> float:
        """Return the fraction of labels that the column alone predicts; 0 below what a copy would.

        Args:
            known: Of each code of a label: whether it is a class and not a word for unknown.
        """
        pairs = {pair: n for pair, n in (self.pairs or {}).items() if known[pair[1]]}
        classes = {label for _, label in pairs}
        values = {value for value, _ in pairs}
        total = sum(pairs.values())
        if total < _ENOUGH or len(classes) < 2 or len(values) > 2 * len(classes):
            return 0.0
        best: Counter[str] = Counter()
        for (value, _), count in pairs.items():
            best[value] = max(best[value], count)
        fraction = sum(best.values()) / total
        return fraction if fraction >= _COPY else 0.0


class _Moments:
    """Mean and standard deviation of numbers that come in pieces."""

    __slots__ = ("are_flags", "largest", "least", "mean", "size", "squares", "zeros")

    def __init__(self) -> None:
        self.size, self.mean, self.squares = 0, 0.0, 0.0
        self.are_flags, self.zeros, self.least, self.largest = True, 0, 0.0, 0.0

    @property
    def are_mostly_zero(self) -> bool:
        """Whether they are counts or the like: none negative, more than half of them 0."""
        return self.least >= 0 and 2 * self.zeros > self.size and self.largest > 0

    def add(self, numbers: AnyArray) -> None:
        """Take in a few numbers (the parallel algorithm of Chan, Golub and LeVeque)."""
        if not len(numbers):
            return
        zeros = numbers == 0
        self.zeros += int(zeros.sum())
        self.are_flags &= bool((zeros | (numbers == 1)).all())
        self.least, self.largest = min(self.least, numbers.min()), max(self.largest, numbers.max())
        with np.errstate(over="ignore", invalid="ignore"):
            size, mean = len(numbers), float(numbers.mean())
            apart, total = mean - self.mean, self.size + size
            self.squares += float(np.square(numbers - mean).sum())
            self.squares += apart * apart * self.size * size / total
            self.mean += apart * size / total
            self.size = total

    def result(self, name: str) -> tuple[float, float]:
        """Return mean and standard deviation."""
        spread = math.sqrt(self.squares / self.size) if self.squares >= 0 else math.nan
        if not (math.isfinite(self.mean) and math.isfinite(spread)):
            raise UnreadableFileError(
                f"the column '{name}' holds numbers too large to scale. Divide them first, or "
                f"leave it out with --column {name}=ignore."
            )
        return self.mean, spread


def _are_many(cells: Cells) -> bool:
    """Whether numbers are too many for categories: their texts, slow to make, are not needed."""
    if cells.kind == "text" or cells.vectors is not None:
        return False
    different = pd.unique(cells.numbers)
    return int((~np.isnan(different)).sum()) > _MOST_CATEGORIES
