"""The table of edges in a stream: positions of both ends and weights, some at a time."""

from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.cells import PLAIN, parse, read_cells
from quietgraph.graph.io.limits import NODE, Budget
from quietgraph.graph.io.raw import EdgeBlocks, id_texts
from quietgraph.graph.io.table import Table
from quietgraph.types import AnyArray

ENDS: Final = (("source", "target"), ("from", "to"), ("src", "dst"))
_FLOATS: Final = np.finfo(np.float32)


class EdgeTable:
    """A table with two columns of ids, and perhaps one of weights."""

    def __init__(self, table: Table, notes: list[str], *, drop_dangling: bool = False) -> None:
        """Args: the table, where to put notes, whether edges to unknown ids are left out."""
        self.table, self.notes, self.drop_dangling = table, notes, drop_dangling
        lower = {name.lower(): name for name in table.names}
        if len(table.names) < 2:
            raise UnreadableFileError(
                f"{table.where} must have two columns, source and target, got only "
                f"{', '.join(map(repr, table.names)) or 'an empty table'}."
            )
        ends = next((pair for pair in ENDS if set(pair) <= lower.keys()), None)
        self.ends = [lower[end] for end in ends] if ends else list(table.names[:2])
        weight = lower.get("weight")
        self.weight = None if weight in self.ends else weight
        used = {*self.ends, self.weight}
        unused = [name for name in table.names if name not in used]
        if unused:
            shown = ", ".join(unused[:10]) + (", ..." if len(unused) > 10 else "")
            notes.append(f"columns of {table.where.rpartition('/')[2]} not used: {shown}")

    def ids(self, budget: Budget) -> list[str]:
        """Return all ids in the order in which they first appear, row by row."""
        found: dict[str, None] = {}
        first = 0
        for piece in self.table.pieces():
            ends = [id_texts(piece.column(end), end) for end in self.ends]
            rows = np.column_stack(ends)
            empty = np.flatnonzero((rows == "").any(axis=1))
            if len(empty):
                place = self.table.place(first + int(empty[0]))
                raise UnreadableFileError(f"{self.table.where} {place} lacks an end. Fill it in.")
            found.update(dict.fromkeys(rows.ravel().tolist()))
            budget.check("nodes", len(found), NODE)
            first += len(rows)
        if not found:
            raise UnreadableFileError(f"{self.table.where} has no rows. Put one edge in each.")
        return list(found)

    def blocks(self, keys: pd.Index) -> EdgeBlocks:
        """Yield the edges between nodes with these ids."""
        first = dropped = 0
        for piece in self.table.pieces():
            ends = [id_texts(piece.column(end), end) for end in self.ends]
            places = np.stack([keys.get_indexer(pd.Index(end, dtype=object)) for end in ends])
            kept: AnyArray = np.logical_and(*(places >= 0))
            if not kept.all() and not self.drop_dangling:
                raise self._dangling(ends, places, first)
            weights = self._weights(piece, first)
            dropped += int((~kept).sum())
            first += len(kept)
            yield places[0][kept], places[1][kept], None if weights is None else weights[kept]
        if dropped:
            self.notes.append(f"{dropped:,} edges to ids that are no nodes left out")

    def _dangling(self, ends: list[AnyArray], places: AnyArray, first: int) -> UnreadableFileError:
        row = int(np.flatnonzero((places < 0).any(axis=0))[0])
        side = int(places[0, row] >= 0)
        count = int((places < 0).any(axis=0).sum())
        return UnreadableFileError(
            f"{self.table.where} {self.table.place(first + row)} names the {self.ends[side]} "
            f"'{ends[side][row]}', which is no id of a node ({count} such edges). Add the node, or "
            "leave such edges out with --drop-dangling."
        )

    def _weights(self, piece: pa.RecordBatch, first: int) -> AnyArray | None:
        if self.weight is None:
            return None
        cells = read_cells(piece.column(self.weight), self.weight)
        numbers = cells.numbers
        if cells.kind == "text":
            numbers = np.append(parse(cells.values, PLAIN)[0], np.nan)[cells.codes]
        if numbers is None:
            raise UnreadableFileError(f"{self.table.where}: weights must be positive numbers.")
        with np.errstate(invalid="ignore"):
            wrong = ~((numbers >= _FLOATS.tiny) & (numbers <= _FLOATS.max))
        if wrong.any():
            row = int(wrong.argmax())
            given = piece.column(self.weight)[row].as_py()
            raise UnreadableFileError(
                f"{self.table.where} {self.table.place(first + row)} has the weight '{given}'; "
                "weights must be positive numbers below 3.4e38. Leave out edges that do not count."
            )
        return np.asarray(numbers)
