"""The label-free epochs before labels count, kept in the cache: any label noise shares them."""

from collections.abc import Mapping
from typing import Final

import torch
from torch import Tensor

from quietgraph.embed import History, Schedule, train
from quietgraph.embed.scale.checkpoint import restore_state, state_of
from quietgraph.embed.training import Start, new_optimiser
from quietgraph.methods.base.cache import active_cache
from quietgraph.methods.merit.labelled_trainer import HeldOut, LabelledTrainer

_MOST_KEPT: Final = 2**25  # scores of held-out nodes over all epochs, 128 MiB
_DRAWS, _SCORES = "draws", "scores"


def warm_up(
    trainer: LabelledTrainer, held_out: HeldOut, schedule: Schedule, key: Mapping[str, object]
) -> Start | None:
    """Bring a new trainer past the epochs without labels, once for one key.

    Returns:
        Where the training goes on, or None, and the trainer as it was, where nothing is kept.
    """
    cache, task = active_cache(), trainer.task
    size = schedule.epochs * len(held_out.nodes) * task.num_classes
    if cache is None or not 0 < size <= _MOST_KEPT:
        return None
    key = {
        **key,
        "graph": task.graph.fingerprint,
        "seed": task.seed,
        "classes": task.num_classes,
        "held_out": held_out.nodes.tolist(),
        "threads": torch.get_num_threads(),  # sums round differently with their number
    }
    optimiser = new_optimiser(trainer, schedule)
    network, draws = trainer.network, trainer.siamese.draws
    found = cache.get_tensors(key)
    if found is None:
        scores, history = _learn(trainer, held_out, schedule, Start(optimiser))
        tensors = state_of(network, optimiser) | {_DRAWS: draws.get_state(), _SCORES: scores}
        cache.put_tensors(key, tensors, history)
    else:
        tensors, history = found
        restore_state(network, optimiser, tensors)
        draws.set_state(tensors[_DRAWS])
    return Start(optimiser, _scored(history, tensors[_SCORES], held_out))


def _learn(
    trainer: LabelledTrainer, held_out: HeldOut, schedule: Schedule, start: Start
) -> tuple[Tensor, History]:
    """Train without labels; the held-out scores of every epoch [epochs, held out, classes]."""
    scores: list[Tensor] = []

    def after_step() -> None:
        trainer.after_step()
        with torch.no_grad():
            scores.append(held_out.scores(trainer).cpu())

    history = train(trainer, trainer.losses, schedule, after_step=after_step, start=start)
    return torch.stack(scores), history


def _scored(history: History, scores: Tensor, held_out: HeldOut) -> History:
    """Return the records with what the observed labels say about each epoch."""
    device = held_out.nodes.device
    return [
        {**record, "score": held_out.value(each.to(device))}
        for record, each in zip(history, scores, strict=True)
    ]
