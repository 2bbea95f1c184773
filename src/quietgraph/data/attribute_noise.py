"""Attribute noise: in each node, the values of some feature positions are shuffled."""

from typing import Any

import numpy as np
import scipy.sparse
import torch

from quietgraph.graph import CSR, Features

_BLOCK_ENTRIES = 4_000_000  # numbers held at once


def shuffle_attributes(features: Features, rate: float, *, generator: np.random.Generator) -> Features:
    """Return the features with a fraction of each node's positions shuffled among themselves.

    Each node draws floor(rate * features) positions and a permutation of them afresh, in blocks of dense rows.

    Args:
        features: One row per node [nodes, features]; not changed.
        rate: Fraction of positions that take part, 0 to 1.
        generator: Source of all draws.
    """
    given: Any = features.to_scipy() if isinstance(features, CSR) else features.detach().cpu().numpy()
    nodes, width = given.shape
    count = int(rate * width + 1e-9)  # 0.7 * 10 = 6.999... is seven positions
    shuffled: list[Any] = []
    for rows in np.array_split(np.arange(nodes), 1 + nodes * width // _BLOCK_ENTRIES):
        block = given[rows].toarray() if isinstance(features, CSR) else given[rows].copy()
        drawn = generator.random(block.shape).argsort(axis=1)[:, :count]
        # A random subset in random order, written back in sorted order: a random permutation.
        np.put_along_axis(block, np.sort(drawn, axis=1), np.take_along_axis(block, drawn, axis=1), axis=1)
        shuffled.append(scipy.sparse.csr_matrix(block) if isinstance(features, CSR) else block)
    if isinstance(features, CSR):
        return CSR.from_scipy(scipy.sparse.vstack(shuffled))
    return torch.from_numpy(np.concatenate(shuffled))
