"""The normalised adjacency, whose edges views can drop, and the features as encoders read them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR, Features, Graph

_LARGE = 1e15  # squares of larger entries, and their sums, leave single precision


@dataclass(frozen=True, eq=False)
class Structure:
    """The structure of A + I with, for every entry, the undirected pair of nodes it belongs to.

    Views only change which pairs count: `operator` fills in values for the fixed structure.
    """

    weights: CSR  # A + I, and spare pairs of weight 1
    pair_of_entry: Tensor  # [entries] int64 in 0 ... num_pairs - 1
    num_edges: int
    num_spare: int  # pairs that are no edges, which a view may add
    num_nodes: int

    @classmethod
    def of(cls, graph: Graph, *, spare_pairs: Tensor | None = None) -> "Structure":
        """Return the structure of a graph with room for spare pairs [2, pairs]; without them it is built once."""
        if spare_pairs is not None:
            return cls._build(graph, spare_pairs)
        return graph.once("structure", lambda: cls._build(graph, torch.empty((2, 0), dtype=torch.int64)))

    @classmethod
    def _build(cls, graph: Graph, spare_pairs: Tensor) -> "Structure":
        spare, nodes = spare_pairs.cpu().numpy(), np.arange(graph.num_nodes)
        upper = scipy.sparse.triu(graph.adjacency.to_scipy(), k=1).tocoo()
        low, high = np.concatenate([upper.row, spare[0]]), np.concatenate([upper.col, spare[1]])
        weight = np.concatenate([upper.data, np.ones(spare.shape[1], dtype=upper.data.dtype)])
        rows, columns = np.concatenate([low, high, nodes]), np.concatenate([high, low, nodes])
        values = np.concatenate([weight, weight, np.ones(len(nodes), dtype=weight.dtype)])
        pairs = np.arange(len(low))
        owner = np.concatenate([pairs, pairs, len(low) + nodes])
        order = np.lexsort((columns, rows))
        pointer = np.concatenate([[0], np.bincount(rows, minlength=len(nodes)).cumsum()])
        index = graph.adjacency.columns.dtype
        parts = torch.from_numpy(pointer).to(index), torch.from_numpy(columns[order]).to(index)
        weights = CSR(*parts, torch.from_numpy(values[order]), (len(nodes), len(nodes))).to(graph.device)
        _ = weights.rows  # kept by every view
        owners = torch.from_numpy(owner[order]).to(graph.device)
        return cls(weights, owners, graph.num_edges, spare.shape[1], len(nodes))

    @property
    def num_pairs(self) -> int:
        """Edges, spare pairs and self-loops, in this order."""
        return self.num_edges + self.num_spare + self.num_nodes

    def everything(self) -> Tensor:
        """Return the presence of the graph as given: all edges and self-loops, no spare pair [pairs]."""
        present = torch.ones(self.num_pairs, dtype=self.weights.values.dtype, device=self.weights.values.device)
        present[self.num_edges : self.num_edges + self.num_spare] = 0
        return present

    def operator(self, present: Tensor | None = None) -> CSR:
        """Return the normalised adjacency over the pairs that are present [pairs] (0 or 1).

        Entries are w_ij / sqrt(d_i d_j) with degrees over what is present; a node with nothing left has a row of zeros.
        """
        if present is None:
            present = self.everything()
        values = self.weights.values * present[self.pair_of_entry]
        rows, columns = self.weights.rows, self.weights.columns
        degree = torch.zeros(self.num_nodes, dtype=values.dtype, device=values.device)
        degree.index_add_(0, rows, values)
        scale = torch.where(degree > 0, degree.rsqrt(), torch.zeros_like(degree))
        return self.weights.with_values(values * scale[rows] * scale[columns])


def normalised_adjacency(graph: Graph) -> CSR:
    """Return D^-1/2 (A + I) D^-1/2, symmetric, built once and kept with the graph."""
    return graph.once("normalised adjacency", lambda: Structure.of(graph).operator())


def walk_matrix(graph: Graph) -> CSR:
    """Return D^-1 (A + I), one step of a random walk with self-loops, built once and kept with the graph."""

    def compute() -> CSR:
        weights = Structure.of(graph).weights
        degree = torch.zeros(graph.num_nodes, device=graph.device).index_add_(0, weights.rows, weights.values)
        return weights.with_values(weights.values / degree[weights.rows])

    return graph.once("walk matrix", compute)


def scaled(graph: Graph, norm: str) -> Features:
    """Return the features with rows of unit "l1" or "l2" norm, or as they are ("none"); kept with the graph."""
    if norm == "none":
        return graph.features
    return graph.once(("scaled features", norm), lambda: scale_rows(graph.features, norm))


def scale_rows(features: Features, norm: str) -> Features:
    """Return the features with rows of unit "l1" or "l2" norm; rows of zeros stay."""
    power = {"l1": 1, "l2": 2}[norm]
    if isinstance(features, CSR):
        sums = torch.zeros(features.shape[0], dtype=features.values.dtype, device=features.values.device)
        sums.index_add_(0, features.rows, features.values.abs().pow(power))
        length = sums.pow(1 / power)[features.rows]
        return features.with_values(features.values / length.clamp_min(1e-12))
    largest = features.abs().amax(dim=1, keepdim=True)
    if bool((largest < _LARGE).all()):
        return F.normalize(features, p=power, dim=1)
    return F.normalize(features / largest.clamp_min(1.0), p=power, dim=1)


def drop_entries(features: Features, rate: float, *, training: bool) -> Features:
    """Return features with stored entries dropped at a rate and the rest scaled up; in training alone."""
    if not training or rate == 0:
        return features
    if isinstance(features, CSR):
        return features.with_values(F.dropout(features.values, rate))
    return F.dropout(features, rate)
