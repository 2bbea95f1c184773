"""Features averaged over neighbourhoods, which need no label, and whether averages are of any use."""

from collections.abc import Callable
from typing import Final

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.graph import CSR, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Embeddings, Labels

_TELEPORT, _STEPS = 0.1, 10  # of the personalised PageRank
_HOPS, _KEEP = 8, 0.05  # of smoothed attributes: longest way, weight of the own row
_EXACT_ENTRIES, _MOST_ENTRIES = 50_000_000, 250_000_000  # of attributes as they are, and projected
_MOST_COLUMNS: Final = 1024
_BLOCK = 2**26  # entries that are smoothed at a time
_SAMPLE: Final = 50_000  # nodes whose mean and directions stand for those of all
# Adjusted homophily of labels, and mean cosine of neighbours' attributes (0.02 on Texas and Chameleon, 0.11 or more on
# citation, co-author and product graphs), up to which a graph is heterophilous.
_HOMOPHILOUS, _SIMILAR = 0.1, 0.06
_FEWEST_EDGES, _COMPARED_EDGES = 20, 5000  # between labelled nodes, to tell; whose ends are compared


def smooth_rows(graph: Graph, rows: Embeddings, *, out: Tensor | None = None) -> Tensor:
    """Return unit rows averaged over neighbourhoods by a personalised PageRank of ten steps [nodes, dim].

    `out`, where the result is written, may be `rows`.
    """
    operator = normalised_adjacency(graph)

    def smooth(block: Tensor) -> Tensor:
        start, found = _TELEPORT * block, block
        for _ in range(_STEPS):
            found = torch.add(start, propagate(operator, found), alpha=1 - _TELEPORT)
        return found

    return _unit_rows(rows, smooth, torch.empty_like(rows) if out is None else out)


def count_columns(graph: Graph) -> int:
    """Return how many columns attributes are projected on; as many as there are, where they can be held."""
    entries = graph.num_nodes * graph.num_features
    most = min(_MOST_COLUMNS, max(128, _MOST_ENTRIES // graph.num_nodes))
    return graph.num_features if entries <= _EXACT_ENTRIES else min(graph.num_features, most)


def smooth_attributes(graph: Graph, columns: int) -> Tensor:
    """Return unit rows of 0.05 X + 0.95 mean_k A^k X over up to 8 hops [nodes, columns].

    X are the attributes in unit rows, wider ones on `columns` random directions, which are the same for all graphs.
    """
    operator = normalised_adjacency(graph)

    def smooth(block: Tensor) -> Tensor:
        hop, found = block, _KEEP * block
        for _ in range(_HOPS):
            hop = propagate(operator, hop)
            found.add_(hop, alpha=(1 - _KEEP) / _HOPS)
        return found

    rows = own_attributes(graph, columns)
    return _unit_rows(rows, smooth, torch.empty_like(rows))


def _unit_rows(rows: Tensor, smooth: Callable[[Tensor], Tensor], found: Tensor) -> Tensor:
    """Return smoothed rows scaled to unit length; of very many, some columns are smoothed at a time."""
    width = max(16, _BLOCK // len(rows))
    for block, target in zip(rows.split(width, dim=1), found.split(width, dim=1), strict=True):
        target.copy_(smooth(block))
    return found.div_(found.norm(dim=1, keepdim=True).clamp_min_(1e-12))


def own_attributes(graph: Graph, columns: int) -> Tensor:
    """Return attributes in unit rows, wider ones on `columns` random directions [nodes, columns]."""
    features = scaled(graph, "l2")
    if columns >= graph.num_features:
        return features.to_dense() if isinstance(features, CSR) else features
    draws = torch_generator(0, "smoothed attributes")
    sketch = torch.randn(graph.num_features, columns, generator=draws) / columns**0.5
    return project(features, sketch.to(graph.device))


def leading_directions(rows: Tensor, rank: int, *, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Return the mean of the rows [columns] and the leading directions of the rows less it [columns, rank].

    Right singular vectors by subspace iteration, of many rows those of a sample.
    """
    if len(rows) > _SAMPLE:
        rows = rows[torch.randint(len(rows), (_SAMPLE,), generator=generator).to(rows.device)]
    mean = rows.mean(dim=0)
    centred, rank = rows - mean, min(rank, *rows.shape)
    width = min(rank + 10, *rows.shape)
    basis = torch.linalg.qr(centred @ torch.randn(rows.shape[1], width, generator=generator).to(rows)).Q
    for _ in range(2):
        basis = torch.linalg.qr(centred @ (centred.T @ basis)).Q
    right: Tensor = torch.linalg.svd(basis.T @ centred, full_matrices=False).Vh
    return mean, right[:rank].T.contiguous()


def is_heterophilous(graph: Graph, codes: Labels) -> bool:
    """Whether neighbours have neither labels nor attributes in common.

    Both must say so, since wrong labels hide that neighbours are alike, and so do wrong attributes: the adjusted
    homophily of the observed labels is at most 0.1, and the mean cosine of neighbours' attributes less their mean at
    most 0.06.
    """
    if adjusted_homophily(graph, codes) > _HOMOPHILOUS:
        return False
    return graph.once("neighbours' similarity", lambda: neighbour_similarity(graph)) <= _SIMILAR


def adjusted_homophily(graph: Graph, codes: Labels) -> float:
    """Return how much likelier labelled neighbours agree than chance, as a fraction of the most.

    (h - sum_c p_c^2) / (1 - sum_c p_c^2) for the fraction h of edges between labelled nodes whose ends have one label
    and the fraction p_c of edge ends with label c; 1 where too few labels are known to tell.
    """
    labelled = (codes != UNKNOWN).nonzero().squeeze(1)
    near = graph.adjacency.take_rows(labelled)
    first, second = codes[labelled][near.rows], codes[near.columns.long()]
    known = second != UNKNOWN
    if int(known.sum()) < 2 * _FEWEST_EDGES:
        return 1.0
    first, second = first[known], second[known]
    chance = float((torch.bincount(first).double() / len(first)).square().sum())
    return 1.0 if chance == 1 else (float((first == second).double().mean()) - chance) / (1 - chance)


def neighbour_similarity(graph: Graph) -> float:
    """Return the mean cosine of neighbours' attributes less their mean; 0 is that of any two nodes."""
    adjacency, features = graph.adjacency, scaled(graph, "l2")
    entries = torch.arange(adjacency.num_entries)
    if len(entries) > _COMPARED_EDGES:
        entries = torch.randint(len(entries), (_COMPARED_EDGES,), generator=torch_generator(0, "heterophily"))
    if len(entries) == 0:
        return 0.0
    columns = adjacency.columns[entries.to(graph.device)].long()
    ends = torch.stack([adjacency.rows[entries.to(graph.device)], columns])
    nodes, places = torch.unique(ends, return_inverse=True)
    rows = features.take_rows(nodes).to_dense() if isinstance(features, CSR) else features[nodes]
    first, second = (F.normalize(rows - rows.mean(dim=0), dim=1)[end] for end in places)
    return float((first * second).sum(dim=1).mean())
