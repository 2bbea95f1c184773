"""What the footer of a Parquet file claims about its size, read before anything else is.

pyarrow ends the whole process where the footer of a column contradicts itself, so its accessor of
column facts is not used. The footer is Thrift's compact protocol: numbered fields, see
https://github.com/apache/parquet-format (FileMetaData).
"""

from pathlib import Path
from typing import Any, Final

_TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
_WHOLE: Final = {4, 5, 6}
_SIZES: Final = {_TRUE: 1, _FALSE: 1, _BYTE: 1, _DOUBLE: 8}
_DEEPEST: Final = 20
_MAGIC: Final = b"PAR1"
# Numbers of the fields that are read.
_ROW_GROUPS, _COLUMNS, _FACTS, _NUM_VALUES, _UNPACKED_SIZE = 4, 1, 3, 5, 6


def claimed_sizes(path: Path) -> tuple[int, int]:
    """Return how many cells a file has, and their bytes before packing.

    Raises:
        ValueError: The footer is damaged.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - 8))
        tail = file.read()
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] != _MAGIC or length + 8 > size:
            raise ValueError("its end is no footer")
        file.seek(size - 8 - length)
        footer = _Footer(file.read(length)).value(_STRUCT, 0)
    chunks = [chunk for group in footer[_ROW_GROUPS] for chunk in group[_COLUMNS]]
    facts = [chunk.get(_FACTS, {}) for chunk in chunks]
    cells = sum(max(0, int(one[_NUM_VALUES])) for one in facts)
    return cells, sum(max(0, int(one[_UNPACKED_SIZE])) for one in facts)


class _Footer:
    """Bytes of the compact protocol, and how far they are read."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.at = 0

    def value(self, kind: int, depth: int) -> Any:
        """Return the next value: a struct as a dict by field number."""
        if kind in _WHOLE:
            number = self.whole()
            return (number >> 1) ^ -(number & 1)
        if kind == _BINARY:
            return self.take(self.whole())
        if kind in _SIZES:
            return self.take(_SIZES[kind])
        nested = {_LIST: self.items, _SET: self.items, _MAP: self.pairs, _STRUCT: self.fields}
        if kind not in nested or depth > _DEEPEST:
            raise ValueError(f"it has values of the unknown kind {kind}, or nested too deeply")
        return nested[kind](depth)

    def fields(self, depth: int) -> dict[int, Any]:
        found: dict[int, Any] = {}
        number = 0
        while head := self.take(1)[0]:
            step, kind = head >> 4, head & 15
            number = number + step if step else self.value(4, depth)
            # Truth values of a struct are in the head itself.
            is_truth = kind in {_TRUE, _FALSE}
            found[number] = kind == _TRUE if is_truth else self.value(kind, depth + 1)
        return found

    def items(self, depth: int) -> list[Any]:
        head = self.take(1)[0]
        count = self.whole() if head >> 4 == 15 else head >> 4
        self.check(count)
        return [self.value(head & 15, depth + 1) for _ in range(count)]

    def pairs(self, depth: int) -> list[Any]:
        count = self.whole()
        self.check(count)
        kinds = self.take(1)[0] if count else 0
        return [
            self.value(kind, depth + 1) for _ in range(count) for kind in (kinds >> 4, kinds & 15)
        ]

    def check(self, count: int) -> None:
        if count > len(self.content) - self.at:  # every item has a byte at least
            raise ValueError("it claims more than it holds")

    def take(self, count: int) -> bytes:
        self.check(count)
        self.at += count
        return self.content[self.at - count : self.at]

    def whole(self) -> int:
        """Return a number of seven bits a byte, smallest first."""
        number, shift = 0, 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number
            if shift > 63:
                raise ValueError("a number is too long")
