"""What becomes of directions and weights of edges: every graph here is undirected, and says so."""

from typing import Any, Final

import numpy as np
import scipy.sparse as sp

from quietgraph.errors import InvalidParameterError
from quietgraph.types import AnyArray

DIRECTIONS: Final = ("ignore", "features")


def count_one_way(edges: AnyArray, num_nodes: int) -> int:
    """Return how many edges have no opposite one; self-loops and repetitions do not count."""
    rows, columns = (np.asarray(end, dtype=np.int64) for end in edges)
    ids = np.unique((rows * num_nodes + columns)[rows != columns])
    opposite = ids % num_nodes * num_nodes + ids // num_nodes
    return int((~np.isin(ids, opposite)).sum())


def direction_notes(edges: AnyArray, num_nodes: int, direction: str) -> tuple[str, ...]:
    """Return in words what became of directed edges; nothing where all edges go both ways."""
    count = count_one_way(edges, num_nodes)
    if not count:
        return ()
    if direction == "features":
        return (f"directions of {count:,} one-way edges became features",)
    return (f"directions of {count:,} one-way edges are not used",)


def with_direction_features(features: Any, edges: AnyArray, direction: str) -> Any:
    """Return features with the means over in-neighbours and over out-neighbours appended.

    Args:
        features: One row per node [nodes, columns], dense or SciPy.
        edges: From source to target [2, edges].
        direction: One of `DIRECTIONS`; `ignore` returns the features as they are.
    """
    if direction not in DIRECTIONS:
        raise InvalidParameterError(
            f"direction must be one of {', '.join(DIRECTIONS)}, got {direction!r}."
        )
    if direction == "ignore":
        return features
    dense: Any = features if sp.issparse(features) else np.asarray(features, dtype=np.float32)
    count = dense.shape[0]
    out: Any = sp.csr_array(
        (np.ones(edges.shape[1], dtype=np.float32), tuple(edges)), (count, count)
    )
    out.data[:] = 1
    means = [
        sp.diags_array(1 / np.maximum(1, one.sum(axis=1))) @ one @ dense for one in (out.T, out)
    ]
    stack: Any = sp.hstack if sp.issparse(features) else np.hstack
    return stack([dense, *means])
