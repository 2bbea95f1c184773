"""A graph, checked once and without labels, so that nothing downstream can peek at them."""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.sparse import CSR

Features: TypeAlias = Tensor | CSR  # [nodes, features] float32, dense or sparse
_Value = TypeVar("_Value")

_SPARSE_BELOW = 0.15  # fraction of non-zeros under which a sparse product is the faster one
_SPARSE_FROM = 64  # columns from which sparsity is worth its bookkeeping
_LARGEST = float(np.finfo(np.float32).max)
_SMALLEST = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes with features and undirected edges.

    Build one with `from_arrays`, `from_pandas`, `from_pyg`, `from_networkx` or `from_scipy`: they
    check the input, fold directions, drop self-loops and merge duplicates, and say so in `notes`.
    """

    features: Features
    adjacency: CSR  # symmetric, no self-loops; values are the edge weights
    notes: tuple[str, ...] = field(default=())
    # What was computed from this graph: never handed on to another one.
    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_arrays(cls, features: Any, edges: Any, *, weights: Any = None) -> Self:
        """Return the graph of a feature matrix and a list of edges.

        Args:
            features: One row per node [nodes, features]: array, tensor, DataFrame or SciPy matrix.
            edges: Pairs of node indices [2, edges] or [edges, 2]; direction does not matter.
            weights: One positive number per edge [edges]; every edge counts 1 without it.
        """
        checked = _check_features(features)
        num_nodes = checked.shape[0]
        pairs = check_edges(edges, num_nodes)
        values = check_weights(weights, pairs.shape[1])
        adjacency, notes = _fold(pairs, values, num_nodes)
        return cls(checked, adjacency, notes)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: Any) -> Self:
        """Return the graph of a SciPy adjacency matrix; its values are the edge weights."""
        matrix = scipy.sparse.coo_matrix(adjacency)
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidGraphError(
                f"the adjacency matrix must be square, got {matrix.shape[0]} x {matrix.shape[1]}."
            )
        _check_same_count(matrix.shape[0], features)
        edges = np.vstack([matrix.row, matrix.col])
        return cls.from_arrays(features, edges, weights=matrix.data)

    @classmethod
    def from_pyg(cls, data: Any) -> Self:
        """Return the graph of a PyG `Data` (`x`, `edge_index`, optional edge weights)."""
        if getattr(data, "x", None) is None or getattr(data, "edge_index", None) is None:
            raise InvalidGraphError(
                "the PyG data must have x and edge_index. Set data.x to a [nodes, features] tensor."
            )
        weights = getattr(data, "edge_weight", None)
        attributes = getattr(data, "edge_attr", None)
        if weights is None and attributes is not None:
            one_number_each = attributes.numel() == data.edge_index.shape[1]
            weights = attributes.reshape(-1) if one_number_each else None
        return cls.from_arrays(data.x, data.edge_index, weights=weights)

    @classmethod
    def from_networkx(cls, source: Any, features: Any = "x", *, weight: str | None = None) -> Self:
        """Return the graph of a NetworkX graph, nodes in the order of `source.nodes`.

        Args:
            source: Any NetworkX graph; directions and parallel edges are folded.
            features: Name of the node attribute that holds the features, or a matrix.
            weight: Name of the edge attribute that holds the weight.
        """
        position = {node: index for index, node in enumerate(source.nodes)}
        if isinstance(features, str):
            features = _node_attribute(source, features)
        pairs = [(position[a], position[b]) for a, b in source.edges()]
        edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        weights = None
        if weight is not None:
            weights = [attributes.get(weight, 1.0) for _, _, attributes in source.edges(data=True)]
        _check_same_count(len(position), features)
        return cls.from_arrays(features, edges, weights=weights)

    @classmethod
    def from_pandas(
        cls, nodes: Any, edges: Any, *, columns: Mapping[str, str] | None = None
    ) -> "Graph":
        """Return the graph of two DataFrames; columns become features as those of files do.

        Args:
            nodes: One row per node, with a column of ids; a column called label, class, y or
                target is left out.
            edges: One row per edge: the ids of its ends, and perhaps a weight.
            columns: Kind of some columns by name: number, scaled, date, category, text, vector,
                label, id, ignore.
        """
        from quietgraph.graph.io import read_graph  # noqa: PLC0415  (it builds on this module)

        return read_graph(nodes=nodes, edges=edges, columns=columns).graph

    def to_pyg(self) -> Any:
        """Return a PyG `Data` with dense `x`, `edge_index` in both directions and `edge_weight`."""
        from torch_geometric.data import Data  # noqa: PLC0415  (slow to import, rarely needed)

        dense = self.features.to_dense() if isinstance(self.features, CSR) else self.features
        weight = self.adjacency.values if self.is_weighted else None
        return Data(x=dense, edge_index=self.edge_index, edge_weight=weight)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.adjacency.shape[0]

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return self.adjacency.num_entries // 2

    @property
    def num_features(self) -> int:
        """Number of feature columns."""
        return int(self.features.shape[1])

    @property
    def edge_index(self) -> Tensor:
        """Both directions of every edge [2, 2 * edges] int64."""
        return torch.stack([self.adjacency.rows, self.adjacency.columns.long()])

    @cached_property
    def is_weighted(self) -> bool:
        """Whether any edge weight differs from 1."""
        return bool((self.adjacency.values != 1).any())

    @property
    def device(self) -> torch.device:
        """Where the tensors live."""
        return self.adjacency.values.device

    @cached_property
    def fingerprint(self) -> str:
        """Hash of features and edges: equal graphs have equal fingerprints."""
        digest = hashlib.blake2b(digest_size=16)
        features = self.features
        parts = [self.adjacency.row_pointer, self.adjacency.columns, self.adjacency.values]
        if isinstance(features, CSR):
            parts += [features.row_pointer, features.columns, features.values]
        else:
            parts.append(features)
        digest.update(str(tuple(features.shape)).encode())
        for part in parts:  # without a copy: they may be mapped from disk
            digest.update(np.ascontiguousarray(part.detach().cpu().numpy()).data)
        return digest.hexdigest()

    def with_features(self, features: Features) -> "Graph":
        """Return the graph with other features of as many rows."""
        if features.shape[0] != self.num_nodes:
            raise InvalidGraphError(
                f"features must have one row per node ({self.num_nodes}), got {features.shape[0]}."
            )
        return replace(self, features=features)

    def to(self, device: torch.device) -> "Graph":
        """Return the graph on a device."""
        if self.device == device:
            return self
        return self.once(("on device", device), lambda: self._copy_to(device))

    def once(self, name: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Return what `compute` returned when this name was first asked for, and keep it."""
        if name not in self._known:
            self._known[name] = compute()
        value: _Value = self._known[name]
        return value

    def _copy_to(self, device: torch.device) -> "Graph":
        return replace(self, features=self.features.to(device), adjacency=self.adjacency.to(device))

    def __repr__(self) -> str:
        return (
            f"Graph(nodes={self.num_nodes}, edges={self.num_edges}, features={self.num_features})"
        )


