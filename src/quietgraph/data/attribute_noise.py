"""Attribute noise: in each node, the values of some feature positions are shuffled."""

import numpy as np
import torch
from torch import Tensor

from quietgraph.graph import CSR, Features
from quietgraph.types import IntArray

_BLOCK_ENTRIES = 4_000_000  # random numbers held at once by the dense version


def shuffle_attributes(features: Features, rate: float, *, generator: np.random.Generator) -> Features:
    """Return the features with a fraction of each node's positions shuffled among themselves.

    Each node draws floor(rate * features) positions and a permutation of them afresh. Sparse features stay sparse,
    in time that grows with their entries, not with nodes x features.

    Args:
        features: One row per node [nodes, features]; not changed.
        rate: Fraction of positions that take part, 0 to 1.
        generator: Source of all draws.
    """
    count = int(rate * features.shape[1] + 1e-9)  # 0.7 * 10 = 6.999... is seven positions
    shuffle = _shuffle_sparse if isinstance(features, CSR) else _shuffle_dense
    return shuffle(features, count, generator)  # type: ignore[arg-type]


def _shuffle_dense(features: Tensor, count: int, generator: np.random.Generator) -> Tensor:
    shuffled = features.detach().cpu().numpy().copy()
    for block in np.array_split(shuffled, 1 + shuffled.size // _BLOCK_ENTRIES):  # views
        drawn = generator.random(block.shape).argsort(axis=1)[:, :count]
        # A random subset in random order, written back in sorted order: a random permutation.
        np.put_along_axis(block, np.sort(drawn, axis=1), np.take_along_axis(block, drawn, axis=1), axis=1)
    return torch.from_numpy(shuffled)


def _shuffle_sparse(features: CSR, count: int, generator: np.random.Generator) -> CSR:
    """Return the entries moved as a permutation of `count` random positions of a row moves them.

    Only the images of the non-zeros matter. `taken` of a row's non-zeros are among the drawn positions; `inside` of
    their images fall on the columns of those same non-zeros, the others on columns that held zeros. Both numbers are
    hypergeometric, and which ones is uniform.
    """
    width, row = features.shape[1], features.rows.numpy()
    columns, pointer = features.columns.long().numpy(), features.row_pointer.long().numpy()
    nonzeros = np.diff(pointer)
    taken = generator.hypergeometric(nonzeros, width - nonzeros, np.full(len(nonzeros), count))
    inside = generator.hypergeometric(taken, count - taken, taken)

    order = _random_order(row, generator)
    place = np.arange(len(row)) - pointer[row]  # of the entry order[j] in its row's random order
    sources, place = order[place < taken[row]], place[place < taken[row]]
    again = sources[_random_order(row[sources], generator)]
    stays = place < inside[row[sources]]
    moved = columns.copy()
    moved[sources[stays]] = columns[again[stays]]
    wanted = row[sources[~stays]]
    rank = _distinct_ranks(wanted, (width - nonzeros)[wanted], generator)
    # The rank-th zero column comes after all non-zeros with at most `rank` zeros before them.
    keys = row * (width + 1) + columns - (np.arange(len(columns)) - pointer[row])  # ascending over the whole matrix
    moved[sources[~stays]] = rank + np.searchsorted(keys, wanted * (width + 1) + rank, "right") - pointer[wanted]

    order = np.argsort(row * width + moved)
    found = torch.from_numpy(moved[order]).to(features.columns.dtype)
    return CSR(features.row_pointer, found, features.values[torch.from_numpy(order)], features.shape)


def _random_order(row: IntArray, generator: np.random.Generator) -> IntArray:
    """Return an order of the entries that is random within each row and keeps the rows."""
    # Less than 1 by a margin: no rounding may lift an entry into the next row.
    return np.argsort(row + 0.999 * generator.random(len(row)))


def _distinct_ranks(group: IntArray, size: IntArray, generator: np.random.Generator) -> IntArray:
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
