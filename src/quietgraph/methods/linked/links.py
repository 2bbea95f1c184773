"""Links that a graph lacks: which pairs to consider, how much each weighs, and the graph with them.

An edge predictor learns embeddings whose products tell edges from other pairs; candidate pairs become edges of that
weight. NRGNN and RTGNN share it.
"""

from dataclasses import dataclass
from typing import Any

import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.encoder import GraphConvolution
from quietgraph.embed.sparse import entry_products, project, propagate_weighted
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.gcn import GCNNetwork
from quietgraph.types import Embeddings, Scalar, Scores

MOST_PAIRS = 4_000_000  # candidates in all, so that memory stays linear whatever the settings
_CELLS = 16_000_000  # similarities held at once


class LinkedGCN(nn.Module):
    """A drop(relu(A X W0 + b0)) W1 + b1 on an operator A whose values may be learned; the input has no dropout."""

    def __init__(self, features: int, hidden: int, classes: int, *, dropout: float) -> None:
        super().__init__()
        self.first, self.second = GraphConvolution(features, hidden), GraphConvolution(hidden, classes)
        self.dropout = dropout

    def forward(self, operator: CSR, features: Features) -> tuple[Scores, Embeddings]:
        """Return scores and hidden rows of every node [nodes, classes], [nodes, hidden]."""
        hidden = (propagate_weighted(operator, project(features, self.first.weight)) + self.first.bias).relu()
        narrow = F.dropout(hidden, self.dropout, self.training) @ self.second.weight
        return propagate_weighted(operator, narrow) + self.second.bias, hidden


class LinkedNetworks(nn.Module):
    """An edge predictor, two classifiers, and the operators of the last step, with which these classify."""

    def __init__(self, features: int, edge_dim: int, hidden: int, classes: int, *, dropout: float) -> None:
        super().__init__()
        self.predictor = GCNNetwork(features, edge_dim, edge_dim, dropout=0.0, norm="none")
        self.first, self.second = (LinkedGCN(features, hidden, classes, dropout=dropout) for _ in range(2))
        self.operators: tuple[CSR, ...] = ()

    def keep(self, *operators: CSR) -> None:
        """Keep the operators of this step, without their gradient."""
        self.operators = tuple(operator.with_values(operator.values.detach()) for operator in operators)

    def get_extra_state(self) -> tuple[CSR, ...]:
        """Return what is restored with the weights of the best epoch."""
        return self.operators

    def set_extra_state(self, state: Any) -> None:
        """Restore it."""
        self.operators = state


@dataclass(frozen=True, eq=False)
class LinkedGraph:
    """A graph and candidate pairs that become edges as far as an edge predictor wants them."""

    pairs: CSR  # one entry per candidate; its row receives from its column
    structure: CSR  # edges, self-loops and candidates, in the rows that receive
    order: Tensor  # entry of the structure -> its place in (graph's own, candidates, back)
    own: Tensor  # weights of the graph's edges and self-loops
    mutual: Tensor  # candidates that lead both ways
    threshold: float  # lighter links are left out

    @classmethod
    def of(cls, graph: Graph, one_way: Tensor, mutual: Tensor, *, threshold: float) -> "LinkedGraph":
        """Return the graph with candidates as `new_pairs` gives them: receiver and sender, or both ways [2, pairs]."""
        size, nodes = graph.num_nodes, torch.arange(graph.num_nodes, device=graph.device)
        pairs = torch.cat([mutual, one_way], dim=1)
        place = torch.argsort(pairs[0] * size + pairs[1])
        pairs, both = pairs[:, place], (place < mutual.shape[1]).nonzero().squeeze(1)
        ends = torch.cat([graph.edge_index, torch.stack([nodes, nodes]), pairs, pairs[:, both].flip(0)], dim=1)
        order = torch.argsort(ends[0] * size + ends[1])
        own = torch.cat([graph.adjacency.values, torch.ones(size, device=graph.device)])
        return cls(_ones_at(pairs, size), _ones_at(ends[:, order], size), order, own, both, threshold)

    def link(self, embeddings: Embeddings) -> tuple[CSR, CSR]:
        """Return the graph with links z_i . z_j: its normalised operator, and its weights without gradient.

        Entries of the operator are w_ij / sqrt(d_i d_j) with d the sum of incoming weights; links that lead one way
        make it asymmetric. The gradient reaches the embeddings through its values.
        """
        products = entry_products(self.pairs, embeddings, embeddings)
        weights = products * (products >= self.threshold)
        entries = torch.cat([self.own, weights, weights[self.mutual]])[self.order]
        kept = entries.detach().nonzero().squeeze(1)  # what is absent need not be multiplied
        rows, columns, values = self.structure.rows[kept], self.structure.columns[kept].long(), entries[kept]
        structure = _ones_at(torch.stack([rows, columns]), len(embeddings))
        scale = torch.zeros(len(embeddings), device=values.device).index_add(0, rows, values).rsqrt()
        operator = structure.with_values(values * scale[rows] * scale[columns])
        return operator, structure.with_values(values.detach())


