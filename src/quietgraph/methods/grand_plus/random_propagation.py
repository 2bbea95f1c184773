"""Mixtures of random-walk steps: whole for prediction, a few random terms per node for training."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import Propagation, multiply
from quietgraph.graph import CSR, Features, Graph

# Entries of the dense block in which walks or features spread: what stays in a cache, but enough
# columns for long reads, unless that takes too much memory.
_CACHED_ENTRIES, _MOST_ENTRIES = 2**20, 2**25
_FEWEST_COLUMNS = 32


def walk_matrix(graph: Graph) -> CSR:
    """Return P = D^-1 (A + I), one step of a random walk with self-loops."""
    weights = Propagation.of(graph).weights
    degree = multiply(weights, torch.ones(graph.num_nodes, 1, device=graph.device)).squeeze(1)
    return weights.with_values(weights.values / degree[weights.rows])


def step_weights(kind: str, steps: int, teleport: float) -> list[float]:
    """Return the weight of each number of steps 0 ... steps; they sum to 1.

    "ppr" falls by 1 - teleport a step, "avg" is even, "single" is the last step alone.
    """
    falling = {
        "ppr": [(1 - teleport) ** step for step in range(steps + 1)],
        "avg": [1.0] * (steps + 1),
        "single": [0.0] * steps + [1.0],
    }[kind]
    return [weight / sum(falling) for weight in falling]


def mix(walk: CSR, dense: Tensor, weights: Sequence[float]) -> Tensor:
    """Return sum_n weights_n P^n dense [nodes, dim]."""
    total = weights[0] * dense
    for weight in weights[1:]:
        dense = multiply(walk, dense)
        total.add_(dense, alpha=weight)
    return total


def mixed_projection(
    walk: CSR, features: Features, weights: Sequence[float], matrix: Tensor
) -> tuple[Tensor, Tensor]:
    """Return Z @ matrix and the lengths of Z's rows, for Z = sum_n weights_n P^n features.

    Z, as dense as nodes x features, is made a block of columns at a time.
    """
    product = matrix.new_zeros(len(matrix.T), walk.shape[0]).T
    squares = matrix.new_zeros(walk.shape[0], 1)
    width = _block_width(walk.shape[0])
    for start, columns in _column_blocks(features, width):
        block = mix(walk, columns, weights)
        product = product + block @ matrix[start : start + block.shape[1]]
        squares = squares + block.square().sum(dim=1, keepdim=True)
    return product, squares.sqrt()


class NearestTerms:
    """The largest terms of sum_n weights_n P^n in the rows of some nodes.

    Walks spread from a block of nodes at a time; of a walk that has less than `threshold` times
    the degree of a node left there, that part stops, as in the push of GRAND+.
    """

    def __init__(
        self, walk: CSR, nodes: Tensor, weights: Sequence[float], *, threshold: float, count: int
    ) -> None:
        backward = walk.transposed()
        enough = threshold * walk.row_counts[:, None]
        count = min(count, walk.shape[0])
        found = [
            _spread(backward, block, weights, enough).T.contiguous().topk(count, dim=1)
            for block in torch.split(nodes, _block_width(walk.shape[0]))
        ]
        self.weights = torch.cat([terms.values for terms in found])  # [nodes, count]
        self.nodes = torch.cat([terms.indices for terms in found])  # [nodes, count]


class RandomPropagation:
    """Propagated features of some nodes, by their nearest terms less random ones."""

    def __init__(self, features: Features, terms: NearestTerms) -> None:
        self.terms = terms
        self.features: Any = features.to_scipy() if isinstance(features, CSR) else features

    def rows(self, which: Tensor, drop: float) -> Features:
        """Return a weighted mean of features for these positions among the nodes [rows, dim].

        Means of sparse features are sparse: each holds the words of some dozen nodes.
        """
        weights = F.dropout(self.terms.weights[which], drop)
        weights = weights / weights.sum(dim=1, keepdim=True).clamp_min(1e-12)
        nodes = self.terms.nodes[which]
        if isinstance(self.features, Tensor):
            return F.embedding_bag(nodes, self.features, per_sample_weights=weights, mode="sum")
        return self._sparse_rows(nodes, weights)

    def _sparse_rows(self, nodes: Tensor, weights: Tensor) -> CSR:
        kept = weights.cpu() > 0
        pointer = torch.zeros(len(nodes) + 1, dtype=torch.int32)
        pointer[1:] = kept.sum(dim=1).cumsum(0)
        shape = (len(nodes), self.features.shape[0])
        picked = CSR(pointer, nodes.cpu()[kept].int(), weights.cpu()[kept], shape)
        mixed = picked.to_scipy() @ self.features
        in_order = mixed.tocsc().tocsr()  # sorts columns faster than a sort
        return CSR.from_scipy(in_order).to(weights.device)


def _spread(backward: CSR, nodes: Tensor, weights: Sequence[float], enough: Tensor) -> Tensor:
    """Return the columns of the mixture transposed, one per node [all nodes, nodes]."""
    walkers = torch.zeros(backward.shape[0], len(nodes), device=nodes.device)
    walkers[nodes, torch.arange(len(nodes), device=nodes.device)] = 1
    total = weights[0] * walkers
    stays = torch.empty_like(walkers)  # 1 or 0: many times faster than a choice by booleans
    for weight in weights[1:]:
        walkers *= torch.ge(walkers, enough, out=stays)
        walkers = multiply(backward, walkers)
        total.add_(walkers, alpha=weight)
    return total


def _block_width(num_nodes: int) -> int:
    wanted = max(_FEWEST_COLUMNS, _CACHED_ENTRIES // num_nodes)
    return max(1, min(wanted, _MOST_ENTRIES // num_nodes))


def _column_blocks(features: Features, width: int) -> Iterator[tuple[int, Tensor]]:
    by_column = features.to_scipy().tocsc() if isinstance(features, CSR) else None
    for start in range(0, features.shape[1], width):
        if by_column is None:
            yield start, features[:, start : start + width]  # type: ignore[index]
        else:
            block = torch.from_numpy(by_column[:, start : start + width].toarray())
            yield start, block.to(features.values.device)  # type: ignore[union-attr]
