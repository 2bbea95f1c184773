"""Attributes averaged over neighbourhoods: features that need no label."""

from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.large_attributes import smooth_in_blocks, unit_attributes_in_blocks
from quietgraph.embed import normalise_rows, normalised_adjacency, project, propagate
from quietgraph.embed.scale.node_sample import sample_nodes
from quietgraph.embed.scale.partitions import WHOLE_UP_TO
from quietgraph.graph import CSR, Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels

# Mean cosine of neighbours' attributes above which a graph is homophilous: 0.02 on Texas and
# Chameleon, 0.11 or more on citation, co-author and product graphs.
HOMOPHILOUS_SIMILARITY: Final = 0.06
_HOMOPHILOUS = 0.1  # adjusted homophily above which a graph is not heterophilous
_FEWEST_EDGES = 20  # between labelled nodes, to tell
_COMPARED_EDGES = 5000  # whose ends are compared
_COMPARED_AT_ONCE = 256  # few enough for the attributes of both ends to stay in the processor
_COMPARED = 10_000_000  # attribute values of sampled edges that are compared
_COUNTED = 2**26  # stored entries of a graph up to which a sample is a permutation of them all
_EXACT_ENTRIES = 50_000_000  # nodes x columns up to which smoothed attributes are held whole
_LARGE_COLUMNS = 256  # of the attributes of graphs that are worked on in blocks
_HOPS, _KEEP = 8, 0.05  # of smoothed attributes: longest way, weight of the own row
_TELEPORT = 0.1  # of the personalised PageRank: weight of the own row in every step


def smooth_rows(operator: CSR, rows: Embeddings, *, steps: int = 10) -> Tensor:
    """Return unit rows averaged over neighbourhoods by a personalised PageRank [nodes, dim].

    Args:
        operator: The normalised adjacency.
        rows: One row per node [nodes, dim].
        steps: Number of propagations.
    """
    smooth = rows
    for _ in range(steps):
        smooth = (1 - _TELEPORT) * propagate(operator, smooth) + _TELEPORT * rows
    return F.normalize(smooth, dim=1)


def pagerank_weights(steps: int) -> list[float]:
    """Return the weight of each number of hops 0 ... steps in `smooth_rows`."""
    return [_TELEPORT * (1 - _TELEPORT) ** hop for hop in range(steps)] + [(1 - _TELEPORT) ** steps]


def smoothed_attributes(operator: CSR, attributes: Tensor) -> Tensor:
    """Return attributes averaged over up to 8 hops, in unit rows [nodes, columns].

    Unit rows of 0.05 X + 0.95 mean_k A^k X.

    Args:
        operator: The normalised adjacency A.
        attributes: One unit row per node X [nodes, columns].
    """
    hop, total = attributes, _KEEP * attributes
    for _ in range(_HOPS):
        hop = propagate(operator, hop)
        total += (1 - _KEEP) / _HOPS * hop
    return F.normalize(total, dim=1)


