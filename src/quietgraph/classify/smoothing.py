"""Label-free features for classifying under noise: neighbourhoods average errors away."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import normalise_rows, project, propagate
from quietgraph.graph import CSR, Features
from quietgraph.types import Embeddings

_EXACT_ENTRIES = 200_000_000  # nodes x columns up to which smoothed attributes are held whole
_SKETCH = 1024  # columns of the random projection above that


def smooth_rows(operator: CSR, rows: Embeddings, *, steps: int = 10, keep: float = 0.1) -> Tensor:
    """Return unit rows averaged over neighbourhoods by a personalised PageRank [nodes, dim].

    Args:
        operator: The normalised adjacency.
        rows: One row per node [nodes, dim].
        steps: Number of propagations.
        keep: Share of the own row in every step.
    """
    smooth = rows
    for _ in range(steps):
        smooth = (1 - keep) * propagate(operator, smooth) + keep * rows
    return F.normalize(smooth, dim=1)


def smoothed_attributes(
    operator: CSR,
    features: Features,
    *,
    dim: int = 256,
    hops: int = 8,
    keep: float = 0.05,
    generator: torch.Generator,
) -> Tensor:
    """Return the leading directions of attributes averaged over up to `hops` hops [nodes, dim].

    Unit rows of keep X + (1 - keep) mean_k A^k X, centred, on their `dim` leading singular
    directions, in unit rows again. Wide attributes of large graphs are projected at random first.
    """
    hop = _narrow(normalise_rows(features, "l2"), generator)
    total = keep * hop
    for _ in range(hops):
        hop = propagate(operator, hop)
        total += (1 - keep) / hops * hop
    unit = F.normalize(total, dim=1)
    return F.normalize(leading_scores(unit - unit.mean(dim=0), dim, generator=generator), dim=1)


def leading_scores(matrix: Tensor, rank: int, *, generator: torch.Generator) -> Tensor:
    """Return U S of the leading singular values by randomised subspace iteration [rows, rank]."""
    rank = min(rank, *matrix.shape)
    width = min(rank + 10, *matrix.shape)
    start = torch.randn(matrix.shape[1], width, generator=generator).to(matrix)
    basis = torch.linalg.qr(matrix @ start).Q
    for _ in range(2):
        basis = torch.linalg.qr(matrix @ (matrix.T @ basis)).Q
    left, values, _ = torch.linalg.svd(basis.T @ matrix, full_matrices=False)
    scores: Tensor = basis @ (left * values)[:, :rank]
    return scores


def flattened_scores(rows: Embeddings, rank: int) -> Tensor:
    """Return the leading singular vectors with square-rooted singular values, unit rows.

    Clusters are found more easily when no single direction dominates.
    """
    values, vectors = torch.linalg.eigh(rows.T @ rows)
    kept = min(rank, len(values))
    leading, strengths = vectors[:, -kept:], values[-kept:].clamp_min(1e-12)
    return F.normalize(rows @ leading * strengths.pow(-0.25), dim=1)


def _narrow(features: Features, generator: torch.Generator) -> Tensor:
    if features.shape[0] * features.shape[1] <= _EXACT_ENTRIES or features.shape[1] <= _SKETCH:
        whole: Tensor = features.to_dense() if isinstance(features, CSR) else features
        return whole
    sketch = torch.randn(features.shape[1], _SKETCH, generator=generator) / _SKETCH**0.5
    stored = features.values if isinstance(features, CSR) else features
    return project(features, sketch.to(stored))