def _check_features(features: Any) -> Features:
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


def _dense_features(features: Any) -> Any:
    raw = features.detach().cpu().numpy() if isinstance(features, Tensor) else features
    try:
        return _as_float(np.asarray(raw))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(
            f"features must be numbers [nodes, features]: {error}. "
            "Encode text and categories first."
        ) from error


def _as_float(raw: Any) -> Any:
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
    count = matrix.count_nonzero() if sparse_in else np.count_nonzero(matrix)
    size = matrix.shape[0] * matrix.shape[1]
    if matrix.shape[1] >= _SPARSE_FROM and count < _SPARSE_BELOW * size:
        return CSR.from_scipy(matrix)
    return torch.from_numpy(np.array(matrix.toarray() if sparse_in else matrix, dtype=np.float32))


def check_edges(edges: Any, num_nodes: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return pairs of node indices [2, edges]; raise where they are something else."""
    raw = np.asarray(edges.detach().cpu() if isinstance(edges, Tensor) else edges)
    if raw.size == 0:
        return np.empty((2, 0), dtype=np.int64)
    if raw.ndim != 2 or 2 not in raw.shape:
        raise InvalidGraphError(
            f"edges must be pairs of node indices [2, edges], got shape {raw.shape}."
        )
    if not np.issubdtype(raw.dtype, np.integer):
        raise InvalidGraphError(
            f"edges must be whole numbers (node indices), got {raw.dtype}. "
            "Map node names to 0 ... nodes - 1 first."
        )
    pairs = raw.astype(np.int64) if raw.shape[0] == 2 else raw.astype(np.int64).T
    outside = (pairs < 0) | (pairs >= num_nodes)
    if outside.any():
        raise InvalidGraphError(
            f"edge ids must lie in 0 ... {num_nodes - 1}, got {pairs[outside][0]} "
            f"({int(outside.any(axis=0).sum())} such edges)."
        )
    return pairs


def check_weights(weights: Any, num_edges: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return one positive weight per edge [edges], 1 where none are given."""
    if weights is None:
        return np.ones(num_edges)
    raw = weights.detach().cpu() if isinstance(weights, Tensor) else weights
    try:
        values = np.asarray(raw, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGraphError(f"edge weights must be numbers: {error}.") from error
    if len(values) != num_edges:
        raise InvalidGraphError(
            f"weights must have one entry per edge ({num_edges}), got {len(values)}."
        )
    if not ((values >= _SMALLEST) & (values <= _LARGEST)).all():  # also false for NaN
        raise InvalidGraphError(
            "edge weights must be positive and finite as 32-bit floats (below 3.4e38). "
            "Leave out edges of weight 0."
        )
    return values


def _fold(pairs: Any, values: Any, num_nodes: int) -> tuple[CSR, tuple[str, ...]]:
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


def _node_attribute(source: Any, name: str) -> Any:
    rows = [attributes.get(name) for _, attributes in source.nodes(data=True)]
    missing = sum(row is None for row in rows)
    if missing:
        raise InvalidGraphError(
            f"every node must have the attribute '{name}', {missing} have not. "
            "Name another attribute or hand over a feature matrix."
        )
    return np.array(rows, dtype=np.float32).reshape(len(rows), -1)


def _check_same_count(num_nodes: int, features: Any) -> None:
    rows = features.shape[0] if hasattr(features, "shape") else len(features)
    if rows != num_nodes:
        raise InvalidGraphError(f"features must have one row per node ({num_nodes}), got {rows}.")
