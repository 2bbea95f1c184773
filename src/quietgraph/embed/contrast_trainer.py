"""The losses of low-rank graph contrastive learning, step by step, with the state they need.

A step trains on the partitions of its group: views, anchors and contrast stay inside each
partition, while the truncated norm and the prototypes are those of all nodes
(`scale.partition_memory`). One partition is the whole graph.
"""

import math
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.clusters import cluster_means
from quietgraph.embed.fused import (
    LEAST_TEMPERATURE,
    contrast_costs,
    energy_beyond,
    unit_energy_beyond,
    unit_rows,
)
from quietgraph.embed.losses import info_nce, leading_eigenvectors, prototype_loss
from quietgraph.embed.scale.partition_loader import Partition, PartitionLoader
from quietgraph.embed.scale.partition_memory import GramMemory, PrototypeMemory
from quietgraph.embed.scale.partitions import Plan
from quietgraph.embed.scale.slot_gradients import SlotEncoder
from quietgraph.embed.views import ViewRates, draw_view
from quietgraph.graph import Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings

_LEAST_NORM = 1e-6  # rows of a view that are shorter count as zero
_WHOLE = 4096  # anchors whose similarities are held at once: 64 MB, and half the time of blocks


@dataclass(frozen=True)
class ContrastSettings:
    """Weights and sizes of the loss L_node + w L_proto + tau |K|_r0."""

    temperature: float
    intra_view: bool  # whether nodes of the same view are negatives too
    anchors: int  # nodes per step that are anchors and negatives; all nodes when there are fewer
    prototype_weight: float
    prototype_counts: tuple[int, ...]
    prototype_temperature: float
    prototype_target: str = field(default="views", kw_only=True)  # or "embeddings", as printed
    held_out: float = field(default=0.0, kw_only=True)  # fraction of nodes that decide the stop
    rank_weight: float  # tau
    rank_ratio: float  # gamma
    rank_scale: str  # "mean": unit rows, divided by nodes; "sum": the norm of K itself
    warm_up: int  # steps before prototypes and rank count
    first_view: ViewRates
    second_view: ViewRates


@dataclass(frozen=True, eq=False)
class _Encoded:
    """Unit rows of one partition in the two views of a step, of its anchors alone."""

    partition: Partition
    anchors: Tensor | None  # None: all nodes
    views: list[Embeddings]


