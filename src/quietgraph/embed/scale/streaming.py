"""Clusters of a graph by streaming over its rows: no process holds more than a number per node.

Linear deterministic greedy (Stanton and Kliot, 2012) in several passes: a node goes where most of
its neighbours are, counted by how much room is left there. The first clusters are ranges of rows.
A block of rows decides at once, on what the blocks before it left, so several processes each take
a share of every block and the answer does not depend on their number.
"""

from typing import Final

import numpy as np
import torch
from torch import Tensor

from quietgraph.embed.scale.distributed import ALONE, World
from quietgraph.embed.scale.large_matrix import empty_numbers
from quietgraph.graph import CSR
from quietgraph.types import FloatArray, IntArray

PASSES: Final = 10  # with 3 PubMed loses a quarter more edges, with 20 hardly fewer
_SLACK: Final = 1.1  # largest cluster over the mean one
_BLOCKS: Final = 16  # at least, so that a pass sees most of its own moves
_MOST_ROWS: Final = 2**17  # of a block


def cut_by_streaming(
    adjacency: CSR, count: int, *, world: World = ALONE, passes: int = PASSES
) -> Tensor:
    """Return the cluster of each node, none larger than 1.1 of the mean [nodes] int32.

    Memory: one 32-bit number per node, one count per cluster, and one block of rows.

    Args:
        adjacency: Symmetric; its rows are read once in every pass, and may be memory-mapped.
        count: Number of clusters.
        world: The processes that cut together; all get the same answer.
        passes: Over all rows.
    """
    nodes = adjacency.shape[0]
    stream = _Stream(adjacency, count, world)
    size = max(1, min(_MOST_ROWS, -(-nodes // _BLOCKS)))
    for _ in range(passes):
        for start in range(0, nodes, size):
            stream.move(start, min(start + size, nodes))
    return torch.from_numpy(stream.owner)


class _Stream:
    """Where every node is, and how large every cluster is, while rows stream by."""

    def __init__(self, adjacency: CSR, count: int, world: World) -> None:
        nodes = adjacency.shape[0]
        self.adjacency, self.count, self.world = adjacency, count, world
        self.owner = empty_numbers(nodes, "int32")
        self.sizes = np.zeros(count, dtype=np.int64)
        for start in range(0, nodes, _MOST_ROWS):
            block = np.arange(start, min(start + _MOST_ROWS, nodes)) * count // nodes
            self.owner[start : start + len(block)] = block
            self.sizes += np.bincount(block, minlength=count)
        self.room = int(np.ceil(_SLACK * nodes / count))

    def move(self, start: int, stop: int) -> None:
        """Move the nodes of a block to better clusters, as far as these have room."""
        target, gain = self._propose(start, stop)
        wanting = np.flatnonzero(target >= 0)
        order = np.lexsort((-gain[wanting], target[wanting]))  # by cluster, best first
        nodes, target = wanting[order] + start, target[wanting][order]
        first = np.searchsorted(target, target)  # place where its cluster starts
        fits = np.arange(len(target)) - first < self.room - self.sizes[target]
        nodes, target = nodes[fits], target[fits]
        self.sizes -= np.bincount(self.owner[nodes], minlength=self.count)
        self.sizes += np.bincount(target, minlength=self.count)
        self.owner[nodes] = target

    def _propose(self, start: int, stop: int) -> tuple[IntArray, FloatArray]:
        """Return where each node of a block wants to go, -1 to stay, and how much."""
        share = -(-(stop - start) // self.world.size)
        ours = slice(min(start + self.world.rank * share, stop), stop)
        ours = slice(ours.start, min(ours.start + share, stop))
        found = torch.zeros(2, stop - start, dtype=torch.float64)
        if ours.stop > ours.start:
            target, gain = self._best_clusters(ours.start, ours.stop)
            places = slice(ours.start - start, ours.stop - start)
            found[0, places] = torch.from_numpy(target + 1.0)  # 0 where another process decides
            found[1, places] = torch.from_numpy(gain)
        every = self.world.total(found).numpy()
        return every[0].astype(np.int64) - 1, every[1]

    def _best_clusters(self, start: int, stop: int) -> tuple[IntArray, FloatArray]:
        """Return the best other cluster of each row and its score; -1 where its own is as good."""
        pointer = self.adjacency.row_pointer[start : stop + 1].numpy().astype(np.int64)
        columns = self.adjacency.columns[int(pointer[0]) : int(pointer[-1])].numpy()
        rows = np.repeat(np.arange(stop - start), np.diff(pointer))
        keys, near = np.unique(rows * self.count + self.owner[columns], return_counts=True)
        rows, cluster = np.divmod(keys, self.count)
        here = self.owner[start + rows] == cluster
        score = near * (1 - (self.sizes[cluster] - here) / self.room)
        order = np.lexsort((here, score, rows))  # of equal scores, the own cluster wins
        best = order[np.flatnonzero(np.diff(rows[order], append=-1))]
        best = best[~here[best] & (score[best] > 0)]
        target, gain = np.full(stop - start, -1), np.zeros(stop - start)
        target[rows[best]], gain[rows[best]] = cluster[best], score[best]
        return target, gain
