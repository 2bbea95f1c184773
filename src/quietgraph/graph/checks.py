"""What goes into a `Graph`, checked and brought into its form: features, edges, weights."""

from typing import Any, Final

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.sparse import CSR, Features, is_sparse
from quietgraph.types import FloatArray, IntArray

_FLOATS: Final = np.finfo(np.float32)


def check_features(features: object) -> Features:
    """Return the features, dense or sparse, whichever computes faster; raise where they are no finite matrix."""
    given = features.to_scipy() if isinstance(features, CSR) else features
    try:
        matrix: Any = given if scipy.sparse.issparse(given) else _array(given)
        sparse_in = hasattr(matrix, "tocsr")
        matrix = matrix if matrix.dtype in (np.float32, np.float64) else matrix.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(f"features must be numbers: {error}. Encode text and categories first.") from error
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise InvalidGraphError(
            "features must be a matrix with at least one node and one column [nodes, features], got shape "
            f"{tuple(matrix.shape)}."
        )
    stored = matrix.tocsr().data if sparse_in else matrix
    wrong = ~(np.abs(stored) <= _FLOATS.max)  # also where NaN
    if wrong.any():
        place = "" if sparse_in else " (first at node {}, column {})".format(*np.argwhere(wrong)[0])
        raise InvalidGraphError(
            f"features must be finite and within the range of 32-bit floats, got {stored[wrong][0]:g} in "
            f"{int(wrong.sum())} entries{place}. Replace, drop or scale them first."
        )
    if is_sparse(int(np.count_nonzero(stored)), matrix.shape[0] * matrix.shape[1], matrix.shape[1]):
        return CSR.from_scipy(matrix)
    dense = matrix.toarray() if sparse_in else matrix
    return torch.from_numpy(np.array(dense, dtype=np.float32))


def _array(values: object) -> Any:
    """Return an array, or a SciPy matrix of a sparse tensor."""
    if not isinstance(values, Tensor):
        return np.asarray(values)
    if values.layout == torch.strided:
        return values.detach().cpu().numpy()
    coo = values.detach().cpu().to_sparse().coalesce()
    return scipy.sparse.coo_matrix((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(coo.shape))


def check_edges(edges: object, num_nodes: int) -> IntArray:
    """Return pairs of node indices [2, edges]; raise where they are something else."""
    raw = np.asarray(_array(edges))
    if raw.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    if raw.ndim != 2 or 2 not in raw.shape or not np.issubdtype(raw.dtype, np.integer):
        raise InvalidGraphError(
            f"edges must be pairs of node indices [2, edges], whole numbers, got {raw.dtype} of shape {raw.shape}. Map "
            "node names to 0 ... nodes - 1 first."
        )
    pairs = raw.astype(np.int64) if raw.shape[0] == 2 else raw.astype(np.int64).T
    outside = (pairs < 0) | (pairs >= num_nodes)
    if outside.any():
        raise InvalidGraphError(
            f"edge ids must lie in 0 ... {num_nodes - 1}, got {pairs[outside][0]} "
            f"({int(outside.any(axis=0).sum())} such edges)."
        )
    return pairs


def check_weights(weights: object, num_edges: int) -> FloatArray:
    """Return one positive weight per edge [edges], 1 where none are given."""
    if weights is None:
        return np.ones(num_edges)
    try:
        values = np.asarray(_array(weights), dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(f"edge weights must be numbers: {error}.") from error
    if len(values) != num_edges:
        raise InvalidGraphError(f"weights must have one entry per edge ({num_edges}), got {len(values)}.")
    if not ((values >= _FLOATS.tiny) & (values <= _FLOATS.max)).all():  # also false for NaN
        raise InvalidGraphError("edge weights must be positive 32-bit floats. Leave out edges of weight 0.")
    return values


def fold_edges(pairs: IntArray, values: FloatArray, num_nodes: int) -> tuple[CSR, tuple[str, ...]]:
    """Return the symmetric adjacency, of parallel edges the heaviest, and in words what became of the edges."""
    apart = pairs[0] != pairs[1]
    low, high, weights = pairs[:, apart].min(axis=0), pairs[:, apart].max(axis=0), values[apart]
    order = np.lexsort((-weights, high, low))
    low, high, weights = low[order], high[order], weights[order]
    first = np.ones(len(low), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, weights = low[first], high[first], weights[first]
    both = (np.r_[low, high], np.r_[high, low])
    matrix = scipy.sparse.coo_matrix((np.r_[weights, weights], both), shape=(num_nodes, num_nodes))
    notes = [f"{int((~apart).sum())} self-loops removed"] if not apart.all() else []
    if not first.all():
        notes.append(f"repeated or opposite edges merged: {len(first)} given, {int(first.sum())} kept")
    return CSR.from_scipy(matrix), tuple(notes)
