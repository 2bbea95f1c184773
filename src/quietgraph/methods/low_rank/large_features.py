"""Features of the nodes of a large graph, in blocks of rows and with few copies of the embeddings.

The numbers are those of `classify` on whole matrices, up to rounding.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify import mean_direction
from quietgraph.embed.scale.block_inference import BlockOperator, row_ranges
from quietgraph.embed.scale.large_matrix import empty_matrix
from quietgraph.graph import CSR
from quietgraph.types import Embeddings

LARGE = 2**26  # entries (256 MB) of embeddings above which they are not copied freely


def is_large(embeddings: Embeddings) -> bool:
    """Whether the embeddings are worked on in blocks."""
    return embeddings.numel() > LARGE


def in_blocks(function: Callable[[slice], Tensor], count: int) -> Tensor:
    """Return what a function gives for ranges of rows, as one matrix of `count` rows."""
    whole: Tensor | None = None
    for rows in row_ranges(count):
        found = function(rows)
        if whole is None:
            whole = empty_matrix(count, found.shape[1], like=found)
        whole[rows] = found
    assert whole is not None  # noqa: S101  (a graph has nodes)
    return whole


def mean_direction_in_blocks(embeddings: Embeddings) -> Tensor:
    """Return the mean of the unit-length embeddings [dim]."""
    total = torch.zeros_like(embeddings[0])
    for rows in row_ranges(len(embeddings)):
        total += mean_direction(embeddings[rows]) * ((rows.stop - rows.start) / len(embeddings))
    return total


def smooth_in_blocks(
    adjacency: CSR, rows: Embeddings, *, steps: int, keep: float = 0.1
) -> Embeddings:
    """Return unit rows averaged over neighbourhoods by a personalised PageRank [nodes, dim].

    Beside the given rows two matrices of their size are held.

    Args:
        adjacency: Of the graph, at least one step.
        rows: One row per node [nodes, dim].
        steps: Number of propagations.
        keep: Share of the own row in every step.
    """
    operator = BlockOperator(adjacency)
    before, after = rows, empty_matrix(*rows.shape, like=rows)
    for step in range(steps):
        for block in operator.blocks():
            after[block] = (1 - keep) * operator.apply(block, before) + keep * rows[block]
        # The given rows are needed in every step, so the second one writes elsewhere.
        spare = empty_matrix(*rows.shape, like=rows) if step == 0 else before
        before, after = after, spare
    for block in operator.blocks():
        before[block] = F.normalize(before[block], dim=1)
    return before