class ContrastTrainer:
    """The losses of every step, with the state they need: Gram matrix, prototypes, streams."""

    def __init__(
        self,
        graph: Graph,
        encoder: nn.Module,
        settings: ContrastSettings,
        plan: Plan,
        feature_norm: str,
    ) -> None:
        self.graph, self.encoder, self.settings, self.plan = graph, encoder, settings, plan
        self.rates = [settings.first_view, settings.second_view]
        self.partitions = PartitionLoader(graph, plan, self.rates, feature_norm)
        self.synchronised = SlotEncoder(encoder, plan)
        self.gram = GramMemory(plan)
        self.prototypes = PrototypeMemory(
            settings.prototype_counts
            if settings.prototype_weight > 0 and settings.prototype_target == "views"
            else (),
            plan,
            self.partitions.streams["clusters"],
        )
        self.is_initialised = False

    def losses(self, number: int) -> dict[str, Tensor]:
        """Return the losses of a step, each a mean over the partitions of this process."""
        settings, plan = self.settings, self.plan
        epoch, step = divmod(number, plan.steps)
        group = plan.group(epoch, step)
        self.synchronised.start_step()
        seen = [self._encode_views(each, epoch) for each in group if plan.is_ours(each)]
        node = _mean([self._contrast(one) for one in seen])
        values = {"loss": node, "contrast": node}
        if number < settings.warm_up or (settings.prototype_weight, settings.rank_weight) == (0, 0):
            return values
        printed = settings.prototype_target == "embeddings"
        with torch.set_grad_enabled(settings.rank_weight > 0 or printed):
            rows = {one.partition.number: self._encode_whole(one.partition) for one in seen}
        units = {each: F.normalize(whole.detach(), dim=1) for each, whole in rows.items()}
        started = self._initialise(rows)
        if settings.prototype_weight > 0 and settings.prototype_target == "embeddings":
            values["prototypes"] = _mean(
                [self._printed_prototype_loss(one) for one in rows.values()]
            )
            values["loss"] = values["loss"] + settings.prototype_weight * values["prototypes"]
        elif settings.prototype_weight > 0:
            if not started:
                self.prototypes.step(group, units)
            values["prototypes"] = _mean([self._prototype_loss(one) for one in seen])
            values["loss"] = values["loss"] + settings.prototype_weight * values["prototypes"]
        if settings.rank_weight > 0:
            values["rank"] = self._rank_loss(rows, units)
            values["loss"] = values["loss"] + settings.rank_weight * values["rank"]
        return values

    def state(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold beside the weights; the rest is computed again."""
        streams = {
            f"stream.{name}": one.get_state() for name, one in self.partitions.streams.items()
        }
        levels = enumerate(self.prototypes.levels)
        return streams | {f"prototypes.{index}": level.prototypes for index, level in levels}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take back what `state` returned; Gram matrix and assignments are computed anew."""
        for name, stream in self.partitions.streams.items():
            stream.set_state(state[f"stream.{name}"])
        found = (state.get(f"prototypes.{index}") for index in range(len(self.prototypes.counts)))
        device = self.graph.device
        self.prototypes.resume([one.to(device) for one in found if one is not None])

    def _encode_views(self, number: int, epoch: int) -> _Encoded:
        partition, anchors = self.partitions.load(number), None
        num_nodes, most = partition.structure.num_nodes, self.settings.anchors
        trained = self._divide(number, num_nodes)[0] if self.settings.held_out > 0 else None
        if num_nodes > most or trained is not None:
            draws = torch.randperm(
                num_nodes, generator=self.partitions.stream("anchors", number, epoch)
            )
            draws = draws if trained is None else draws[torch.isin(draws, trained)]
            anchors = draws[:most].to(self.graph.device)
        stream, width = (
            self.partitions.stream("views", number, epoch),
            int(partition.features.shape[1]),
        )
        views = []
        for rates in self.rates:
            view = draw_view(partition.structure, width, rates, generator=stream)
            rows = self.synchronised(number, partition.features, view, anchors)
            views.append(unit_rows(rows, least=_LEAST_NORM))
        return _Encoded(partition, anchors, views)

    def score(self) -> float:
        """Return the contrast of the nodes held out, negative, in two views that never change."""
        losses = []
        for number in self.plan.ours():
            partition = self.partitions.load(number)
            nodes = self._divide(number, partition.structure.num_nodes)[1].to(self.graph.device)
            draws = torch_generator(self.plan.seed, f"held-out views {number}")
            views = [
                draw_view(
                    partition.structure, int(partition.features.shape[1]), rates, generator=draws
                )
                for rates in self.rates
            ]
            seen = [self.encoder(partition.features, view, nodes) for view in views]
            unit = [unit_rows(rows, least=_LEAST_NORM) for rows in seen]
            losses.append(self._contrast(_Encoded(partition, nodes, unit)))
        return -float(_mean(losses))

    def _divide(self, number: int, num_nodes: int) -> tuple[Tensor, Tensor]:
        """Return the nodes of a partition that are contrasted and those held out."""
        draws = torch_generator(self.plan.seed, f"held-out nodes {number}")
        order = torch.randperm(num_nodes, generator=draws)
        count = max(2, round(self.settings.held_out * num_nodes))
        return order[count:], order[:count]

    def _printed_prototype_loss(self, rows: Embeddings) -> Tensor:
        """Pull embeddings to the means of a k-means of this epoch, none of unit length."""
        costs = []
        for count in self.settings.prototype_counts:
            found = cluster_means(
                rows.detach(), count, generator=self.partitions.streams["clusters"]
            )
            costs.append(
                prototype_loss(
                    rows,
                    found.prototypes,
                    found.assignments,
                    temperature=self.settings.prototype_temperature,
                )
            )
        return _mean(costs)

    def _contrast(self, seen: _Encoded) -> Tensor:
        first, second = seen.views
        temperature, intra_view = self.settings.temperature, self.settings.intra_view
        if len(first) <= _WHOLE and not intra_view and temperature >= LEAST_TEMPERATURE:
            return contrast_costs(first, second, temperature) / (2 * len(first))
        return info_nce(
            first, second, temperature=temperature, intra_view=intra_view, block_size=_WHOLE
        )

    def _prototype_loss(self, seen: _Encoded) -> Tensor:
        """Mean over numbers of prototypes and views; clusters come from the unchanged graph."""
        costs = []
        for level in self.prototypes.levels:
            own = level.assignments[seen.partition.number]
            own = own if seen.anchors is None else own[seen.anchors]
            costs += [
                prototype_loss(
                    view,
                    level.prototypes,
                    own,
                    temperature=self.settings.prototype_temperature,
                )
                for view in seen.views
            ]
        return _mean(costs)

    def _rank_loss(self, rows: dict[int, Embeddings], units: dict[int, Embeddings]) -> Tensor:
        """Energy outside the leading directions of the whole Gram matrix, for some partitions."""
        is_sum = self.settings.rank_scale == "sum"
        for number, one in (rows if is_sum else units).items():
            self.gram.refresh(number, one)
        total, size = self.gram.total(), self.plan.num_nodes
        rank = math.ceil(self.settings.rank_ratio * min(size, len(total)))
        leading = leading_eigenvectors(total, rank)
        costs = []
        for number, one in rows.items():
            if is_sum:  # A partition stands for all nodes: of a sum it estimates its fraction.
                costs.append(energy_beyond(one, leading) * (size / len(one)))
            else:
                costs.append(unit_energy_beyond(one, units[number], leading) / len(one))
        return _mean(costs)

    def _initialise(self, rows: dict[int, Embeddings]) -> bool:
        """Encode all partitions once, before the first step that needs their sums.

        Args:
            rows: Embeddings of the partitions that this step has encoded already.

        Returns:
            Whether the prototypes were found in this very step and need not move.
        """
        if self.is_initialised:
            return False
        self.is_initialised, starts = True, not self.prototypes.is_started

        def unchanged(number: int) -> Embeddings:
            return rows[number].detach() if number in rows else self._encode_alone(number)

        if starts:
            self.prototypes.start(lambda number: F.normalize(unchanged(number), dim=1))
        for number in self.plan.ours():
            whole = unchanged(number)
            unit = F.normalize(whole, dim=1)
            self.prototypes.place(number, unit)
            self.gram.refresh(number, whole if self.settings.rank_scale == "sum" else unit)
        return starts

    def _encode_whole(self, partition: Partition) -> Embeddings:
        return self.synchronised(partition.number, partition.features, partition.whole)

    @torch.no_grad()
    def _encode_alone(self, number: int) -> Embeddings:
        """Encode a partition without a gradient and without the other processes."""
        partition = self.partitions.load(number)
        embeddings: Embeddings = self.encoder(partition.features, partition.whole)
        return embeddings


def _mean(costs: list[Tensor]) -> Tensor:
    return torch.stack(costs).mean()
