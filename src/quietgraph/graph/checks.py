"""What goes into a `Graph`, checked and brought into its form: features, edges, weights."""

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.sparse import CSR, Features, is_sparse
from quietgraph.types import AnyArray, FloatArray, IntArray

_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST = float(np.finfo(np.float32).tiny)


def check_features(features: object) -> Features:
    """Return the features, dense or sparse; raise where they are no finite matrix."""
    if isinstance(features, CSR):
        matrix: Any = features.to_scipy()
    elif isinstance(features, Tensor) and features.layout != torch.strided:
        coo = features.detach().cpu().to_sparse().coalesce()
        entries = (coo.values().numpy(), tuple(coo.indices().numpy()))
        matrix = scipy.sparse.coo_matrix(entries, shape=tuple(coo.shape))
    elif scipy.sparse.issparse(features):
        matrix = features
    else:
        matrix = _dense_features(features)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise InvalidGraphError(
            "features must be a matrix with at least one node and one column [nodes, features], "
            f"got shape {tuple(matrix.shape)}."
        )
    return _checked_storage(matrix)


def _dense_features(features: object) -> AnyArray:
    raw = features.detach().cpu().numpy() if isinstance(features, Tensor) else features
    try:
        return _as_float(np.asarray(raw))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(
            f"features must be numbers [nodes, features]: {error}. Encode text and categories first."
        ) from error


def _as_float(raw: AnyArray) -> AnyArray:
    """Return numbers as floats; 64-bit ones stay so until their range is checked."""
    return raw if raw.dtype in (np.float32, np.float64) else raw.astype(np.float64)


def _checked_storage(matrix: Any) -> Features:
    """Return the features dense or sparse, whichever computes faster, all finite."""
    sparse_in = scipy.sparse.issparse(matrix)
    stored = matrix.tocsr().data if sparse_in else matrix
    finite = np.isfinite(stored)
    large = finite & (np.abs(stored) > _LARGEST)
    if large.any():
        raise InvalidGraphError(
            f"features must lie within the range of 32-bit floats, got {stored[large][0]:g} "
            f"({int(large.sum())} such entries). Scale them first."
        )
    if not finite.all():
        where = ""
        if not sparse_in:
            row, column = np.argwhere(~finite)[0]
            where = f" (first at node {row}, column {column})"
        raise InvalidGraphError(
            f"features must be finite, got {int((~finite).sum())} NaN or infinite entries{where}. "
            "Replace or drop them first."
        )
    count = int(matrix.count_nonzero() if sparse_in else np.count_nonzero(matrix))
    size = matrix.shape[0] * matrix.shape[1]
    if is_sparse(count, size, matrix.shape[1]):
        return CSR.from_scipy(matrix)
    return torch.from_numpy(np.array(matrix.toarray() if sparse_in else matrix, dtype=np.float32))


def check_edges(edges: object, num_nodes: int) -> IntArray:
    """Return pairs of node indices [2, edges]; raise where they are something else."""
    raw = np.asarray(edges.detach().cpu() if isinstance(edges, Tensor) else edges)
    if raw.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    if raw.ndim != 2 or 2 not in raw.shape:
        raise InvalidGraphError(f"edges must be pairs of node indices [2, edges], got shape {raw.shape}.")
    if not np.issubdtype(raw.dtype, np.integer):
        raise InvalidGraphError(
            f"edges must be whole numbers (node indices), got {raw.dtype}. Map node names to 0 ... nodes - 1 first."
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
    raw = weights.detach().cpu() if isinstance(weights, Tensor) else weights
    try:
        values = np.asarray(raw, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(f"edge weights must be numbers: {error}.") from error
    if len(values) != num_edges:
        raise InvalidGraphError(f"weights must have one entry per edge ({num_edges}), got {len(values)}.")
    if not ((values >= _SMALLEST) & (values <= _LARGEST)).all():  # also false for NaN
        raise InvalidGraphError(
            "edge weights must be positive and finite as 32-bit floats (below 3.4e38). Leave out edges of weight 0."
        )
    return values


def fold_edges(pairs: IntArray, values: FloatArray, num_nodes: int) -> tuple[CSR, tuple[str, ...]]:
    """Return the symmetric adjacency; of parallel edges the heaviest stays."""
    loops = pairs[0] == pairs[1]
    kept, weights = pairs[:, ~loops], values[~loops]
    low, high = kept.min(axis=0, initial=num_nodes), kept.max(axis=0, initial=-1)
    order = np.lexsort((-weights, high, low))
    low, high, weights = low[order], high[order], weights[order]
    first = np.ones(len(low), dtype=bool)
    first[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    low, high, weights = low[first], high[first], weights[first]
    matrix = scipy.sparse.coo_matrix(
        (np.r_[weights, weights], (np.r_[low, high], np.r_[high, low])),
        shape=(num_nodes, num_nodes),
    )
    return CSR.from_scipy(matrix), fold_notes(int(loops.sum()), len(first), int(first.sum()))


def fold_notes(loops: int, edges: int, kept: int) -> tuple[str, ...]:
    """Return in words what became of the edges: self-loops, edges beside these, those kept."""
    notes = [f"{loops} self-loops removed"] if loops else []
    if edges != kept:
        notes.append(f"repeated or opposite edges merged: {edges} given, {kept} kept")
    return tuple(notes)
