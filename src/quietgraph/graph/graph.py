"""A graph, checked once and without labels, so that nothing downstream can peek at them."""

import hashlib
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from quietgraph.errors import InvalidGraphError
from quietgraph.graph.checks import (
    check_edges,
    check_features,
    check_same_count,
    check_weights,
    fold_edges,
    node_attribute,
)
from quietgraph.graph.directions import direction_notes
from quietgraph.graph.from_pyg import arrays_of_pyg
from quietgraph.graph.sparse import CSR, Features
from quietgraph.html import facts_html

if TYPE_CHECKING:
    import networkx as nx
    from torch_geometric.data import Data

_Value = TypeVar("_Value")


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
    _known: dict[Hashable, object] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.adjacency, CSR):
            raise InvalidGraphError(
                f"a Graph is not made of {type(self.adjacency).__name__} as it is. Use "
                "Graph.from_pandas, from_arrays, from_networkx, from_pyg or from_scipy."
            )

    @classmethod
    def from_arrays(cls, features: object, edges: object, *, weights: object = None) -> Self:
        """Return the graph of a feature matrix and a list of edges.

        Args:
            features: One row per node [nodes, features]: array, tensor, DataFrame or SciPy matrix.
            edges: Pairs of node indices [2, edges] or [edges, 2]; direction does not matter.
            weights: One positive number per edge [edges]; every edge counts 1 without it.
        """
        checked = check_features(features)
        num_nodes = checked.shape[0]
        pairs = check_edges(edges, num_nodes)
        values = check_weights(weights, pairs.shape[1])
        adjacency, notes = fold_edges(pairs, values, num_nodes)
        return cls(checked, adjacency, notes)

    @classmethod
    def from_scipy(cls, adjacency: Any, features: object) -> Self:
        """Return the graph of a SciPy adjacency matrix; its values are the edge weights."""
        matrix = scipy.sparse.coo_matrix(adjacency)
        if matrix.shape[0] != matrix.shape[1]:
            raise InvalidGraphError(
                f"the adjacency matrix must be square, got {matrix.shape[0]} x {matrix.shape[1]}."
            )
        check_same_count(matrix.shape[0], features)
        edges = np.vstack([matrix.row, matrix.col])
        graph = cls.from_arrays(features, edges, weights=matrix.data)
        return graph._noting(direction_notes(edges, graph.num_nodes, "ignore"))

    @classmethod
    def from_pyg(
        cls,
        data: object,
        *,
        target: str | None = None,
        direction: str = "ignore",
        weighted: bool = True,
    ) -> Self:
        """Return the graph of a PyG `Data`, or of the target nodes of a `HeteroData`.

        Args:
            data: With `x`, `edge_index` and perhaps `edge_weight` (or one number of `edge_attr`).
            target: Node type of a `HeteroData` whose nodes are classified; by default the one
                with `y`. Other types join these nodes and add to their features.
            direction: `ignore`; or `features` to append the mean features of in-neighbours and
                of out-neighbours. Edges have no direction either way.
            weighted: Whether edge weights count.
        """
        found = arrays_of_pyg(data, target=target, direction=direction, weighted=weighted)
        graph = cls.from_arrays(found.features, found.edges, weights=found.weights)
        return graph._noting(found.notes)

    @classmethod
    def from_networkx(
        cls, source: "nx.Graph", features: object = "x", *, weight: str | None = None
    ) -> Self:
        """Return the graph of a NetworkX graph, nodes in the order of `source.nodes`.

        Args:
            source: Any NetworkX graph; directions and parallel edges are folded.
            features: Name of the node attribute that holds the features, or a matrix.
            weight: Name of the edge attribute that holds the weight.
        """
        position = {node: index for index, node in enumerate(source.nodes)}
        if isinstance(features, str):
            features = node_attribute(source, features)
        pairs = [(position[a], position[b]) for a, b in source.edges()]
        edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        weights = None
        if weight is not None:
            weights = [attributes.get(weight, 1.0) for _, _, attributes in source.edges(data=True)]
        check_same_count(len(position), features)
        graph = cls.from_arrays(features, edges, weights=weights)
        if not source.is_directed():
            return graph
        return graph._noting(direction_notes(edges, graph.num_nodes, "ignore"))

    @classmethod
    def from_pandas(
        cls, nodes: object, edges: object, *, columns: Mapping[str, str] | None = None
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

    def to_pyg(self) -> "Data":
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
        return cast("_Value", self._known[name])

    def _noting(self, notes: tuple[str, ...]) -> Self:
        return replace(self, notes=(*notes, *self.notes)) if notes else self

    def _copy_to(self, device: torch.device) -> "Graph":
        return replace(self, features=self.features.to(device), adjacency=self.adjacency.to(device))

    def facts(self) -> dict[str, object]:
        """Return sizes by name, for people."""
        sizes = {"nodes": self.num_nodes, "edges": self.num_edges, "features": self.num_features}
        return {**sizes, "edge weights": self.is_weighted}

    def _repr_html_(self) -> str:
        return facts_html("Graph", self.facts(), self.notes)

    def __repr__(self) -> str:
        return (
            f"Graph(nodes={self.num_nodes}, edges={self.num_edges}, features={self.num_features})"
        )
