"""Edges sorted in bounded memory: from a stream of pairs to compressed sparse rows.

Every edge is dealt, in both directions, to the bucket of its row's range; each bucket is then
sorted alone. A few edges are one bucket in memory, many are files. Of parallel edges the heaviest
stays, directions are folded and self-loops dropped, as in `Graph.from_arrays`.
"""

import io
import math
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, Self

import numpy as np

from quietgraph.types import AnyArray

# The direction is the lowest bit of the column: 1 where the edge was given the other way round.
_RECORD: Final = np.dtype([("row", np.int64), ("column", np.int64), ("weight", np.float32)])
_BUCKET: Final = 8_000_000  # records sorted at once, about 0.6 GB
_MOST_BUCKETS: Final = 200  # open files


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Some rows of the adjacency, complete and in order.

    Attributes:
        counts: Entries of each row [rows].
        columns: Ascending within each row [entries] int64.
        weights: Of the entries [entries] float32.
        duplicates: Edges given again in the same direction, counted at their smaller end.
        opposite: Edges given in both directions, counted at their smaller end.
    """

    counts: AnyArray
    columns: AnyArray
    weights: AnyArray
    duplicates: int
    opposite: int


class EdgeSorter:
    """Takes edges in any order and gives them back row by row."""

    def __init__(
        self, scratch: Path | None, num_nodes: int, *, expected: int, bucket: int | None = None
    ):
        """Args: a folder for files, the number of nodes, and about how many edges will come."""
        size = _BUCKET if bucket is None else bucket
        buckets = min(_MOST_BUCKETS, num_nodes, max(1, math.ceil(2 * expected / size)))
        self.num_nodes, self.width, self.loops = num_nodes, math.ceil(num_nodes / buckets), 0
        self._scratch, self._stack = scratch, ExitStack()
        self._files: list[IO[bytes]] = [io.BytesIO()] if buckets == 1 else []
        self._buckets = buckets

    def __enter__(self) -> Self:
        if not self._files:
            folder = self._stack.enter_context(tempfile.TemporaryDirectory(dir=self._scratch))
            paths = [Path(folder) / str(place) for place in range(self._buckets)]
            self._files = [self._stack.enter_context(path.open("w+b")) for path in paths]
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def add(self, sources: AnyArray, targets: AnyArray, weights: AnyArray | None = None) -> None:
        """Take in a few edges, whose ends are node indices [edges]."""
        apart = sources != targets
        self.loops += len(sources) - int(apart.sum())
        sources, targets = sources[apart], targets[apart]
        records = np.empty(2 * len(sources), dtype=_RECORD)
        records["row"] = np.concatenate([sources, targets])
        records["column"] = 2 * np.concatenate([targets, sources])
        records["column"][len(sources) :] += 1
        records["weight"] = 1.0 if weights is None else np.tile(weights[apart], 2)
        owner = records["row"] // self.width
        order = np.argsort(owner, kind="stable")
        edges = np.searchsorted(owner[order], np.arange(self._buckets + 1))
        for index, file in enumerate(self._files):
            file.write(records[order[edges[index] : edges[index + 1]]].tobytes())

    def rows(self) -> Iterator[SortedRows]:
        """Yield all rows in order, some at a time."""
        for index, file in enumerate(self._files):
            first = index * self.width
            size = min(self.width, self.num_nodes - first)
            file.seek(0)
            records = np.frombuffer(file.read(), dtype=_RECORD)
            file.truncate(0)
            if size > 0:
                yield _sort(records, first, size)


def _sort(records: AnyArray, first: int, size: int) -> SortedRows:
    """Return the sorted rows first ... first + size - 1; of equal entries the heaviest stays."""
    columns, turned = records["column"] >> 1, (records["column"] & 1).astype(bool)
    order = np.lexsort((-records["weight"], columns, records["row"]))
    rows, columns, turned = records["row"][order], columns[order], turned[order]
    starts = np.ones(len(rows), dtype=bool)
    starts[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    entry = np.cumsum(starts) - 1
    small = rows < columns  # every edge is seen from both ends; count it at one
    entries = int(starts.sum())
    straight = np.bincount(entry[small & ~turned], minlength=entries)
    reverse = np.bincount(entry[small & turned], minlength=entries)
    repeats = np.maximum(straight - 1, 0).sum() + np.maximum(reverse - 1, 0).sum()
    return SortedRows(
        counts=np.bincount(rows[starts] - first, minlength=size),
        columns=columns[starts],
        weights=records["weight"][order][starts],
        duplicates=int(repeats),
        opposite=int(((straight > 0) & (reverse > 0)).sum()),
    )
