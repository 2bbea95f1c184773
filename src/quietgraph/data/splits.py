"""Splits and folds: which labels teach, choose and test."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN, Labels, Mask

HELD_OUT = 5  # one of so many labels is held out for validation


@dataclass(frozen=True, eq=False)
class Split:
    """Three sets of nodes without overlap; a node may be in none of them."""

    train: Mask
    validation: Mask
    test: Mask

    def __post_init__(self) -> None:
        masks = (self.train, self.validation, self.test)
        if len({mask.shape for mask in masks}) > 1 or any(m.dtype != torch.bool for m in masks):
            raise InvalidLabelsError(
                "train, validation and test must be bool masks of one length, got "
                + ", ".join(f"{mask.dtype} {tuple(mask.shape)}" for mask in masks)
                + "."
            )
        shared = int(((self.train & self.validation) | (self.labelled & self.test)).sum())
        if shared:
            raise InvalidLabelsError(f"train, validation and test must not overlap, got {shared} nodes in two of them.")

    @property
    def labelled(self) -> Mask:
        """Nodes whose labels a method may see: train and validation [nodes]."""
        return self.train | self.validation


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


def no_node(like: Tensor) -> Mask:
    """Return a mask of no node that takes the memory of one, as long as another tensor [nodes]."""
    return torch.zeros(1, dtype=torch.bool, device=like.device).expand(len(like))


def draw_split(
    labels: Labels,
    *,
    train: float,
    validation: float,
    test: int | None = None,
    generator: np.random.Generator,
) -> Split:
    """Return a random split of the nodes whose class is known.

    A class with too few nodes gives what it has, to train first, then to validation; every class has a training node.

    Args:
        labels: Class of each node [nodes]; nodes of unknown class are in no part.
        train: Training nodes of each class, or below 1 their fraction of all known nodes.
        validation: Validation nodes, counted as `train` is; with `test`, their number in all.
        test: Test nodes in all; without it, all that is left.
        generator: Source of the draw.
    """
    codes = labels.cpu().numpy()
    position = np.full(len(codes), UNKNOWN)  # in a random order of the class
    for code in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == code)
        position[members] = generator.permutation(len(members))
    known = position >= 0
    if train < 1:
        first, rest = np.flatnonzero(position == 0), np.flatnonzero(position > 0)
        order = np.concatenate([first, generator.permutation(rest)])
        sizes = [max(round(train * len(order)), len(first)), round(validation * len(order))]
        parts = np.split(order, np.cumsum(sizes))
    elif test is None:
        end = train + validation
        parts = [known & (position < train), known & (position >= train) & (position < end), known & (position >= end)]
    else:
        held, rest = int(validation), generator.permutation(np.flatnonzero(position >= train))
        if len(rest) < held + test:
            raise InvalidParameterError(
                f"the split needs {held} validation and {test} test nodes, but only {len(rest)} are left after "
                "training. Ask for fewer, or for a split per class."
            )
        parts = [known & (position < train), rest[:held], rest[held : held + test]]
    masks = torch.zeros((3, len(codes)), dtype=torch.bool)
    for mask, nodes in zip(masks, parts, strict=True):
        mask[torch.from_numpy(nodes)] = True
    return Split(*masks)
