"""Links that the graph lacks: which pairs to consider, how much each weighs, and the graph then.

NRGNN and RTGNN share it: an edge predictor learns embeddings whose products tell edges from
non-edges, and candidate pairs become edges of that weight.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import project
from quietgraph.embed.weighted import entry_products, propagate_weighted
from quietgraph.graph import CSR, Features, Graph
from quietgraph.methods.base.supervised import GCNClassifier, GraphConvolution
from quietgraph.types import Embeddings, Scalar, Scores

MOST_PAIRS = 4_000_000  # candidates in all, so that memory stays linear whatever the settings
_BLOCK = 1024
_CELLS = 16_000_000  # similarities held at once


class EdgePredictor(nn.Module):
    """Two graph convolutions whose outputs multiply to 1 on edges and to 0 elsewhere."""

    def __init__(self, num_features: int, dim: int, *, unit_length: bool) -> None:
        super().__init__()
        self.first = GraphConvolution(num_features, dim)
        self.second = GraphConvolution(dim, dim)
        self.unit_length = unit_length

    def forward(self, operator: CSR, features: Features) -> Embeddings:
        """Return one embedding per node [nodes, dim]."""
        embeddings: Embeddings = self.second(operator, self.first(operator, features).relu())
        return F.normalize(embeddings, dim=1) if self.unit_length else embeddings


class LinkedGCN(GCNClassifier):
    """The two-layer network on an operator whose values may be learned.

    As in the published code of both methods only the hidden layer has dropout, the input none.
    """

    def both(self, operator: CSR, features: Features) -> tuple[Embeddings, Scores]:
        """Return hidden layer [nodes, hidden] and class scores [nodes, classes]."""
        inside = propagate_weighted(operator, project(features, self.first.weight))
        hidden = (inside + self.first.bias).relu()
        narrow = F.dropout(hidden, self.dropout, self.training) @ self.second.weight
        return hidden, propagate_weighted(operator, narrow) + self.second.bias

    def forward(self, operator: CSR, features: Features) -> Scores:
        """Return class scores [nodes, classes]."""
        return self.both(operator, features)[1]


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
    def of(
        cls, graph: Graph, pairs: Tensor, threshold: float, *, mutual: Tensor | None = None
    ) -> "LinkedGraph":
        """Return the graph with candidates as `new_pairs` gives them.

        Args:
            graph: The graph as given.
            pairs: Receiving and sending node of every candidate, sorted [2, pairs].
            threshold: Weight below which a candidate is no link.
            mutual: Whether a candidate leads both ways [pairs]; by default none does.
        """
        mutual = torch.zeros_like(pairs[0], dtype=torch.bool) if mutual is None else mutual
        loops = torch.arange(graph.num_nodes, device=pairs.device)
        edges, back = graph.adjacency, pairs[:, mutual].flip(0)
        rows = torch.cat([edges.rows, loops, pairs[0], back[0]])
        columns = torch.cat([edges.columns.long(), loops, pairs[1], back[1]])
        order = torch.argsort(rows * graph.num_nodes + columns)
        candidates = _structure(pairs[0], pairs[1], graph.num_nodes)
        candidates.transposed()  # its structure is kept, and every backward pass needs it
        own = torch.cat([edges.values, torch.ones_like(loops, dtype=edges.values.dtype)])
        whole = _structure(rows[order], columns[order], graph.num_nodes)
        return cls(candidates, whole, order, own, mutual.nonzero().squeeze(1), threshold)

    def link(self, embeddings: Embeddings) -> "Linked":
        """Return the graph with links z_i . z_j; the gradient reaches the embeddings."""
        products = entry_products(self.pairs, embeddings, embeddings)
        weights = torch.where(products >= self.threshold, products, torch.zeros_like(products))
        entries = torch.cat([self.own, weights, weights[self.mutual]])[self.order]
        kept = entries.detach().nonzero().squeeze(1)  # what is absent need not be multiplied
        rows, columns = self.structure.rows[kept], self.structure.columns[kept]
        values = entries[kept]
        size = len(embeddings)
        degree = torch.zeros(size, device=values.device).index_add(0, rows, values)
        scale = degree.rsqrt()
        structure = _structure(rows, columns, size)
        operator = structure.with_values(values * scale[rows] * scale[columns.long()])
        return Linked(operator, structure.with_values(values.detach()))


@dataclass(frozen=True, eq=False)
class Linked:
    """A graph with its links: the normalised operator, and the weights as they are.

    Entries are w_ij / sqrt(d_i d_j) with d the sum of incoming weights, so that links that lead
    one way make the operator asymmetric.
    """

    operator: CSR  # its values carry the gradient to the links
    adjacency: CSR  # weights of edges, links and self-loops, without gradient


def reconstruction_loss(embeddings: Embeddings, edges: CSR, *, negatives: int) -> Scalar:
    """Return how far products of embeddings are from 1 on edges and from 0 elsewhere.

    nodes / (P + M) (sum over the P edges of (z_i . z_j - 1)^2 + M times the mean over all
    non-edges of (z_i . z_j)^2), where M = negatives nodes / 2. The published loss draws the M
    non-edges at random; this is its expectation, without the draw: all squared products sum to
    |Z^T Z|^2.

    Args:
        embeddings: One row per node [nodes, dim].
        edges: Each edge once, smaller index first.
        negatives: Weight of non-edges, per node and end.
    """
    nodes, num_edges = len(embeddings), edges.num_entries
    on_edges = entry_products(edges, embeddings, embeddings)
    everywhere = (embeddings.T @ embeddings).square().sum()
    alone = embeddings.square().sum(dim=1).square().sum()
    elsewhere = (everywhere - alone) / 2 - on_edges.square().sum()
    pairs = nodes * (nodes - 1) / 2 - num_edges
    drawn = negatives * nodes / 2
    total = (on_edges - 1).square().sum() + drawn / max(pairs, 1) * elsewhere.clamp_min(0)
    return total * nodes / max(num_edges + drawn, 1)


def upper_edges(graph: Graph) -> CSR:
    """Return each edge once, smaller index first."""
    import scipy.sparse  # noqa: PLC0415

    upper = scipy.sparse.triu(graph.adjacency.to_scipy(), k=1)
    edges = CSR.from_scipy(upper).to(graph.device)
    edges.transposed()  # its structure is kept, and every backward pass needs it
    return edges


def nearest(rows: Features, queries: Tensor, targets: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Return pairs of each query and the `count` targets with the largest product of rows.

    Args:
        rows: One row per node; of unit length where cosine is meant [nodes, dim].
        queries: Node indices [queries].
        targets: Node indices [targets].
        count: Targets per query; all of them where there are fewer.
    """
    count = min(count, len(targets))
    if count == len(targets):
        return queries.repeat_interleave(count), targets.repeat(len(queries))
    found, wanted = [], _take(rows, targets)
    size = max(1, min(_BLOCK, _CELLS // len(targets)))
    for block in torch.split(queries, size):
        dense = _take(rows, block)
        dense = dense.to_dense() if isinstance(dense, CSR) else dense
        similar = project(wanted, dense.T.contiguous())  # [targets, block]
        found.append(targets[similar.topk(count, dim=0).indices.T.reshape(-1)])
    return queries.repeat_interleave(count), torch.cat(found)


def new_pairs(graph: Graph, receivers: Tensor, senders: Tensor) -> Tensor:
    """Return the pairs that are neither edges nor loops, once each and sorted [2, pairs]."""
    ids = torch.unique((receivers * graph.num_nodes + senders)[receivers != senders])
    rows, columns = graph.edge_index
    ids = ids[~torch.isin(ids, rows * graph.num_nodes + columns)]
    return torch.stack([ids // graph.num_nodes, ids % graph.num_nodes])


def _take(rows: Features, picks: Tensor) -> Features:
    return rows.take_rows(picks).to(picks.device) if isinstance(rows, CSR) else rows[picks]


def _structure(rows: Tensor, columns: Tensor, size: int) -> CSR:
    """Return a square matrix of ones at sorted places."""
    pointer = torch.zeros(size + 1, dtype=torch.int32, device=rows.device)
    pointer[1:] = torch.bincount(rows, minlength=size).cumsum(0)
    return CSR(pointer, columns.int(), torch.ones(len(rows), device=rows.device), (size, size))