def attributes_of(
    graph: Graph, *, seed: int, most_columns: int = 1024, columns: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return unit rows of the nodes' own attributes and of smoothed ones [nodes, columns].

    They are computed once and kept with the graph, unless they are too many to be held for long.

    Args:
        graph: With attributes.
        seed: Of the random projection, where there is one.
        most_columns: Attributes of large graphs that are wider are projected on so many, and above
            200,000 nodes on 256.
        columns: As many as there are, or fewer to project on; by default the size decides.
    """
    wanted = columns or _count_columns(graph.features, most_columns)

    def compute() -> tuple[Tensor, Tensor]:
        draws = torch_generator(seed, "smoothed attributes")
        if graph.num_nodes > WHOLE_UP_TO:
            own = unit_attributes_in_blocks(graph.features, columns=wanted, generator=draws)
            weights = [_KEEP] + _HOPS * [(1 - _KEEP) / _HOPS]
            return own, smooth_in_blocks(graph.adjacency, own, weights)
        own = _narrow(normalise_rows(graph.features, "l2"), wanted, draws)
        return own, smoothed_attributes(normalised_adjacency(graph), own)

    if graph.num_nodes * graph.num_features > _EXACT_ENTRIES:
        return compute()
    return graph.once(("attributes", wanted), compute)


def _count_columns(features: Features, most: int) -> int:
    """Return how many columns attributes are projected on; as many as there are, if few."""
    num_nodes, width = features.shape
    if num_nodes > WHOLE_UP_TO:
        return min(width, most, _LARGE_COLUMNS)
    return width if num_nodes * width <= _EXACT_ENTRIES else min(width, most)


def attribute_directions(
    graph: Graph, smoothed: Tensor, rank: int, *, seed: int
) -> tuple[Tensor, Tensor]:
    """Return the mean of the smoothed attributes [columns] and their directions [columns, rank].

    The leading directions of the rows less their mean, of large graphs those of a sample; kept
    with the graph as the rows are.

    Args:
        graph: With attributes.
        smoothed: Of `attributes_of` [nodes, columns].
        rank: Number of directions.
        seed: Of the sample and of the start of the iteration.
    """

    def compute() -> tuple[Tensor, Tensor]:
        rows = smoothed[sample_nodes(graph.num_nodes, seed, device=smoothed.device)]
        mean, draws = rows.mean(dim=0), torch_generator(seed, "attribute directions")
        return mean, leading_directions(rows - mean, rank, generator=draws)

    if graph.num_nodes * graph.num_features > _EXACT_ENTRIES:
        return compute()
    return graph.once(("attribute directions", rank, seed), compute)


def neighbour_similarity(
    edges: Tensor,
    attributes: Tensor,
    *,
    most_edges: int = _COMPARED_EDGES,
    generator: torch.Generator,
    mean: Tensor | None = None,
) -> float:
    """Return the mean cosine of neighbours' attributes less their mean; 0 is that of any two nodes.

    Args:
        edges: Both ends of each edge [2, edges].
        attributes: One row per node [nodes, columns].
        most_edges: With more, so many are drawn.
        generator: Draws them.
        mean: Of the attributes, where it is known [columns].
    """
    if edges.shape[1] > most_edges:
        picks = torch.randint(edges.shape[1], (most_edges,), generator=generator)
        edges = edges[:, picks.to(edges.device)]
    if edges.shape[1] == 0:
        return 0.0
    mean = attributes.mean(dim=0) if mean is None else mean
    cosines = []
    for ends in torch.split(edges, _COMPARED_AT_ONCE, dim=1):
        first, second = (F.normalize(attributes[end] - mean, dim=1) for end in ends)
        cosines.append((first * second).sum(dim=1))
    return float(torch.cat(cosines).mean())


def similarity_along_edges(
    graph: Graph, attributes: Tensor, *, seed: int, mean: Tensor | None = None
) -> float:
    """Return `neighbour_similarity` along drawn edges of a graph, computed once and kept with it.

    Args:
        graph: Whose edges are drawn.
        attributes: Of `attributes_of`, the nodes' own [nodes, columns].
        seed: Of the draws, and of the random projection where there is one.
        mean: Of the attributes, where it is known [columns].
    """

    def compare() -> float:
        draws = torch_generator(seed, "edges to compare")
        edges = edges_to_compare(graph.adjacency, generator=draws).to(attributes.device)
        return neighbour_similarity(edges, attributes, generator=draws, mean=mean)

    return graph.once(("neighbour similarity", seed, attributes.shape[1]), compare)


def is_heterophilous(graph: Graph, labels: Labels) -> bool:
    """Whether neighbours have neither labels nor attributes in common.

    Both must say so, since wrong labels hide that neighbours are alike, and so do wrong
    attributes: the adjusted homophily of the observed labels is at most 0.1, and
    `neighbours_differ`.

    Args:
        graph: With attributes.
        labels: Observed labels [nodes], -1 where unknown.
    """
    return adjusted_homophily(graph, labels) <= _HOMOPHILOUS and neighbours_differ(graph)


def neighbours_differ(graph: Graph) -> bool:
    """Whether the attributes of neighbours are hardly more similar than those of any two nodes.

    Their mean cosine of `neighbour_similarity` is at most 0.06. Computed once and kept with the
    graph; of many edges a sample is compared.
    """

    def compute() -> bool:
        draws = torch_generator(0, "heterophily")
        ends = _sample_entries(graph.adjacency, _COMPARED // graph.num_features, draws)
        nodes, places = torch.unique(ends, return_inverse=True)
        every = graph.features
        taken = every.take_rows(nodes).to_dense() if isinstance(every, CSR) else every[nodes]
        return (
            neighbour_similarity(places, F.normalize(taken, dim=1), generator=draws)
            <= HOMOPHILOUS_SIMILARITY
        )

    return graph.once("neighbours differ", compute)


def _sample_entries(adjacency: CSR, count: int, generator: torch.Generator) -> Tensor:
    """Return row and column of so many drawn entries, of all where there are fewer [2, entries]."""
    entries = adjacency.num_entries
    if entries <= _COUNTED:
        picks = torch.randperm(entries, generator=generator)[:count]
    else:  # hardly any is drawn twice
        picks = torch.randint(entries, (count,), generator=generator)
    return _ends_of(adjacency, picks)


def edges_to_compare(adjacency: CSR, *, generator: torch.Generator) -> Tensor:
    """Return the edges that `neighbour_similarity` would draw of all [2, edges].

    Nothing of the size of the graph is made.

    Args:
        adjacency: Every edge in both directions.
        generator: Draws them, where there are more than are compared.
    """
    entries = adjacency.num_entries
    if entries <= _COMPARED_EDGES:
        return _ends_of(adjacency, torch.arange(entries))
    return _ends_of(adjacency, torch.randint(entries, (_COMPARED_EDGES,), generator=generator))


def _ends_of(adjacency: CSR, entries: Tensor) -> Tensor:
    """Return row and column of some stored entries [2, entries]."""
    entries = entries.to(adjacency.columns.device)
    rows = torch.searchsorted(adjacency.row_pointer, entries.to(adjacency.row_pointer), right=True)
    return torch.stack([rows - 1, adjacency.columns[entries].long()])


def adjusted_homophily(graph: Graph, labels: Labels) -> float:
    """Return how much likelier labelled neighbours agree than chance, as a fraction of the most.

    (h - sum_c p_c^2) / (1 - sum_c p_c^2) for the fraction h of edges between labelled nodes whose
    ends have one label and the fraction p_c of edge ends with label c; 1 where too few labels are
    known to tell.
    """
    labelled = (labels != UNKNOWN).nonzero().squeeze(1)
    near = graph.adjacency.take_rows(labelled)
    first, second = labels[labelled][near.rows], labels[near.columns.long()]
    known = second != UNKNOWN
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
    if columns >= features.shape[1]:
        whole: Tensor = features.to_dense() if isinstance(features, CSR) else features
        return whole
    sketch = torch.randn(features.shape[1], columns, generator=generator) / columns**0.5
    stored = features.values if isinstance(features, CSR) else features
    return project(features, sketch.to(stored))
