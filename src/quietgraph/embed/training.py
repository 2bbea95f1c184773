"""One training loop for every method: optimiser, early stop, best snapshot, history."""

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn

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


def train(
    module: nn.Module,
    losses: Callable[[int], Mapping[str, Tensor]],
    schedule: Schedule,
    *,
    score: Callable[[], float] | None = None,
    parameters: list[dict[str, object]] | None = None,
    after_step: Callable[[], None] | None = None,
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
        what: Name of the work for progress.
    """
    groups = parameters or [{"params": list(module.parameters())}]
    optimiser = torch.optim.Adam(
        groups, lr=schedule.learning_rate, weight_decay=schedule.weight_decay, fused=True
    )
    history: History = []
    best, best_state, waited = -math.inf, None, 0
    started = time.perf_counter()
    for epoch in range(schedule.epochs):
        module.train()
        values = losses(epoch)
        optimiser.zero_grad(set_to_none=True)
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
        current = -record["loss"]
        if score is not None:
            module.eval()
            with torch.no_grad():
                current = record["score"] = score()
        record["seconds"] = time.perf_counter() - started
        history.append(record)
        report_progress(what, epoch + 1, schedule.epochs)
        if current > best:
            best, waited = current, 0
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