def reconstruction_loss(embeddings: Embeddings, edges: CSR, *, negatives: int) -> Scalar:
    """Return how far products of embeddings are from 1 on edges and from 0 elsewhere.

    nodes / (P + M) (sum over the P edges of (z_i . z_j - 1)^2 + M times the mean over all other pairs of
    (z_i . z_j)^2), where M = negatives nodes / 2: the expectation of the published loss, which draws M pairs, without
    the draw, since all squared products sum to |Z^T Z|^2. `edges` are as `upper_edges` gives them.
    """
    nodes, num_edges, drawn = len(embeddings), edges.num_entries, negatives * len(embeddings) / 2
    on_edges = entry_products(edges, embeddings, embeddings)
    alone = embeddings.square().sum(dim=1).square().sum()
    elsewhere = ((embeddings.T @ embeddings).square().sum() - alone) / 2 - on_edges.square().sum()
    others = nodes * (nodes - 1) / 2 - num_edges
    total = (on_edges - 1).square().sum() + drawn / max(others, 1) * elsewhere.clamp_min(0)
    return total * nodes / max(num_edges + drawn, 1)


def upper_edges(graph: Graph) -> CSR:
    """Return each edge once, smaller index first."""
    return CSR.from_scipy(scipy.sparse.triu(graph.adjacency.to_scipy(), k=1)).to(graph.device)


def nearest(rows: Features, queries: Tensor, targets: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return pairs of each query and the `count` targets (fewer, beyond `MOST_PAIRS`) with the largest product of rows.

    Rows are those of all nodes [nodes, dim], of unit length where cosine is meant; queries and targets are nodes.
    """
    count = min(count, len(targets), max(1, MOST_PAIRS // len(queries)))
    wanted, found = _take(rows, targets), []
    for block in queries.split(max(1, min(1024, _CELLS // len(targets)))):
        dense = _take(rows, block)
        similar = project(wanted, (dense.to_dense() if isinstance(dense, CSR) else dense).T.contiguous())
        found.append(targets[similar.topk(count, dim=0).indices.T.reshape(-1)])
    return queries.repeat_interleave(count), torch.cat(found)


def new_pairs(graph: Graph, receivers: Tensor, senders: Tensor) -> Tensor:
    """Return the pairs that are neither edges nor loops, once each and sorted [2, pairs]."""
    ids = torch.unique((receivers * graph.num_nodes + senders)[receivers != senders])
    rows, columns = graph.edge_index
    ids = ids[~torch.isin(ids, rows * graph.num_nodes + columns)]
    return torch.stack([ids // graph.num_nodes, ids % graph.num_nodes])


def _take(rows: Features, picks: Tensor) -> Features:
    return rows.take_rows(picks) if isinstance(rows, CSR) else rows[picks]


def _ones_at(cells: Tensor, size: int) -> CSR:
    """Return a square matrix of ones at sorted cells [2, entries]."""
    pointer = torch.zeros(size + 1, dtype=torch.int32, device=cells.device)
    pointer[1:] = torch.bincount(cells[0], minlength=size).cumsum(0)
    return CSR(pointer, cells[1].int(), torch.ones(cells.shape[1], device=cells.device), (size, size))
