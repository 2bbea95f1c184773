"""One training loop for every method: steps, early stop, best snapshot, checkpoints, history."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from quietgraph.callbacks import Epoch, report_epoch
from quietgraph.embed.adam import Adam
from quietgraph.embed.scale.checkpoint import Checkpoints, Snapshot, restore_state, state_of
from quietgraph.embed.scale.distributed import ALONE, World
from quietgraph.errors import QuietgraphError
from quietgraph.graph.io.limits import parsing
from quietgraph.progress import report_progress

History: TypeAlias = list[dict[str, float]]
Losses: TypeAlias = Callable[[int], Mapping[str, Tensor]]  # of a step, numbered from 0
_STATE = "state."  # prefix of the trainer's own tensors in a checkpoint


class DivergedError(QuietgraphError):
    """A loss became NaN or infinite."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int
    learning_rate: float
    weight_decay: float = 0.0
    patience: int | None = None  # epochs without a better value before training stops
    steps: int = 1  # of an epoch; several where the graph is trained in partitions


@dataclass(frozen=True, eq=False)
class Start:
    """Where a training continues: the optimiser with its state, and the epochs that are done."""

    optimiser: Adam
    history: History = field(default_factory=list)  # with a "score" where training has one


@dataclass(frozen=True, eq=False)
class Recovery:
    """How a training continues after its process has ended.

    Attributes:
        checkpoints: Where snapshots are written.
        key: Tells this training from any other.
        state: Returns the state of the trainer beside the weights, by name.
        restore: Takes what `state` returned.
        partitions_per_step: Where it differs from the snapshot's, the epoch starts again.
    """

    checkpoints: Checkpoints
    key: str
    state: Callable[[], dict[str, Tensor]]
    restore: Callable[[dict[str, Tensor]], None]
    partitions_per_step: int = 1


def train(
    module: nn.Module,
    losses: Losses,
    schedule: Schedule,
    *,
    score: Callable[[], float] | None = None,
    parameters: list[dict[str, object]] | None = None,
    after_step: Callable[[], None] | None = None,
    start: Start | None = None,
    recovery: Recovery | None = None,
    world: World = ALONE,
    what: str = "training",
) -> History:
    """Train a module in place and return one record of mean losses per epoch.

    Args:
        module: What is trained; left in eval mode.
        losses: Gives the named losses of a step; "loss" is the one that is minimised. With one
            step an epoch the number of the step is that of the epoch.
        schedule: Epochs, steps, step size, decay, patience.
        score: Larger is better, evaluated after every epoch in eval mode; the parameters of the
            best epoch are restored at the end, and patience counts epochs without a better one.
            Without it patience counts epochs without a better training loss, and the last
            epoch's parameters stay. Not together with `recovery`.
        parameters: Optimiser groups, where they differ from all parameters with one decay.
        after_step: Called after every step, for example to move a target network.
        start: Epochs done before. Their scores have to be beaten, but their parameters are gone:
            where none of the later epochs is better, the last one's stay.
        recovery: Writes snapshots and continues from the last one.
        world: The processes that train together; their losses are averaged.
        what: Name of the work for progress.
    """
    start = start or Start(new_optimiser(module, schedule, parameters))
    loop = _Loop(module, losses, schedule, start=start, world=world, what=what)
    loop.score, loop.after_step = score, after_step
    if recovery is not None:
        loop.recover(recovery)
    return loop.run()


def new_optimiser(
    module: nn.Module, schedule: Schedule, parameters: list[dict[str, object]] | None = None
) -> Adam:
    """Return the optimiser of all parameters, or of the groups given."""
    groups = parameters or [{"params": list(module.parameters())}]
    return Adam(groups, learning_rate=schedule.learning_rate, weight_decay=schedule.weight_decay)


@dataclass
class _Progress:
    """How far a training has come."""

    history: History = field(default_factory=list)
    epoch: int = 0
    step: int = 0  # of this epoch
    sums: dict[str, float] = field(default_factory=dict)  # of the losses in this epoch
    counts: dict[str, int] = field(default_factory=dict)  # steps with each of them
    best: float = -math.inf
    waited: int = 0

    def start_epoch(self, number: int) -> None:
        self.epoch, self.step, self.sums, self.counts = number, 0, {}, {}


