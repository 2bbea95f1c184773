"""Features of a graph that has none: log degree, log PageRank, and how easily each landmark is reached.

All three hardly change when a graph grows: degrees are local, PageRank is a multiple of its mean, and landmarks are
named by their ids.
"""

from typing import Final

import numpy as np
import pandas as pd
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError, UnreadableFileError
from quietgraph.graph.sparse import CSR
from quietgraph.types import AnyArray, Float32Array, FloatArray, SparseMatrix

_LANDMARKS: Final = 64
_DAMPING: Final = 0.85
_STEPS: Final = 4
_AT_ONCE: Final = 8  # landmarks whose walks are in memory together


def features_of_structure(
    adjacency: CSR, keys: AnyArray, landmarks: tuple[str, ...] = ()
) -> tuple[Tensor, tuple[str, ...]]:
    """Return features [nodes, 2 + landmarks], and the ids of the landmarks: those of the fit, or chosen ones.

    Args:
        adjacency: Of the graph.
        keys: Ids of the nodes as texts [nodes].
        landmarks: Of the fit.
    """
    if not adjacency.num_entries:
        raise InvalidGraphError(f"the graph of {len(keys)} nodes has neither features nor edges. Add one of them.")
    ids = landmarks or tuple(keys[choose_landmarks(adjacency)])
    places = pd.Index(keys).get_indexer(pd.Index(ids))
    linked = (places >= 0) & (adjacency.row_counts.numpy()[places] > 0)
    if not linked.all():
        raise UnreadableFileError(
            f"the node '{ids[int(np.argmin(linked))]}' must still be there with its edges: places in the graph are "
            "measured from it. Give the grown graph, not the new part alone."
        )
    return torch.from_numpy(structural_features(adjacency, places)), ids


def structural_features(adjacency: CSR, landmarks: AnyArray) -> Float32Array:
    """Return log degree, log PageRank and walk profiles [nodes, 2 + landmarks].

    The profile of node i at landmark l is log(1 + p / q): p is the probability that a walk from i of 1 to 4 steps (each
    length equally probable) ends in l, q that of an endless walk.
    """
    matrix = adjacency.to_scipy().astype(np.float64)
    degree = np.asarray(matrix.sum(axis=1)).ravel()
    steps = scipy.sparse.diags(np.divide(1, degree, out=np.zeros_like(degree), where=degree > 0)) @ matrix
    features = np.empty((len(degree), 2 + len(landmarks)), dtype=np.float32)
    features[:, 0], features[:, 1] = np.log1p(degree), np.log(page_rank(steps.tocsr()) * len(degree))
    for start in range(0, len(landmarks), _AT_ONCE):
        few = landmarks[start : start + _AT_ONCE]
        reached, arrived = np.zeros((2, len(degree), len(few)))
        reached[few, np.arange(len(few))] = 1.0
        for _ in range(_STEPS):
            reached = steps @ reached
            arrived += reached / _STEPS
        features[:, 2 + start : 2 + start + len(few)] = np.log1p(arrived * degree.sum() / degree[few])
    return features


def choose_landmarks(adjacency: CSR, count: int = _LANDMARKS) -> AnyArray:
    """Return positions of well-linked nodes, first those of which no two are neighbours."""
    pointer, columns = adjacency.row_pointer.numpy(), adjacency.columns.numpy()
    links, near, chosen = np.diff(pointer), np.zeros(len(pointer) - 1, dtype=bool), list[int]()
    order = np.argsort(-links, kind="stable")
    order = order[links[order] > 0]
    for node in order:
        if len(chosen) == count:
            break
        if not near[node]:
            chosen.append(int(node))
            near[columns[pointer[node] : pointer[node + 1]]] = True
    spare = order[~np.isin(order, chosen)]
    return np.array([*chosen, *spare[: count - len(chosen)]], dtype=np.int64)


def page_rank(steps: SparseMatrix) -> FloatArray:
    """Return how often a walker who jumps with probability 0.15 is at each node, given steps [nodes, nodes]."""
    size, backwards = steps.shape[0], steps.T.tocsr()
    stuck = np.asarray(steps.sum(axis=1)).ravel() == 0
    rank: FloatArray = np.full(size, 1 / size)
    for _ in range(100):
        moved = _DAMPING * (backwards @ rank) + (1 - _DAMPING + _DAMPING * rank[stuck].sum()) / size
        change, rank = np.abs(moved - rank).sum(), moved
        if change < 1e-10:
            break
    return rank
