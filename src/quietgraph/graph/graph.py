"""A graph, checked once and without labels, so that nothing downstream can peek at them."""

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.checks import check_edges, check_features, check_weights, fold_edges
from quietgraph.graph.sparse import CSR, Features

if TYPE_CHECKING:
    from torch_geometric.data import Data

_Value = TypeVar("_Value")


@dataclass(frozen=True, eq=False)
class Graph:
    """Nodes with features and undirected edges.

    Build one with `from_arrays`, `from_scipy` or `from_pyg`: they check the input, fold directions, drop self-loops,
    merge duplicates, and say so in `notes`.
    """

    features: Features
    adjacency: CSR  # symmetric, no self-loops; values are the edge weights
    notes: tuple[str, ...] = ()
    # What was computed from this graph alone: never handed on to another one.
    _known: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def from_arrays(cls, features: object, edges: object, *, weights: object = None) -> Self:
        """Return the graph of a feature matrix and a list of edges.

        Args:
            features: One row per node [nodes, features]: array, tensor, DataFrame or SciPy matrix.
            edges: Pairs of node indices [2, edges] or [edges, 2]; direction does not matter.
            weights: One positive number per edge [edges]; every edge counts 1 without it.
        """
        checked = check_features(features)
        pairs = check_edges(edges, checked.shape[0])
        return cls(checked, *fold_edges(pairs, check_weights(weights, pairs.shape[1]), checked.shape[0]))

    @classmethod
    def from_scipy(cls, adjacency: Any, features: object) -> Self:
        """Return the graph of a SciPy adjacency matrix; its values are the edge weights."""
        matrix = scipy.sparse.coo_matrix(adjacency)
        graph = cls.from_arrays(features, np.vstack([matrix.row, matrix.col]), weights=matrix.data)
        if matrix.shape != (graph.num_nodes, graph.num_nodes):
            raise InvalidGraphError(
                f"the adjacency matrix must have one row and column per node ({graph.num_nodes}), got {matrix.shape}."
            )
        return graph

    @classmethod
    def from_pyg(cls, data: Any) -> Self:
        """Return the graph of a PyG `Data`, or of the labelled nodes of a `HeteroData`."""
        from quietgraph.graph.pyg import arrays_of_pyg

        features, edges, weights, notes = arrays_of_pyg(data)
        graph = cls.from_arrays(features, edges, weights=weights)
        return replace(graph, notes=(*notes, *graph.notes))

    def to_pyg(self) -> "Data":
        """Return a PyG `Data` with dense `x`, `edge_index` in both directions and `edge_weight`."""
        from torch_geometric.data import Data

        dense = self.features.to_dense() if isinstance(self.features, CSR) else self.features
        return Data(
            x=dense, edge_index=self.edge_index, edge_weight=self.adjacency.values if self.is_weighted else None
        )

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
        digest, features = hashlib.blake2b(digest_size=16), self.features
        parts = [self.adjacency.row_pointer, self.adjacency.columns, self.adjacency.values]
        parts += [features.row_pointer, features.columns, features.values] if isinstance(features, CSR) else [features]
        digest.update(str(tuple(features.shape)).encode())
        for part in parts:  # without a copy: they may be mapped from disk
            digest.update(np.ascontiguousarray(part.detach().cpu().numpy()).data)
        return digest.hexdigest()

    def with_features(self, features: Features) -> "Graph":
        """Return the graph with other features of as many rows."""
        if features.shape[0] != self.num_nodes:
            raise InvalidGraphError(f"features must have one row per node ({self.num_nodes}), got {features.shape[0]}.")
        return replace(self, features=features)

    def to(self, device: torch.device) -> "Graph":
        """Return the graph on a device."""
        if self.device == device:
            return self
        return replace(self, features=self.features.to(device), adjacency=self.adjacency.to(device))

    def once(self, name: Hashable, compute: Callable[[], _Value]) -> _Value:
        """Return what `compute` returned when this name was first asked for; it depends on the graph alone."""
        if name not in self._known:
            self._known[name] = compute()
        return cast("_Value", self._known[name])

    def __repr__(self) -> str:
        return f"Graph(nodes={self.num_nodes}, edges={self.num_edges}, features={self.num_features})"
