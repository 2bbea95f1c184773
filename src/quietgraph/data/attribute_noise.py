"""Attribute noise: in each node, the values of some feature positions are shuffled."""

import numpy as np
import torch
from torch import Tensor

from quietgraph.errors import InvalidParameterError
from quietgraph.graph import CSR, Features
from quietgraph.types import AnyArray, Mask

_BLOCK_ENTRIES = 4_000_000  # random numbers held at once by the dense version


def shuffle_attributes(
    features: Features, rate: float, where: Mask, *, generator: np.random.Generator
) -> Features:
    """Return the features with a fraction of each node's positions shuffled among themselves.

    Each node draws floor(rate * features) positions and a permutation of them afresh. Sparse
    features stay sparse, in time that grows with their entries, not with nodes x features.

    Args:
        features: One row per node [nodes, features]; not changed.
        rate: Fraction of positions that take part, 0 to 1.
        where: Nodes that are touched [nodes].
        generator: Source of all draws.
    """
    if not 0 <= rate <= 1:
        raise InvalidParameterError(f"the attribute rate must lie between 0 and 1, got {rate}.")
    # The tiny addition keeps 0.7 * 10 = 6.999... at seven positions.
    count = int(rate * features.shape[1] + 1e-9)
    rows = where.cpu().numpy()
    if isinstance(features, CSR):
        return _shuffle_sparse(features, count, rows, generator)
    return _shuffle_dense(features, count, rows, generator)


def _shuffle_dense(
    features: Tensor, count: int, rows: AnyArray, generator: np.random.Generator
) -> Tensor:
    shuffled = features.detach().cpu().numpy().copy()
    width = shuffled.shape[1]
    chosen = np.flatnonzero(rows)
    for block in np.array_split(chosen, 1 + len(chosen) * width // _BLOCK_ENTRIES):
        drawn = generator.random((len(block), width)).argsort(axis=1)[:, :count]
        # A random subset in random order, written back in sorted order: a random permutation.
        values = np.take_along_axis(shuffled[block], drawn, axis=1)
        shuffled[block[:, None], np.sort(drawn, axis=1)] = values
    return torch.from_numpy(shuffled).to(features.device)


def _shuffle_sparse(
    features: CSR, count: int, rows: AnyArray, generator: np.random.Generator
) -> CSR:
    """Return the entries moved as a permutation of `count` random positions of a row moves them.

    Only the images of the non-zeros matter. `taken` of a row's non-zeros are among the drawn
    positions; `inside` of their images fall on the columns of those same non-zeros, the others
    on columns that held zeros. Both numbers are hypergeometric, and which ones is uniform.
    """
    width = features.shape[1]
    row = features.rows.cpu().numpy()
    columns = features.columns.cpu().numpy().astype(np.int64)
    pointer = features.row_pointer.cpu().numpy().astype(np.int64)
    nonzeros = np.diff(pointer)
    drawn = np.where(rows, count, 0)
    taken = generator.hypergeometric(nonzeros, width - nonzeros, drawn)
    inside = generator.hypergeometric(taken, drawn - taken, taken)

    order = _random_order(row, generator)
    place = np.arange(len(row)) - pointer[row]  # of the entry order[j] in its row's random order
    sources, place = order[place < taken[row]], place[place < taken[row]]
    again = sources[_random_order(row[sources], generator)]
    stays = place < inside[row[sources]]
    moved = columns.copy()
    moved[sources[stays]] = columns[again[stays]]
    leaving = sources[~stays]
    moved[leaving] = _zero_columns(row[leaving], columns, row, pointer, width, generator=generator)
    return _with_columns(features, moved, row)


def _random_order(row: AnyArray, generator: np.random.Generator) -> AnyArray:
    """Return an order of the entries that is random within each row and keeps the rows."""
    # Less than 1 by a margin: no rounding may lift an entry into the next row.
    return np.argsort(row + 0.999 * generator.random(len(row)))


def _zero_columns(
    wanted: AnyArray,
    columns: AnyArray,
    row: AnyArray,
    pointer: AnyArray,
    width: int,
    *,
    generator: np.random.Generator,
) -> AnyArray:
    """Return one random zero column for each wanted row [wanted], distinct within a row."""
    free = width - np.diff(pointer)[wanted]
    rank = _distinct_ranks(wanted, free, generator)
    # The rank-th zero column comes after all non-zeros with at most `rank` zeros before them.
    zeros_before = columns - (np.arange(len(columns)) - pointer[row])
    keys = row * (width + 1) + zeros_before  # ascending over the whole matrix
    return rank + np.searchsorted(keys, wanted * (width + 1) + rank, "right") - pointer[wanted]


def _distinct_ranks(group: AnyArray, size: AnyArray, generator: np.random.Generator) -> AnyArray:
    """Return a random whole number below its size for each entry, distinct within a group."""
    rank = generator.integers(size)
    key = group * (size.max(initial=0) + 1)
    entries = np.arange(len(rank))
    while len(entries):
        drawn = key[entries] + rank[entries]
        order = np.argsort(drawn, kind="stable")
        repeated = entries[order[1:]][np.diff(drawn[order]) == 0]
        # Redrawing repeats treats all numbers alike, so every choice stays equally likely.
        rank[repeated] = generator.integers(size[repeated])
        entries = entries[np.isin(group[entries], group[repeated])]
    return rank


def _with_columns(features: CSR, columns: AnyArray, row: AnyArray) -> CSR:
    """Return the matrix with its entries in other columns of their rows [entries]."""
    order = np.argsort(row * features.shape[1] + columns)
    device, index = features.values.device, features.columns.dtype
    return CSR(
        row_pointer=features.row_pointer,
        columns=torch.from_numpy(columns[order]).to(device, index),
        values=features.values[torch.from_numpy(order).to(device)],
        shape=features.shape,
    )
