"""Training with several steps an epoch, one on each group of parts; it can be interrupted."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from quietgraph.embed.scale.checkpoint import Checkpoints, Snapshot, restore_state, state_of
from quietgraph.embed.scale.distributed import ALONE, World
from quietgraph.embed.training import DivergedError, History, Schedule, new_optimiser
from quietgraph.progress import report_progress


class Trainer(Protocol):
    """What a training in steps is made of."""

    steps: int  # of an epoch

    def losses(self, epoch: int, step: int) -> Mapping[str, Tensor]:
        """Return the named losses of a step; "loss" is the one that is minimised."""


@dataclass(frozen=True, eq=False)
class Keeper:
    """How a training survives the end of its process.

    Attributes:
        checkpoints: Where snapshots go.
        key: Tells this training from any other.
        memory: Gives what the trainer knows beside the weights, by name.
        recall: Takes what `memory` gave.
        grouping: What the number of a step means; where it differs, the epoch starts again.
    """

    checkpoints: Checkpoints
    key: str
    memory: Callable[[], dict[str, Tensor]]
    recall: Callable[[dict[str, Tensor]], None]
    grouping: int


@dataclass
class _Place:
    """Where a training stands."""

    epoch: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)  # of the losses in this epoch
    history: History = field(default_factory=list)
    best: float = -math.inf
    waited: int = 0


class _Loop:
    """The state of one call of `train_steps`."""

    def __init__(
        self,
        module: nn.Module,
        trainer: Trainer,
        schedule: Schedule,
        *,
        score: Callable[[], float] | None,
        keeper: Keeper | None,
        world: World,
        what: str,
    ) -> None:
        self.module, self.trainer, self.schedule = module, trainer, schedule
        self.score, self.keeper, self.world, self.what = score, keeper, world, what
        self.optimiser = new_optimiser(module, schedule)
        self.place = _Place()
        self.best_state: dict[str, Any] | None = None
        self.started = time.perf_counter()
        if keeper is not None:
            self._resume(keeper)

    def run(self) -> History:
        place, patience = self.place, self.schedule.patience
        while place.epoch < self.schedule.epochs:
            if patience is not None and place.waited >= patience:
                break
            while place.step < self.trainer.steps:
                self._step()
            self._end_epoch()
        if self.keeper is not None and self.world.is_first:
            self._keep(self.keeper)
        if self.best_state is not None:
            self.module.load_state_dict(self.best_state)
        self.module.eval()
        return place.history

    def _step(self) -> None:
        place = self.place
        self.module.train()
        values = self.trainer.losses(place.epoch, place.step)
        self.optimiser.zero_grad()
        values["loss"].backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        record = {name: float(value.detach()) for name, value in values.items()}
        if not math.isfinite(record["loss"]):
            raise DivergedError(
                f"{self.what} diverged at epoch {place.epoch}: the loss is {record['loss']}. "
                "Lower learning_rate."
            )
        for name, value in record.items():
            place.sums[name] = place.sums.get(name, 0.0) + value
        place.step += 1
        done = place.epoch * self.trainer.steps + place.step
        report_progress(self.what, done, self.schedule.epochs * self.trainer.steps)
        keeper = self.keeper
        if keeper is not None and self.world.is_first and keeper.checkpoints.is_due():
            self._keep(keeper)

    def _end_epoch(self) -> None:
        place = self.place
        sums = torch.tensor([*place.sums.values()], dtype=torch.float64)
        means = self.world.total(sums) / (self.world.size * self.trainer.steps)
        record = dict(zip(place.sums, means.tolist(), strict=True))
        current = -record["loss"]
        if self.score is not None:
            self.module.eval()
            with torch.no_grad():
                current = record["score"] = self.score()
        record["seconds"] = time.perf_counter() - self.started
        place.history.append(record)
        place.waited += 1
        if current > place.best:
            place.best, place.waited = current, 0
            if self.score is not None:
                self.best_state = copy.deepcopy(self.module.state_dict())
        place.epoch, place.step, place.sums = place.epoch + 1, 0, {}

    def _keep(self, keeper: Keeper) -> None:
        place: dict[str, Any] = {**vars(self.place)}
        place["best"] = None if math.isinf(self.place.best) else self.place.best
        tensors = state_of(self.module, self.optimiser)
        tensors |= {f"memory.{name}": value for name, value in keeper.memory().items()}
        facts = {"place": place, "grouping": keeper.grouping}
        keeper.checkpoints.keep(keeper.key, Snapshot(tensors, facts))

    def _resume(self, keeper: Keeper) -> None:
        found = keeper.checkpoints.last(keeper.key) if self.world.is_first else None
        found = self.world.agree(found)
        if found is None:
            return
        restore_state(self.module, self.optimiser, found.tensors)
        place = _Place(**found.facts["place"])
        place.best = -math.inf if place.best is None else place.best
        if found.facts["grouping"] != keeper.grouping:
            place.step, place.sums = 0, {}
        before = place.history[-1]["seconds"] if place.history else 0.0
        self.place, self.started = place, time.perf_counter() - before
        beginning = "memory."
        keeper.recall(
            {
                name.removeprefix(beginning): value
                for name, value in found.tensors.items()
                if name.startswith(beginning)
            }
        )


def train_steps(
    module: nn.Module,
    trainer: Trainer,
    schedule: Schedule,
    *,
    score: Callable[[], float] | None = None,
    keeper: Keeper | None = None,
    world: World = ALONE,
    what: str = "training",
) -> History:
    """Train a module in place and return one record of mean losses per epoch.

    Args:
        module: What is trained; left in eval mode.
        trainer: Gives the losses of every step.
        schedule: Epochs, step size, decay, patience.
        score: Larger is better, evaluated after every epoch in eval mode; the parameters of the
            best epoch are restored at the end. Not together with a keeper.
        keeper: Keeps snapshots and continues from the last one.
        world: The processes that train together; their losses are averaged.
        what: Name of the work for progress.
    """
    loop = _Loop(module, trainer, schedule, score=score, keeper=keeper, world=world, what=what)
    return loop.run()
