"""Label-free features for classifying under noise: neighbourhoods average errors away."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import normalise_rows, normalised_adjacency, project, propagate
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_EXACT_ENTRIES = 50_000_000  # nodes x columns up to which smoothed attributes are held whole


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


def unit_attributes(
    features: Features, *, most_columns: int = 1024, generator: torch.Generator
) -> Tensor:
    """Return attributes in unit rows [nodes, columns].

    Attributes of large graphs that are wider than `most_columns` are projected on so many at
    random, which keeps rows of about unit length.
    """
    return _narrow(normalise_rows(features, "l2"), most_columns, generator)


def smoothed_attributes(
    operator: CSR, attributes: Tensor, *, hops: int = 8, keep: float = 0.05
) -> Tensor:
    """Return attributes averaged over up to `hops` hops, in unit rows [nodes, columns].

    Unit rows of keep X + (1 - keep) mean_k A^k X.

    Args:
        operator: The normalised adjacency A.
        attributes: One unit row per node X [nodes, columns].
        hops: The longest way an attribute goes.
        keep: Share of the own row.
    """
    hop, total = attributes, keep * attributes
    for _ in range(hops):
        hop = propagate(operator, hop)
        total += (1 - keep) / hops * hop
    return F.normalize(total, dim=1)


def attributes_of(graph: Graph, *, seed: int, most_columns: int = 1024) -> tuple[Tensor, Tensor]:
    """Return unit rows of the nodes' own attributes and of smoothed ones [nodes, columns].

    They are computed once and kept with the graph, unless they are too many to be held for long.

    Args:
        graph: With attributes.
        seed: Of the random projection, where there is one.
        most_columns: Attributes of large graphs that are wider are projected on so many.
    """

    def compute() -> tuple[Tensor, Tensor]:
        draws = torch_generator(seed, "smoothed attributes")
        own = unit_attributes(graph.features, most_columns=most_columns, generator=draws)
        return own, smoothed_attributes(normalised_adjacency(graph), own)

    if graph.num_nodes * graph.num_features > _EXACT_ENTRIES:
        return compute()
    return graph.once("attributes", compute)


def neighbour_likeness(
    edges: Tensor, attributes: Tensor, *, most_edges: int = 5000, generator: torch.Generator
) -> float:
    """Return the mean cosine of neighbours' attributes less their mean; 0 is that of any two nodes.

    Args:
        edges: Both ends of each edge [2, edges].
        attributes: One row per node [nodes, columns].
        most_edges: With more, so many are drawn.
        generator: Draws them.
    """
    if edges.shape[1] > most_edges:
        picks = torch.randint(edges.shape[1], (most_edges,), generator=generator)
        edges = edges[:, picks.to(edges.device)]
    if edges.shape[1] == 0:
        return 0.0
    mean = attributes.mean(dim=0)
    first, second = (F.normalize(attributes[end] - mean, dim=1) for end in edges)
    return float((first * second).sum(dim=1).mean())


def leading_directions(matrix: Tensor, rank: int, *, generator: torch.Generator) -> Tensor:
    """Return the leading right singular vectors by subspace iteration [columns, rank]."""
    rank = min(rank, *matrix.shape)
    width = min(rank + 10, *matrix.shape)
    start = torch.randn(matrix.shape[1], width, generator=generator).to(matrix)
    basis = torch.linalg.qr(matrix @ start).Q
    for _ in range(2):
        basis = torch.linalg.qr(matrix @ (matrix.T @ basis)).Q
    right: Tensor = torch.linalg.svd(basis.T @ matrix, full_matrices=False).Vh
    return right[:rank].T.contiguous()


def flattening(rows: Embeddings, rank: int) -> Tensor:
    """Return the map onto leading directions with square-rooted singular values [dim, rank].

    Clusters are found more easily when no single direction dominates.
    """
    exact = rows.double()  # in single precision, squares of tiny columns are no numbers
    values, vectors = torch.linalg.eigh(exact.T @ exact)
    kept = min(rank, len(values))
    leading, strengths = vectors[:, -kept:], values[-kept:].clamp_min(1e-12)
    flat: Tensor = leading * strengths.pow(-0.25)
    return flat.to(rows.dtype).contiguous()


def _narrow(features: Features, columns: int, generator: torch.Generator) -> Tensor:
    if features.shape[0] * features.shape[1] <= _EXACT_ENTRIES or features.shape[1] <= columns:
        whole: Tensor = features.to_dense() if isinstance(features, CSR) else features
        return whole
    sketch = torch.randn(features.shape[1], columns, generator=generator) / columns**0.5
    stored = features.values if isinstance(features, CSR) else features
    return project(features, sketch.to(stored))
