"""Spherical k-means, started once and kept warm: one Lloyd step per epoch follows the encoder."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.types import Embeddings

_START_SAMPLE = 10_000
_START_STEPS = 10


@dataclass(frozen=True, eq=False)
class Clusters:
    """Unit-length prototypes and the cluster of each node."""

    prototypes: Tensor  # [clusters, dim]
    assignments: Tensor  # [nodes] int64


def start_clusters(unit: Embeddings, count: int, *, generator: torch.Generator) -> Clusters:
    """Return clusters of unit-length rows: k-means++ and ten Lloyd steps, on a sample if large."""
    sample = unit
    if len(unit) > _START_SAMPLE:
        picks = torch.randperm(len(unit), generator=generator)[:_START_SAMPLE]
        sample = unit[picks.to(unit.device)]
    prototypes = _plus_plus(sample, min(count, len(sample)), generator)
    clusters = assign(sample, prototypes)
    for _ in range(_START_STEPS):
        clusters = lloyd_step(sample, clusters, generator=generator)
    return assign(unit, clusters.prototypes)


def cluster_means(rows: Embeddings, count: int, *, generator: torch.Generator) -> Clusters:
    """Return Euclidean k-means of any rows: k-means++ and ten Lloyd steps; prototypes are means."""
    means = rows[_far_rows(rows, min(count, len(rows)), generator)]
    for _ in range(_START_STEPS):
        nearest = torch.cdist(rows, means).argmin(dim=1)
        sums = torch.zeros_like(means).index_add_(0, nearest, rows)
        sizes = torch.bincount(nearest, minlength=len(means))[:, None]
        means = torch.where(sizes > 0, sums / sizes.clamp_min(1), means)
    return Clusters(means, torch.cdist(rows, means).argmin(dim=1))


def _far_rows(rows: Embeddings, count: int, generator: torch.Generator) -> Tensor:
    """Return places of rows picked by k-means++ [count]."""
    picks = [int(torch.randint(len(rows), (1,), generator=generator))]
    distance = (rows - rows[picks[0]]).square().sum(dim=1)
    while len(picks) < count:
        pick = int(torch.multinomial(distance.double().cpu() + 1e-12, 1, generator=generator))
        picks.append(pick)
        distance = torch.minimum(distance, (rows - rows[pick]).square().sum(dim=1))
    return torch.tensor(picks, device=rows.device)


def assign(unit: Embeddings, prototypes: Tensor) -> Clusters:
    """Return the clusters that put every row with its most similar prototype."""
    return Clusters(prototypes, (unit @ prototypes.T).argmax(dim=1))


def lloyd_step(unit: Embeddings, clusters: Clusters, *, generator: torch.Generator) -> Clusters:
    """Return the clusters after one mean and one assignment; an empty one gets a random node."""
    count = len(clusters.prototypes)
    sums = torch.zeros_like(clusters.prototypes)
    sums.index_add_(0, clusters.assignments, unit)
    sizes = torch.bincount(clusters.assignments, minlength=count)
    empty = sizes == 0
    if empty.any():
        picks = torch.randint(len(unit), (int(empty.sum()),), generator=generator)
        sums[empty] = unit[picks.to(unit.device)]
    return assign(unit, F.normalize(sums, dim=1))


def _plus_plus(unit: Embeddings, count: int, generator: torch.Generator) -> Tensor:
    """Pick rows far from those picked: each with probability proportional to its distance."""
    picks = [int(torch.randint(len(unit), (1,), generator=generator))]
    distance = (2 - 2 * (unit @ unit[picks[0]])).clamp_min(0)
    while len(picks) < count:
        weight = distance.double().cpu() + 1e-12
        pick = int(torch.multinomial(weight, 1, generator=generator))
        picks.append(pick)
        distance = torch.minimum(distance, (2 - 2 * (unit @ unit[pick])).clamp_min(0))
    return unit[torch.tensor(picks, device=unit.device)]
