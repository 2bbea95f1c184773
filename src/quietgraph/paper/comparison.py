"""A table as plain data: in every cell our number and the printed one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from quietgraph.diagnose import Projection

Projections: TypeAlias = Mapping[str, tuple[Projection, Projection | None]]  # labels, noise
NOT_HERE = "files not here"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Number:
    """A mean, its standard deviation and the number of values; None where unknown."""

    mean: float
    std: float | None = None
    n: int | None = None


@dataclass(frozen=True)
class Unit:
    """How a number is shown: multiplied, with so many decimals, perhaps with its sign."""

    name: str
    factor: float = 1.0
    decimals: int = 2
    is_signed: bool = False

    def text(self, number: Number) -> str:
        """Return `mean ± std (n)`, without the parts that are unknown."""
        mean, places = round(self.factor * number.mean, self.decimals) + 0.0, self.decimals  # no -0
        words = f"{mean:+,.{places}f}" if self.is_signed else f"{mean:,.{places}f}"
        if number.std is not None:
            words += f" ± {self.factor * number.std:.{places}f}"
        return words if number.n is None else f"{words} ({number.n})"


PERCENT = Unit("percent", 100, 1)
POINTS = Unit("points", 100, 1, is_signed=True)
COUNT = Unit("", 1, 0)
PLAIN = Unit("")


@dataclass(frozen=True)
class Cell:
    """Ours and theirs.

    Attributes:
        ours: None where nothing was measured; `words` says why.
        printed: None where the paper has nothing.
        unit: Of both.
        marks: Why the printed number cannot be, a sentence each.
        words: What else is to be said of ours.
    """

    ours: Number | None = None
    printed: Number | None = None
    unit: Unit = PERCENT
    marks: tuple[str, ...] = ()
    words: str = ""


@dataclass(frozen=True)
class Row:
    """One line of a table: a dataset, what stands at its head, and a cell per column."""

    dataset: str
    name: str
    cells: Mapping[str, Cell]


@dataclass(frozen=True, eq=False)
class Comparison:
    """A table of the paper, ours beside theirs.

    Attributes:
        target: Its name on the command line.
        title: What it shows.
        head: What the names of its rows are.
        columns: In order.
        rows: In order, those of a dataset together.
        notes: Sentences below the table.
        projections: Gives what its figure draws, by dataset; None where it has no figure.
    """

    target: str
    title: str
    head: str
    columns: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str] = ()
    projections: Callable[[], Projections] | None = None

    def marks(self) -> list[str]:
        """Return the marks of all cells, each once, in the order in which they appear."""
        cells = (row.cells.get(column) for row in self.rows for column in self.columns)
        return list(dict.fromkeys(mark for cell in cells if cell for mark in cell.marks))
