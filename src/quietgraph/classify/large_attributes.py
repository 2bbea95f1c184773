"""Attributes of the nodes of a large graph, read in blocks of rows and smoothed in columns.

The numbers are those of `smoothing` on whole matrices, up to rounding.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import normalise_rows
from quietgraph.embed.scale.block_inference import feature_rows, project_in_blocks
from quietgraph.embed.scale.hops import mix_hops
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import CSR, Features


def unit_attributes_in_blocks(
    features: Features, *, columns: int, generator: torch.Generator
) -> Tensor:
    """Return attributes in unit rows, projected at random where they are wider [nodes, columns]."""
    num_nodes, width = features.shape
    stored = features.values if isinstance(features, CSR) else features
    if width > columns:
        sketch = torch.randn(width, columns, generator=generator) / columns**0.5
        return project_in_blocks(features, sketch.to(stored), norm="l2")

    def unit_rows(rows: slice) -> Tensor:
        unit = normalise_rows(feature_rows(features, rows), "l2")
        return unit.to_dense() if isinstance(unit, CSR) else unit

    return node_rows(num_nodes).fill("own attributes", unit_rows)


def smooth_in_blocks(
    adjacency: CSR, rows: Tensor, weights: Sequence[float], *, out: Tensor | None = None
) -> Tensor:
    """Return unit rows of sum_k weights_k A^k rows, A the normalised adjacency [nodes, columns].

    Args:
        adjacency: Of the graph.
        rows: One row per node [nodes, columns].
        weights: Of 0, 1, ... hops.
        out: Where to write the result, which may be `rows`.
    """
    smooth = mix_hops(adjacency, rows, weights, symmetric=True, out=out)
    nodes = node_rows(len(smooth))
    if nodes.world.size > 1:
        return nodes.fill("smooth", lambda block: F.normalize(smooth[block], dim=1))
    for block in nodes.blocks():
        smooth[block] = F.normalize(smooth[block], dim=1)
    return smooth
