"""The columns of a table as one matrix of features, some rows at a time."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
import torch

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.columns import AT_ONCE, CELLS, SCALARS, Column, as_text, number, word_counts
from quietgraph.graph.io.tables import Table, quoted
from quietgraph.graph.sparse import CSR, Features, is_sparse
from quietgraph.types import AnyArray

# Makes an array of a name, shape and type: in memory, or as a file that is mapped.
Allocate: TypeAlias = Callable[[str, tuple[int, ...], Any], AnyArray]


def encode(table: Table, columns: Sequence[Column], allocate: Allocate) -> Features:
    """Return the features of all rows; columns are kept sparse where few of their features are not 0."""
    width, blocks = sum(column.width for column in columns), list[Any]()
    sparse = is_sparse(sum(column.filled for column in columns), width, width)
    dense = np.empty(0) if sparse else allocate("features", (table.rows, width), np.float32)
    rows = max(2048, CELLS // width)
    for start in range(0, table.rows, rows):
        parts, place = _encode_rows(table, columns, start, rows), 0
        if sparse:
            blocks.append(scipy.sparse.hstack([scipy.sparse.csr_matrix(part) for part in parts], "csr", np.float32))
            continue
        for part in parts:
            block = part.toarray() if hasattr(part, "toarray") else part
            dense[start : start + len(block), place : place + block.shape[1]] = block
            place += block.shape[1]
    return CSR.from_scipy(scipy.sparse.vstack(blocks, "csr")) if sparse else torch.from_numpy(dense)


def _encode_rows(table: Table, columns: Sequence[Column], start: int, rows: int) -> list[Any]:
    """Return the features of some rows, side by side: neighbouring numbers in one matrix, each other column alone."""
    block = f"FROM {{table}} WHERE _row >= {start} AND _row < {start + rows} ORDER BY _row"
    asked = [one for one in columns if one.kind not in {"text", "vector"}]
    cells = dict[str, AnyArray]()
    for place in range(0, len(asked), AT_ONCE):
        few = asked[place : place + AT_ONCE]
        chosen = ", ".join(f"{_cell(table, one)} AS {table.column(one.name)}" for one in few)
        cells |= zip((one.name for one in few), table.arrays(f"SELECT {chosen} {block}"), strict=True)
    parts, numbers = list[Any](), list[AnyArray]()
    for column in columns:
        if column.kind in SCALARS:
            numbers.append(cells[column.name])
            continue
        parts += [np.column_stack(numbers)] if numbers else []
        numbers = []
        if column.kind == "category":
            codes = cells[column.name]
            places = np.flatnonzero(codes)
            ones = (np.ones(len(places)), (places, codes[places] - 1))
            parts.append(scipy.sparse.csr_matrix(ones, shape=(len(codes), column.width)))
        elif column.kind == "text":
            from sklearn.preprocessing import normalize

            weights = scipy.sparse.diags(np.array(column.weights))
            parts.append(normalize(word_counts(table, column.name, start, rows) @ weights))
        else:
            parts.append(_vectors(table, column, block))
    return [*parts, np.column_stack(numbers)] if numbers else parts


def _cell(table: Table, column: Column) -> str:
    """Return a scaled number, or the place of a category from 1, 0 where it is empty or new, in SQL."""
    if column.kind == "category":
        values = ", ".join(map(quoted, column.values))
        return f"coalesce(list_position([{values}], {as_text(table, column.name)}), 0)"
    value = f"coalesce({number(table, column.name, column.style)}, {column.fill!r}::DOUBLE)"
    return f"(({value} - {column.shift!r}::DOUBLE) / {column.scale!r}::DOUBLE)::FLOAT"


def _vectors(table: Table, column: Column, block: str) -> AnyArray:
    name = table.column(column.name)
    (present,) = table.arrays(f"SELECT {name} IS NOT NULL {block}")
    vectors = np.zeros((len(present), column.width), dtype=np.float32)
    entries = table.arrays(f"SELECT unnest({name})::FLOAT {block}")[0].astype(np.float32)
    if not np.isfinite(entries).all():
        raise UnreadableFileError(
            f"{table.where}: vectors in '{column.name}' have empty or infinite entries. Fill them in."
        )
    vectors[present] = entries.reshape(-1, column.width)
    return vectors
