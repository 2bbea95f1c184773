"""Label-free features for classifying under noise: neighbourhoods average errors away."""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import normalise_rows, normalised_adjacency, project, propagate
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels

# Mean cosine of neighbours' attributes above which a graph is homophilous: 0.02 on Texas and
# Chameleon, 0.11 or more on citation, co-author and product graphs.
HOMOPHILOUS_SIMILARITY: Final = 0.06
_HOMOPHILOUS = 0.1  # adjusted homophily above which a graph is not heterophilous
_FEWEST_EDGES = 20  # between labelled nodes, to tell
_COMPARED = 10_000_000  # attribute values of sampled edges that are compared
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


def attribute_directions(
    graph: Graph, rank: int, *, seed: int, most_columns: int = 1024
) -> tuple[Tensor, Tensor]:
    """Return the mean of the smoothed attributes [columns] and their directions [columns, rank].

    The leading directions of `attributes_of` less the mean, kept with the graph as these are.

    Args:
        graph: With attributes.
        rank: Number of directions.
        seed: Of the random projection and of the start of the iteration.
        most_columns: Attributes of large graphs that are wider are projected on so many.
    """

    def compute() -> tuple[Tensor, Tensor]:
        smoothed = attributes_of(graph, seed=seed, most_columns=most_columns)[1]
        mean, draws = smoothed.mean(dim=0), torch_generator(seed, "attribute directions")
        return mean, leading_directions(smoothed - mean, rank, generator=draws)

    if graph.num_nodes * graph.num_features > _EXACT_ENTRIES:
        return compute()
    return graph.once(("attribute directions", rank, seed), compute)


def neighbour_similarity(
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


def is_heterophilous(graph: Graph, labels: Labels) -> bool:
    """Whether neighbours have neither labels nor attributes in common.

    Both must say so, since wrong labels hide that neighbours are alike, and so do wrong
    attributes: the adjusted homophily of the observed labels is at most 0.1, and the mean cosine
    of `neighbour_similarity` at most 0.06.

    Args:
        graph: With attributes; of many edges a sample is compared.
        labels: Observed labels [nodes], -1 where unknown.
    """
    if adjusted_homophily(graph, labels) > _HOMOPHILOUS:
        return False

    def compute() -> bool:
        draws = torch_generator(0, "heterophily")
        rows, columns = graph.adjacency.rows, graph.adjacency.columns.long()
        picks = torch.randperm(len(rows), generator=draws)[: _COMPARED // graph.num_features]
        ends = torch.stack([rows, columns])[:, picks.to(rows.device)]
        nodes, places = torch.unique(ends, return_inverse=True)
        every = graph.features
        taken = every.take_rows(nodes).to_dense() if isinstance(every, CSR) else every[nodes]
        return (
            neighbour_similarity(places, F.normalize(taken, dim=1), generator=draws)
            <= HOMOPHILOUS_SIMILARITY
        )

    return graph.once("neighbours differ", compute)


def adjusted_homophily(graph: Graph, labels: Labels) -> float:
    """Return how much likelier labelled neighbours agree than chance, as a fraction of the most.

    (h - sum_c p_c^2) / (1 - sum_c p_c^2) for the fraction h of edges between labelled nodes whose
    ends have one label and the fraction p_c of edge ends with label c; 1 where too few labels are
    known to tell.
    """
    first, second = labels[graph.adjacency.rows], labels[graph.adjacency.columns.long()]
    known = (first != UNKNOWN) & (second != UNKNOWN)
    if int(known.sum()) < 2 * _FEWEST_EDGES:
        return 1.0
    first, second = first[known], second[known]
    frequency = torch.bincount(first).double() / len(first)
    chance = float(frequency.square().sum())
    if chance == 1:
        return 1.0
    return (float((first == second).double().mean()) - chance) / (1 - chance)


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


def cluster_projection(rows: Embeddings, rank: int) -> Tensor:
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
