"""Features of the nodes of a large graph, in blocks of rows and with few copies of the embeddings.

The numbers are those of `classify` on whole matrices, up to rounding. Several processes compute a
range of rows each, and sums over all nodes are sums over the processes (see `node_rows`).
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.scale.distributed import current_world
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.types import Embeddings

LARGE = 2**26  # entries (256 MB) of embeddings above which they are not copied freely


def is_large(embeddings: Embeddings) -> bool:
    """Whether the embeddings are worked on in blocks, as several processes always do."""
    return embeddings.numel() > LARGE or current_world().size > 1


def in_blocks(function: Callable[[slice], Tensor], count: int, name: str = "rows") -> Tensor:
    """Return what a function gives for ranges of rows, as one matrix of `count` rows.

    Args:
        function: Of a range.
        count: Number of nodes.
        name: Of the matrix where processes share it; an earlier one of this name is gone.
    """
    return node_rows(count).fill(name, function)


def mean_direction_in_blocks(embeddings: Embeddings) -> Tensor:
    """Return the mean of the unit-length embeddings [dim]."""
    unit_sum = node_rows(len(embeddings)).sum(
        lambda rows: F.normalize(embeddings[rows], dim=1).sum(dim=0)
    )
    return unit_sum / len(embeddings)


def gram_in_blocks(rows: Embeddings) -> Tensor:
    """Return the Gram matrix of all rows [dim, dim]."""
    return node_rows(len(rows)).sum(lambda block: rows[block].T @ rows[block])
