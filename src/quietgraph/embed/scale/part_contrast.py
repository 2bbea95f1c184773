"""Low-rank contrast on parts of a graph, by one process or by several.

A step sees the parts of its group: views, anchors and contrast stay inside each part, while the
truncated norm and the prototypes are those of all nodes (`part_memory`). With one part every
number is that of the training on the whole graph.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.contrast import ContrastSettings
from quietgraph.embed.losses import info_nce, leading_eigenvectors, prototype_loss
from quietgraph.embed.propagation import Propagation, normalise_rows
from quietgraph.embed.scale.checkpoint import active_checkpoints, content_key
from quietgraph.embed.scale.part_memory import GramMemory, PrototypeMemory
from quietgraph.embed.scale.parts import Plan, induced_graph, take_features
from quietgraph.embed.steps import Keeper, train_steps
from quietgraph.embed.training import History, Schedule
from quietgraph.embed.views import View, draw_view, view_structure
from quietgraph.graph import Features, Graph
from quietgraph.rng import torch_generator
from quietgraph.types import Embeddings


@dataclass(frozen=True, eq=False)
class Piece:
    """What training needs of one part."""

    features: Features  # rows scaled
    structure: Propagation

    @property
    def whole(self) -> View:
        """The part unchanged."""
        return View(self.structure.operator())

    @property
    def num_nodes(self) -> int:
        """Nodes of the part."""
        return self.structure.num_nodes


@dataclass(frozen=True, eq=False)
class _Sight:
    """One part in one step."""

    part: int
    piece: Piece
    anchors: Tensor | None
    views: list[Embeddings]


def train_in_parts(
    graph: Graph,
    encoder: nn.Module,
    settings: ContrastSettings,
    schedule: Schedule,
    *,
    plan: Plan,
    feature_norm: str,
    about: dict[str, Any],
) -> History:
    """Train the encoder in place on the parts of a plan; return the mean losses of every epoch.

    Args:
        graph: Its features may be memory-mapped: only the rows of a part are read at a time.
        encoder: Trained; in several processes equal in all of them.
        settings: Of the losses.
        schedule: Epochs, step size, decay, patience.
        plan: Which parts a step takes, and the random seed.
        feature_norm: Scaling of feature rows.
        about: What tells this training from others, for its checkpoints.
    """
    trainer = PartTrainer(graph, encoder, settings, plan, feature_norm)
    checkpoints, keeper = active_checkpoints(), None
    if checkpoints is not None:
        key = content_key({**about, "graph": graph.fingerprint, "parts": len(plan.parts)})
        keeper = Keeper(checkpoints, key, trainer.memory, trainer.recall, plan.lanes)
    return train_steps(
        encoder, trainer, schedule, keeper=keeper, world=plan.world, what="learning embeddings"
    )


class PartTrainer:
    """What a step needs and keeps: pieces, Gram matrix, prototypes, random streams."""

    def __init__(
        self,
        graph: Graph,
        encoder: nn.Module,
        settings: ContrastSettings,
        plan: Plan,
        feature_norm: str,
    ) -> None:
        self.graph, self.encoder, self.settings, self.plan = graph, encoder, settings, plan
        self.feature_norm = feature_norm
        self.steps = plan.steps
        self.rates = [settings.first_view, settings.second_view]
        self.synchronised = plan.world.wrap(encoder)
        self.streams = {
            name: torch_generator(plan.seed, name) for name in ("views", "anchors", "clusters")
        }
        self.gram = GramMemory(plan.world)
        self.prototypes = PrototypeMemory(
            settings.prototype_counts if settings.prototype_weight > 0 else (),
            plan,
            self.streams["clusters"],
        )
        self.is_surveyed = False
        self.structures: dict[int, Propagation] = {}

    def losses(self, epoch: int, step: int) -> dict[str, Tensor]:
        """Return the losses of a step, each a mean over the parts that are ours."""
        settings, group = self.settings, self.plan.group(epoch, step)
        sights = [self._look(part, epoch) for part in group if self.plan.is_ours(part)]
        node = _mean([self._contrast(sight) for sight in sights])
        values = {"loss": node, "contrast": node}
        if epoch < settings.warm_up or (settings.prototype_weight, settings.rank_weight) == (0, 0):
            return values
        started = self._survey()
        with torch.set_grad_enabled(settings.rank_weight > 0):
            wholes = {one.part: self._encode_whole(one.piece) for one in sights}
        units = {part: F.normalize(whole, dim=1) for part, whole in wholes.items()}
        if settings.prototype_weight > 0:
            if not started:
                self.prototypes.step(group, {part: one.detach() for part, one in units.items()})
            values["prototypes"] = _mean([self._prototype_loss(sight) for sight in sights])
            values["loss"] = values["loss"] + settings.prototype_weight * values["prototypes"]
        if settings.rank_weight > 0:
            values["rank"] = self._rank_loss(wholes if settings.rank_scale == "sum" else units)
            values["loss"] = values["loss"] + settings.rank_weight * values["rank"]
        return values

    def memory(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold beside the weights; the rest is found again."""
        streams = {f"stream.{name}": one.get_state() for name, one in self.streams.items()}
        levels = enumerate(self.prototypes.levels)
        return streams | {f"prototypes.{index}": level.prototypes for index, level in levels}

    def recall(self, memory: dict[str, Tensor]) -> None:
        """Take back what `memory` gave; Gram matrix and assignments are computed anew."""
        for name, stream in self.streams.items():
            stream.set_state(memory[f"stream.{name}"])
        found = (memory.get(f"prototypes.{index}") for index in range(len(self.prototypes.counts)))
        device = self.graph.device
        self.prototypes.resume([one.to(device) for one in found if one is not None])

    def _look(self, part: int, epoch: int) -> _Sight:
        piece = self._piece(part)
        settings, anchors = self.settings, None
        if piece.num_nodes > settings.anchors:
            draws = torch.randperm(piece.num_nodes, generator=self._stream("anchors", part, epoch))
            anchors = draws[: settings.anchors].to(self.graph.device)
        stream, width = self._stream("views", part, epoch), int(piece.features.shape[1])
        views = []
        for rates in self.rates:
            view = draw_view(piece.structure, width, rates, generator=stream)
            views.append(self.synchronised(piece.features, view, anchors))
        return _Sight(part, piece, anchors, views)

    def _contrast(self, sight: _Sight) -> Tensor:
        near, far = sight.views
        settings = self.settings
        return info_nce(near, far, temperature=settings.temperature, intra_view=settings.intra_view)

    def _prototype_loss(self, sight: _Sight) -> Tensor:
        costs = []
        for level in self.prototypes.levels:
            own = level.assignments[sight.part]
            own = own if sight.anchors is None else own[sight.anchors]
            costs += [
                prototype_loss(
                    F.normalize(view, dim=1),
                    level.prototypes,
                    own,
                    temperature=self.settings.prototype_temperature,
                )
                for view in sight.views
            ]
        return torch.stack(costs).mean()

    def _rank_loss(self, rows: dict[int, Embeddings]) -> Tensor:
        """Energy outside the leading directions of the whole Gram matrix, for these parts."""
        for part, one in rows.items():
            self.gram.refresh(part, one)
        total, size = self.gram.total(), self.plan.num_nodes
        rank = math.ceil(self.settings.rank_ratio * min(size, len(total)))
        leading = leading_eigenvectors(total, rank)
        costs = []
        for one in rows.values():
            beyond = one.square().sum() - (one @ leading).square().sum()
            # A part stands for all nodes: of a sum it estimates its share.
            is_sum = self.settings.rank_scale == "sum"
            costs.append(beyond * (size / len(one)) if is_sum else beyond / len(one))
        return _mean(costs)

    def _survey(self) -> bool:
        """Look at all parts once, before the first step that needs them; return whether now.

        Returns True where the prototypes were found in this very step and need not move.
        """
        if self.is_surveyed:
            return False
        self.is_surveyed, starts = True, not self.prototypes.is_started
        with torch.no_grad():
            if starts:
                self.prototypes.start(lambda part: F.normalize(self._encode_bare(part), dim=1))
            for part in self.plan.ours():
                whole = self._encode_bare(part)
                unit = F.normalize(whole, dim=1)
                self.prototypes.place(part, unit)
                self.gram.refresh(part, whole if self.settings.rank_scale == "sum" else unit)
        return starts

    def _encode_whole(self, piece: Piece) -> Embeddings:
        embeddings: Embeddings = self.synchronised(piece.features, piece.whole)
        return embeddings

    def _encode_bare(self, part: int) -> Embeddings:
        piece = self._piece(part)
        embeddings: Embeddings = self.encoder(piece.features, piece.whole)
        return embeddings

    def _piece(self, part: int) -> Piece:
        """Return a part; structures are kept, features are read each time."""
        nodes = self.plan.parts[part].to(self.graph.device)
        if part not in self.structures:
            inside = induced_graph(self.graph, nodes)
            draws = torch_generator(self.plan.seed, *self._purpose("spare pairs", part))
            self.structures[part] = view_structure(inside, self.rates, draws)
        features = normalise_rows(take_features(self.graph.features, nodes), self.feature_norm)
        return Piece(features, self.structures[part])

    def _stream(self, name: str, part: int, epoch: int) -> torch.Generator:
        """Return the random stream of a part in an epoch, whoever trains on it."""
        if len(self.plan.parts) == 1:
            return self.streams[name]
        return torch_generator(self.plan.seed, *self._purpose(name, part), epoch)

    def _purpose(self, name: str, part: int) -> Iterator[str | int]:
        yield name
        if len(self.plan.parts) > 1:
            yield part


def _mean(costs: list[Tensor]) -> Tensor:
    return torch.stack(costs).mean()
