"""One training loop for every method: optimiser, early stop, best snapshot, history."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from torch import Tensor, nn

from quietgraph.embed.adam import Adam
from quietgraph.errors import QuietgraphError
from quietgraph.progress import report_progress

History: TypeAlias = list[dict[str, float]]


class DivergedError(QuietgraphError):
    """A loss became NaN or infinite."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train."""

    epochs: int
    learning_rate: float
    weight_decay: float = 0.0
    patience: int | None = None  # epochs without a better value before training stops


@dataclass(frozen=True, eq=False)
class Start:
    """Where a training goes on: the optimiser with its memory, and the epochs that are done."""

    optimiser: Adam
    history: History = field(default_factory=list)  # with a "score" where training has one


def train(
    module: nn.Module,
    losses: Callable[[int], Mapping[str, Tensor]],
    schedule: Schedule,
    *,
    score: Callable[[], float] | None = None,
    parameters: list[dict[str, object]] | None = None,
    after_step: Callable[[], None] | None = None,
    start: Start | None = None,
    what: str = "training",
) -> History:
    """Train a module in place and return one record of losses per epoch.

    Args:
        module: What is trained; left in eval mode.
        losses: Gives the named losses of an epoch; "loss" is the one that is minimised.
        schedule: Epochs, step size, decay, patience.
        score: Larger is better, evaluated after every epoch in eval mode; the parameters of the
            best epoch are restored at the end, and patience counts epochs without a better one.
            Without it patience counts epochs without a better training loss, and the last
            epoch's parameters stay.
        parameters: Optimiser groups, where they differ from all parameters with one decay.
        after_step: Called after every step, for example to move a target network.
        start: Epochs done before. Their scores have to be beaten, but their parameters are gone:
            where none of the later epochs is better, the last one's stay.
        what: Name of the work for progress.
    """
    start = start or Start(new_optimiser(module, schedule, parameters))
    optimiser, history = start.optimiser, list(start.history)
    best = max((_value(record) for record in history), default=-math.inf)
    best_state, waited = None, 0
    started = time.perf_counter() - (history[-1]["seconds"] if history else 0.0)
    for epoch in range(len(history), schedule.epochs):
        module.train()
        values = losses(epoch)
        optimiser.zero_grad()
        values["loss"].backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        if after_step is not None:
            after_step()
        record = {name: float(value.detach()) for name, value in values.items()}
        if not math.isfinite(record["loss"]):
            raise DivergedError(
                f"{what} diverged at epoch {epoch}: the loss is {record['loss']}. "
                "Lower learning_rate."
            )
        if score is not None:
            module.eval()
            with torch.no_grad():
                record["score"] = score()
        record["seconds"] = time.perf_counter() - started
        history.append(record)
        report_progress(what, epoch + 1, schedule.epochs)
        if _value(record) > best:
            best, waited = _value(record), 0
            if score is not None:
                best_state = copy.deepcopy(module.state_dict())
        else:
            waited += 1
        if schedule.patience is not None and waited >= schedule.patience:
            break
    if best_state is not None:
        module.load_state_dict(best_state)
    module.eval()
    return history


def new_optimiser(
    module: nn.Module, schedule: Schedule, parameters: list[dict[str, object]] | None = None
) -> Adam:
    """Return the optimiser of all parameters, or of the groups given."""
    groups = parameters or [{"params": list(module.parameters())}]
    return Adam(groups, learning_rate=schedule.learning_rate, weight_decay=schedule.weight_decay)


def _value(record: dict[str, float]) -> float:
    return record.get("score", -record["loss"])