class _Loop:
    """The state of one call of `train`."""

    def __init__(
        self,
        module: nn.Module,
        losses: Losses,
        schedule: Schedule,
        *,
        start: Start,
        world: World,
        what: str,
    ) -> None:
        self.module, self.losses, self.schedule = module, losses, schedule
        self.optimiser, self.world, self.what = start.optimiser, world, what
        self.score: Callable[[], float] | None = None
        self.after_step: Callable[[], None] | None = None
        self.recovery: Recovery | None = None
        self.best_state: dict[str, object] | None = None
        best = max((_value(record) for record in start.history), default=-math.inf)
        self._begin(_Progress(list(start.history), len(start.history), best=best))

    def run(self) -> History:
        progress, schedule = self.progress, self.schedule
        while progress.epoch < schedule.epochs:
            if schedule.patience is not None and progress.waited >= schedule.patience:
                break
            while progress.step < schedule.steps:
                self._step()
            self._end_epoch()
        if self.recovery is not None and self.world.is_first:
            self._write(self.recovery)
        if self.best_state is not None:
            self.module.load_state_dict(self.best_state)
        self.module.eval()
        return progress.history

    def recover(self, recovery: Recovery) -> None:
        """Write snapshots from now on, and continue from the last one if there is one."""
        self.recovery = recovery
        found = recovery.checkpoints.last(recovery.key) if self.world.is_first else None
        found = self.world.agree(found)
        if found is None:
            return
        with parsing(recovery.checkpoints.folder, "checkpoint", "Remove it to start afresh."):
            restore_state(self.module, self.optimiser, found.tensors)
            progress = _progress_of(found.facts["progress"])
            if found.facts["partitions_per_step"] != recovery.partitions_per_step:
                progress.start_epoch(progress.epoch)
            self._begin(progress)
            own = (name for name in found.tensors if name.startswith(_STATE))
            recovery.restore({name.removeprefix(_STATE): found.tensors[name] for name in own})

    def _begin(self, progress: _Progress) -> None:
        before = progress.history[-1]["seconds"] if progress.history else 0.0
        self.progress, self.started = progress, time.perf_counter() - before

    def _step(self) -> None:
        progress, steps = self.progress, self.schedule.steps
        self.module.train()
        values = self.losses(progress.epoch * steps + progress.step)
        self.optimiser.zero_grad()
        values["loss"].backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        if self.after_step is not None:
            self.after_step()
        record = {name: float(value.detach()) for name, value in values.items()}
        if not math.isfinite(record["loss"]):
            raise DivergedError(
                f"{self.what} diverged at epoch {progress.epoch}: the loss is {record['loss']}. "
                "Lower learning_rate."
            )
        for name, value in record.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + value
            progress.counts[name] = progress.counts.get(name, 0) + 1
        progress.step += 1
        done = progress.epoch * steps + progress.step
        report_progress(self.what, done, self.schedule.epochs * steps)
        recovery = self.recovery
        if recovery is not None and self.world.is_first and recovery.checkpoints.is_due():
            self._write(recovery)

    def _end_epoch(self) -> None:
        progress = self.progress
        sums = torch.tensor([*progress.sums.values()], dtype=torch.float64)
        counts = torch.tensor([progress.counts[name] for name in progress.sums])
        means = self.world.total(sums) / (self.world.size * counts)
        record = dict(zip(progress.sums, means.tolist(), strict=True))
        if self.score is not None:
            self.module.eval()
            with torch.no_grad():
                record["score"] = self.score()
        record["seconds"] = time.perf_counter() - self.started
        progress.history.append(record)
        progress.waited += 1
        if _value(record) > progress.best:
            progress.best, progress.waited = _value(record), 0
            if self.score is not None:
                self.best_state = copy.deepcopy(self.module.state_dict())
        progress.start_epoch(progress.epoch + 1)
        if self.world.is_first:
            report_epoch(Epoch(self.what, progress.epoch, self.schedule.epochs, record))

    def _write(self, recovery: Recovery) -> None:
        progress: dict[str, Any] = {**vars(self.progress)}
        progress["best"] = None if math.isinf(self.progress.best) else self.progress.best
        tensors = state_of(self.module, self.optimiser)
        tensors |= {_STATE + name: value for name, value in recovery.state().items()}
        facts = {"progress": progress, "partitions_per_step": recovery.partitions_per_step}
        recovery.checkpoints.keep(recovery.key, Snapshot(tensors, facts))


def _progress_of(facts: dict[str, Any]) -> _Progress:
    """Return the progress that a snapshot tells of; ValueError where it tells of none."""
    best = -math.inf if facts["best"] is None else facts["best"]
    progress = _Progress(**{**facts, "best": best})
    records = [progress.sums, *progress.history]
    counts = (progress.epoch, progress.step, progress.waited, *progress.counts.values())
    if not all(
        type(one) is float and math.isfinite(one) for row in records for one in row.values()
    ):
        raise ValueError("losses are no numbers")
    if not all(type(one) is int and one >= 0 for one in counts) or type(best) is not float:
        raise ValueError("epochs are no numbers")
    if progress.counts.keys() != progress.sums.keys() or not all(progress.counts.values()):
        raise ValueError("losses are not counted")
    if progress.epoch != len(progress.history) or not all(
        {"loss", "seconds"} <= row.keys() for row in progress.history
    ):
        raise ValueError("epochs are missing")
    return progress


def _value(record: dict[str, float]) -> float:
    return record.get("score", -record["loss"])
