"""How much a file may ask for: budgets that follow from its size and from the memory there is."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from quietgraph.errors import InvalidParameterError, QuietgraphError, UnreadableFileError

MAX_LINE: Final = 4 * 2**20  # bytes; a longer line is no row of a table
# Bytes of memory that reading one of each takes, about.
NODE: Final = 100
EDGE: Final = 48
COLUMN: Final = 20_000  # mostly of the CSV parser
FEATURE: Final = 2_000  # the first layer of a model has a row of weights for each
STRUCTURAL_NODE: Final = 500
_FLOOR: Final = 200 * 10**6
_TIMES_THE_FILE: Final = 20
_UNITS: Final = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Budget:
    """The bytes that reading a source may take.

    Attributes:
        where: The source, for messages.
        size: Bytes.
    """

    where: str
    size: int

    def check(self, what: str, count: int, each: int = 1) -> None:
        """Raise where so many of something, at so many bytes each, exceed the budget."""
        if count * each > self.size:
            raise UnreadableFileError(
                f"{self.where} asks for {count:,} {what}, about {_words(count * each)}, and a "
                f"source of its size may take {_words(self.size)}. Check that it is whole; if it "
                f"is meant, raise the limit: --limit {_words(2 * count * each)} (limit= in Python)."
            )


def budget_of(
    where: str, paths: list[Path], limit: str | int | None, *, on_disk: bool = False
) -> Budget:
    """Return the budget of some files: 20 times their size and 200 MB, within the free memory.

    Args:
        where: The source, for messages.
        paths: Its files; none for a source that is in memory already, which has no budget.
        limit: Bytes, or a text such as "8GB", instead of the rule.
        on_disk: Whether the result goes to disk, so that memory does not bound it.
    """
    if limit is not None:
        return Budget(where, parse_size(limit))
    if not paths:
        return Budget(where, 10**15)
    size = _FLOOR + _TIMES_THE_FILE * sum(path.stat().st_size for path in paths if path.is_file())
    return Budget(where, size if on_disk else min(size, psutil.virtual_memory().available))


def parse_size(text: str | int) -> int:
    """Return the bytes of a size such as 8GB, 500MB or 1e9."""
    found = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([kmgt]?)i?b?\s*", str(text).lower())
    try:
        size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    except (ValueError, OverflowError):
        size = 0
    if size <= 0:
        raise InvalidParameterError(f"a limit is a size such as 8GB or 500MB, got '{text}'.")
    return size


@contextmanager
def parsing(path: str | Path, kind: str, way_out: str = "Write it again.") -> Iterator[None]:
    """Turn whatever a parser raises on a broken file into one sentence.

    It stands around calls of other libraries, which name no list of what they may raise.
    """
    try:
        yield
    except QuietgraphError:
        raise
    except MemoryError as error:
        raise UnreadableFileError(
            f"{path} asks for more memory than there is ({_first_line(error)}). {way_out}"
        ) from error
    except Exception as error:
        reason = getattr(error, "strerror", None) or _first_line(error)
        raise UnreadableFileError(
            f"{path} is no readable {kind} ({reason or type(error).__name__}). {way_out}"
        ) from error


def _first_line(error: Exception) -> str:
    return re.sub(r" at 0x[0-9a-f]+", "", str(error).partition("\n")[0].rstrip(".")[:200])


def _words(size: int) -> str:
    unit = next((name for name in "TGMk" if size >= _UNITS[name.lower()]), "")
    return f"{size / _UNITS[unit.lower()]:.3g}{unit}B"
