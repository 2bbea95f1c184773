"""Attributes averaged over random walks, whole or with half of the nodes left out at random."""

from functools import partial
from typing import Final

import torch
from torch import Tensor

from quietgraph.embed.scale.hops import mix_hops
from quietgraph.embed.scale.node_rows import node_rows, row_ranges
from quietgraph.embed.scale.partitions import WHOLE_UP_TO
from quietgraph.graph import CSR, Graph
from quietgraph.methods.grand_plus.random_propagation import mix, step_weights, walk_matrix
from quietgraph.rng import torch_generator

_STEP_WEIGHTS: Final = step_weights("ppr", 10, 0.2)  # of the propagation
_VIEWS: Final = 8  # random propagations that training chooses from
_FEW_VIEWS: Final = 4  # above 200,000 nodes, where each costs as much as an epoch


def propagated(graph: Graph, rows: Tensor, *, in_blocks: bool = False) -> Tensor:
    """Return rows averaged over random walks of up to ten steps [nodes, columns]."""
    if in_blocks:
        return mix_hops(graph.adjacency, rows, _STEP_WEIGHTS, symmetric=False)
    return mix(_walk(graph), rows, _STEP_WEIGHTS)


def random_views(graph: Graph, rows: Tensor, seed: int, nodes: Tensor | None = None) -> Tensor:
    """Return propagated rows with half of the nodes left out at random [views, nodes, columns].

    Each is a weighted mean of the rows that were not left out.

    Args:
        graph: Whose edges are walked.
        rows: The attributes before propagation [all nodes, columns].
        seed: Of the draws.
        nodes: Some nodes of a large graph; without them, all nodes.
    """
    draws = torch_generator(seed, "random propagations")

    def view() -> Tensor:
        if nodes is None:
            kept = (torch.rand(graph.num_nodes, 1, generator=draws) < 0.5).to(rows)
            total = propagated(graph, torch.cat([rows * kept, kept], dim=1))
            return total[:, :-1] / total[:, -1:].clamp_min(1e-6)
        kept = _draw_kept(rows, draws)
        walk = partial(mix_hops, graph.adjacency, weights=_STEP_WEIGHTS, symmetric=False)
        seen = walk(rows=kept[:, None], nodes=nodes).clamp_min(1e-6)
        return walk(rows=rows, nodes=nodes, scale=kept) / seen

    count = _VIEWS if graph.num_nodes <= WHOLE_UP_TO else _FEW_VIEWS
    return torch.stack([view() for _ in range(count)])


def _draw_kept(rows: Tensor, draws: torch.Generator) -> Tensor:
    """Return 1 for half of the nodes of a large graph, drawn at random, and 0 elsewhere [nodes].

    The draws are those of all nodes at once; a process keeps those of its own rows alone.
    """
    done = 0

    def draw(some: slice) -> Tensor:
        nonlocal done
        for skipped in row_ranges(some.start, start=done):
            torch.rand(skipped.stop - skipped.start, generator=draws)
        done = some.stop
        return (torch.rand(some.stop - some.start, generator=draws) < 0.5).to(rows)

    kept = node_rows(len(rows)).numbers(draw)
    draw(slice(len(rows), len(rows)))  # the next view starts where it does for one process
    return kept


def _walk(graph: Graph) -> CSR:
    return graph.once("random walk", lambda: walk_matrix(graph))
