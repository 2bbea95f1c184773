"""Gram matrix, prototypes and assignments of the whole graph while one partition is trained on.

The last sums of every partition are kept. The totals are sums over all partitions, of which those
of the step are fresh, so the truncated norm and the prototypes are those of the whole graph.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.clusters import start_clusters
from quietgraph.embed.scale.partitions import Plan
from quietgraph.types import Embeddings

_START_SAMPLE = 10_000  # rows from which the prototypes start, as on the whole graph
_COUNTED = 2**26  # nodes up to which they are the first of a permutation of all nodes

Rows: TypeAlias = Mapping[int, Embeddings]  # unit rows of some partitions, by partition


@dataclass(eq=False)
class _Granularity:
    """One number of prototypes: where they are, and what each partition adds to them."""

    prototypes: Tensor  # [clusters, dim], unit length
    assignments: dict[int, Tensor] = field(default_factory=dict)  # by partition [its nodes]
    sums: dict[int, Tensor] = field(default_factory=dict)  # by partition [clusters, dim + 1]

    def assign(self, partition: int, unit: Embeddings) -> None:
        self.assignments[partition] = (unit @ self.prototypes.T).argmax(dim=1)

    def add_up(self, partition: int, unit: Embeddings) -> None:
        """Keep the sum of the partition's rows in every cluster, and their number beside it."""
        sums = torch.zeros_like(self.prototypes)
        sums.index_add_(0, self.assignments[partition], unit)
        sizes = torch.bincount(self.assignments[partition], minlength=len(sums))
        self.sums[partition] = torch.cat([sums, sizes[:, None].to(sums.dtype)], dim=1)


class GramMemory:
    """The Gram matrix of all embeddings, a sum of one per partition."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.grams: dict[int, Tensor] = {}  # of our partitions [dim, dim]

    def refresh(self, partition: int, rows: Embeddings) -> None:
        """Replace the Gram matrix of a partition by that of its current rows."""
        fixed = rows.detach()
        self.grams[partition] = fixed.T @ fixed

    def total(self) -> Tensor:
        """Return the Gram matrix of all partitions, the same in every process [dim, dim]."""
        return self.plan.world.total(_sum_by_slot(self.grams, self.plan))


class PrototypeMemory:
    """Prototypes of all nodes, moved by one Lloyd step on the partitions at hand."""

    def __init__(self, counts: tuple[int, ...], plan: Plan, draws: torch.Generator) -> None:
        self.counts, self.plan, self.draws = counts, plan, draws
        self.levels: list[_Granularity] = []

    @property
    def is_started(self) -> bool:
        """Whether there are prototypes."""
        return bool(self.levels)

    def start(self, unit_of: Callable[[int], Embeddings]) -> None:
        """Find the first prototypes on a sample of all partitions.

        Args:
            unit_of: Gives the unit rows of one of our partitions.
        """
        sample: Embeddings | None = None
        for count in self.counts:
            if sample is None or len(self.plan.sizes) == 1:  # of many it is another pass
                sample = self._sample(unit_of)
            start = start_clusters(sample, count, generator=self.draws)
            self.levels.append(_Granularity(start.prototypes))

    def resume(self, prototypes: list[Tensor]) -> None:
        """Continue from prototypes that were found before."""
        self.levels = [_Granularity(one) for one in prototypes]

    def place(self, partition: int, unit: Embeddings) -> None:
        """Assign the rows of a partition to their nearest prototypes, which do not move."""
        for level in self.levels:
            level.assign(partition, unit)
            level.add_up(partition, unit)

    def step(self, group: list[int], rows: Rows) -> None:
        """Move the prototypes to the means of all nodes, and assign the rows of the step anew.

        Args:
            group: All partitions of the step.
            rows: Of those that are ours.
        """
        for level in self.levels:
            for partition, unit in rows.items():
                level.add_up(partition, unit)
        sums = [_sum_by_slot(level.sums, self.plan) for level in self.levels]
        totals = torch.split(self.plan.world.total(torch.cat(sums)), [len(one) for one in sums])
        for level, total in zip(self.levels, totals, strict=True):
            means, empty = total[:, :-1].contiguous(), total[:, -1] == 0
            if empty.any():
                means[empty] = self._random_rows(int(empty.sum()), group, rows)
            level.prototypes = F.normalize(means, dim=1)
            for partition, unit in rows.items():
                level.assign(partition, unit)

    def _sample(self, unit_of: Callable[[int], Embeddings]) -> Embeddings:
        """Return random rows of all partitions, the same in every process; all rows of few."""
        size = self.plan.num_nodes
        picks = torch.arange(min(size, _START_SAMPLE))
        if size > _COUNTED:  # hardly any is drawn twice
            picks = torch.randint(size, (_START_SAMPLE,), generator=self.draws)
        elif size > _START_SAMPLE:
            picks = torch.randperm(size, generator=self.draws)[:_START_SAMPLE]
        return self._gather(picks, list(range(len(self.plan.sizes))), unit_of)

    def _random_rows(self, count: int, group: list[int], rows: Rows) -> Tensor:
        size = sum(self.plan.sizes[partition] for partition in group)
        picks = torch.randint(size, (count,), generator=self.draws)
        return self._gather(picks, group, rows.__getitem__)

    def _gather(
        self, picks: Tensor, partitions: list[int], unit_of: Callable[[int], Embeddings]
    ) -> Tensor:
        """Return rows by their position in the concatenated partitions, from all processes."""
        found: Tensor | None = None
        first = 0
        for partition in partitions:
            size = self.plan.sizes[partition]
            inside = (picks >= first) & (picks < first + size)
            if self.plan.is_ours(partition):
                unit = unit_of(partition)
                if found is None:
                    found = unit.new_zeros(len(picks), unit.shape[1])
                found[inside.to(unit.device)] = unit[(picks[inside] - first).to(unit.device)]
            first += size
        assert found is not None  # noqa: S101  (every process has a partition in every step)
        return self.plan.world.total(found)


def _sum_by_slot(tensors: dict[int, Tensor], plan: Plan) -> Tensor:
    """Return the sum over partitions, of each slot first, as processes with a slot each add up."""
    slots: dict[int, list[Tensor]] = {}
    for partition, tensor in tensors.items():
        slots.setdefault(plan.slot(partition), []).append(tensor)
    return _sum([_sum(own) for own in slots.values()])


def _sum(tensors: list[Tensor]) -> Tensor:
    total = tensors[0]
    for tensor in tensors[1:]:
        total = total + tensor
    return total
