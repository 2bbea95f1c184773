"""Perceptrons of `quiet`: consistent predictions on randomly propagated attributes (GRAND+)."""

from dataclasses import replace
from typing import Final, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed import Schedule, train
from quietgraph.methods.base.supervised import validation_score
from quietgraph.methods.base.task import Task
from quietgraph.methods.grand_plus.propagated_perceptron import (
    PropagatedPerceptron,
    consistency_loss,
)
from quietgraph.rng import torch_generator

WEIGHT_DECAYS: Final = (3e-3, 1e-2)  # the larger one for clean labels, where it gains most
_HIDDEN: Final = 64
_BATCH: Final = 100  # labelled nodes in a step, and as many unlabelled ones
_CONSISTENCY: Final = 1.5  # weight of the consistency loss after warm-up
_SCHEDULE: Final = Schedule(epochs=40, steps=10, learning_rate=0.01, patience=12)
_WARM_UP: Final = 160  # steps over which the consistency weight grows


def fit_perceptrons(views: Tensor, whole: Tensor, task: Task) -> dict[float, list[Tensor]]:
    """Return a perceptron for each weight decay: weight and bias of both layers.

    Every step draws two of the random propagations, minimises the cross-entropy of training
    labels, and pulls the two predictions for unlabelled nodes to their sharpened mean.

    Args:
        views: The random propagations [views, nodes, columns].
        whole: Rows propagated with no node left out [nodes, columns].
        task: Validation labels choose the epoch.
    """
    return {decay: _fit(views, whole, task, decay) for decay in WEIGHT_DECAYS}


def _fit(views: Tensor, whole: Tensor, task: Task, weight_decay: float) -> list[Tensor]:
    sizes = [whole.shape[1], _HIDDEN, task.num_classes]
    module = PropagatedPerceptron(sizes, dropouts=(0.0, 0.5), batch_norm=False, node_norm=False)
    module.to(whole.device)
    draws = torch_generator(task.seed, "perceptron batches")
    labelled = task.train.nonzero().squeeze(1)
    known = task.train | task.validation
    others = (~known).nonzero().squeeze(1) if not known.all() else labelled
    labels, held_out = task.labels, whole[task.validation]
    everything = torch.ones(len(held_out), dtype=torch.bool, device=whole.device)

    def losses(step: int) -> dict[str, Tensor]:
        batch = labelled[torch.randperm(len(labelled), generator=draws)[:_BATCH].to(whole.device)]
        picks = others[torch.randint(len(others), (_BATCH,), generator=draws).to(whole.device)]
        pair = torch.randperm(len(views), generator=draws)[:2].tolist()
        which = torch.cat([batch, picks])
        inputs = torch.cat([views[view][which] for view in pair])
        logs = module(inputs).log_softmax(dim=1).view(2, len(which), -1)
        targets = labels[batch].repeat(2)
        fit = F.nll_loss(logs[:, : len(batch)].flatten(0, 1), targets)
        agree = consistency_loss(logs[:, len(batch) :], sharpening=0.1, distance="l2")
        return {"loss": fit + _CONSISTENCY * min(1.0, step / _WARM_UP) * agree}

    train(
        module,
        losses,
        replace(_SCHEDULE, weight_decay=weight_decay),
        score=lambda: validation_score(module(held_out), task.labels[task.validation], everything),
        what="perceptron",
    )
    first, second = (cast(nn.Linear, layer) for layer in module.layers)
    return [
        each.detach().clone() for each in (first.weight.T, first.bias, second.weight.T, second.bias)
    ]
