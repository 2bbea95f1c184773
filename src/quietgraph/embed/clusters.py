"""k-means of embeddings: clusters that follow an encoder by one step an epoch, and clusters of any rows."""

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.types import Embeddings, Labels

_START_SAMPLE = 10_000
_STEPS = 10


@dataclass(eq=False)
class Clusters:
    """Spherical k-means of all nodes, which are seen in one part or in several, one at a time."""

    prototypes: Tensor  # [clusters, dim], unit length
    shared: Callable[[Tensor], Tensor] = lambda sums: sums  # the sum over all processes that train together
    assignments: dict[int, Labels] = field(default_factory=dict)  # cluster of each node of a part
    sums: dict[int, Tensor] = field(default_factory=dict)  # of the rows of a part in each cluster [clusters, dim]

    @classmethod
    def start(cls, unit: Embeddings, count: int, *, generator: torch.Generator) -> "Clusters":
        """Return clusters of unit-length rows: k-means++ and ten Lloyd steps, on a sample if there are many."""
        sample = unit
        if len(unit) > _START_SAMPLE:
            sample = unit[torch.randperm(len(unit), generator=generator)[:_START_SAMPLE].to(unit.device)]
        picks = far_rows(sample, min(count, len(sample)), generator=generator)
        clusters = cls(sample[picks])
        for _ in range(_STEPS + 1):
            clusters.move(0, sample, generator=generator)
        return cls(clusters.prototypes)

    def move(self, part: int, unit: Embeddings, *, generator: torch.Generator) -> Labels:
        """Return the cluster of each node of a part after one Lloyd step; its first time nothing moves.

        Each prototype moves to the mean of its rows, of other parts as they were when last seen; a cluster without any
        gets a random row.

        Args:
            part: Number of the part.
            unit: Its rows, of unit length [nodes, dim].
            generator: Draws rows for empty clusters.
        """
        if part in self.assignments:
            self._add_up(part, unit)
            sums = self.shared(torch.stack(list(self.sums.values())).sum(dim=0))
            empty = sums.square().sum(dim=1) == 0
            if empty.any():
                picks = torch.randint(len(unit), (int(empty.sum()),), generator=generator)
                sums[empty] = unit[picks.to(unit.device)]
            self.prototypes = F.normalize(sums, dim=1)
        self.assignments[part] = (unit @ self.prototypes.T).argmax(dim=1)
        if part not in self.sums:
            self._add_up(part, unit)
        return self.assignments[part]

    def _add_up(self, part: int, unit: Embeddings) -> None:
        self.sums[part] = torch.zeros_like(self.prototypes).index_add_(0, self.assignments[part], unit)


def cluster_means(rows: Embeddings, count: int, *, generator: torch.Generator) -> tuple[Tensor, Labels]:
    """Return means and assignments of a Euclidean k-means: k-means++ and ten Lloyd steps."""
    means = rows[far_rows(rows, min(count, len(rows)), generator=generator)]
    for _ in range(_STEPS):
        nearest = torch.cdist(rows, means).argmin(dim=1)
        sums = torch.zeros_like(means).index_add_(0, nearest, rows)
        sizes = torch.bincount(nearest, minlength=len(means))[:, None]
        means = torch.where(sizes > 0, sums / sizes.clamp_min(1), means)
    return means, torch.cdist(rows, means).argmin(dim=1)


def far_rows(rows: Embeddings, count: int, *, generator: torch.Generator) -> Tensor:
    """Return places of rows picked by k-means++: each with probability proportional to its squared distance [count]."""
    lengths, distance = rows.square().sum(dim=1), None
    picks = [int(torch.randint(len(rows), (1,), generator=generator))]
    for _ in range(count - 1):
        last = (lengths + lengths[picks[-1]] - 2 * (rows @ rows[picks[-1]])).clamp_min(0)
        distance = last if distance is None else torch.minimum(distance, last)
        picks.append(int(torch.multinomial(distance.double().cpu() + 1e-12, 1, generator=generator)))
    return torch.tensor(picks, device=rows.device)
