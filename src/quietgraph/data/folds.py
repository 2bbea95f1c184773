"""Stratified folds and hold-outs over labelled nodes."""

import torch
from torch import Tensor

from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels, Mask

HELD_OUT = 5  # one of so many labels is held out for validation


def stratified_folds(labels: Labels, count: int, *, generator: torch.Generator) -> Tensor:
    """Return the fold of each labelled node, -1 for the others [nodes] int64.

    Within each class, fold sizes differ by at most one, and so do they overall.
    """
    folds = torch.full_like(labels, UNKNOWN)
    known = (labels != UNKNOWN).nonzero().squeeze(1)
    shuffled = known[torch.randperm(len(known), generator=generator)]
    by_class = shuffled[torch.argsort(labels[shuffled], stable=True)]
    folds[by_class] = torch.arange(len(by_class)) % count
    return folds


def hold_out(labels: Labels, *, seed: int) -> Mask:
    """Return a stratified fifth of the labelled nodes, at least one and never all [nodes] bool."""
    known, draws = (labels != UNKNOWN).nonzero().squeeze(1), torch_generator(seed, "hold out")
    folds = stratified_folds(labels[known], HELD_OUT, generator=draws)
    held_out = torch.zeros(len(labels), dtype=torch.bool, device=labels.device)
    held_out[known[(folds == 0) & (folds > 0).any()]] = True
    return held_out
