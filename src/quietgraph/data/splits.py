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


def split_labelled(labels: Labels, validation: Mask) -> Split:
    """Return the labelled nodes as validation nodes and, the others, training nodes.

    Args:
        labels: Class of each node, -1 = unknown [nodes].
        validation: Nodes whose labels are held out; unlabelled ones do not count [nodes].
    """
    train = labels != UNKNOWN
    held_out = train & validation
    train ^= held_out  # in place: masks of very large graphs are long
    if not train.any():
        raise InvalidLabelsError("validation must leave labels to train on, but it holds all of them.")
    if not held_out.any():
        raise InvalidLabelsError(
            "validation must hold some labelled nodes, but it holds none. Leave it out to hold out a stratified fifth."
        )
    return Split(train, held_out, no_node(train))


def no_node(like: Tensor) -> Mask:
    """Return a mask of no node that takes the memory of one, as long as another tensor [nodes]."""
    return torch.zeros(1, dtype=torch.bool, device=like.device).expand(len(like))


def per_class_split(
    labels: Labels,
    *,
    train_per_class: int,
    validation_per_class: int,
    generator: np.random.Generator,
) -> Split:
    """Return a split with equal counts per class; the other known nodes are the test set.

    A class with too few nodes gives what it has, to train first, then to validation.

    Args:
        labels: Class of each node [nodes]; nodes of unknown class are in no part.
        train_per_class: Training nodes of each class, at least 1.
        validation_per_class: Validation nodes of each class.
        generator: Source of the draw.
    """
    position = _position_in_class(labels, generator)
    known = position >= 0
    train = known & (position < train_per_class)
    validation = known & ~train & (position < train_per_class + validation_per_class)
    return _split(train, validation, known & ~train & ~validation)


def count_split(
    labels: Labels,
    *,
    train_per_class: int,
    num_validation: int,
    num_test: int,
    generator: np.random.Generator,
) -> Split:
    """Return a split with equal training counts per class and fixed totals for the rest.

    Args:
        labels: Class of each node [nodes]; nodes of unknown class are in no part.
        train_per_class: Training nodes of each class, at least 1.
        num_validation: Validation nodes in all, of any class.
        num_test: Test nodes in all, of any class.
        generator: Source of the draw.
    """
    position = _position_in_class(labels, generator)
    train = (position >= 0) & (position < train_per_class)
    rest = generator.permutation(np.flatnonzero((position >= 0) & ~train))
    if len(rest) < num_validation + num_test:
        raise InvalidParameterError(
            f"the split needs {num_validation} validation and {num_test} test nodes, but only "
            f"{len(rest)} are left after training. Ask for fewer, or for a split per class."
        )
    validation, test = np.zeros_like(train), np.zeros_like(train)
    validation[rest[:num_validation]] = True
    test[rest[num_validation : num_validation + num_test]] = True
    return _split(train, validation, test)


def fraction_split(labels: Labels, *, train: float, validation: float, generator: np.random.Generator) -> Split:
    """Return a split with fractions of the known nodes, drawn uniformly; the rest is the test set.

    Args:
        labels: Class of each node [nodes]; nodes of unknown class are in no part.
        train: Fraction of training nodes; every class has one at least.
        validation: Fraction of validation nodes.
        generator: Source of the draw.
    """
    position = _position_in_class(labels, generator)
    first, rest = np.flatnonzero(position == 0), np.flatnonzero(position > 0)
    order = np.concatenate([first, generator.permutation(rest)])
    ends = np.cumsum([max(round(train * len(order)), len(first)), round(validation * len(order))])
    masks = np.zeros((3, len(labels)), dtype=bool)
    for mask, nodes in zip(masks, np.split(order, ends), strict=True):
        mask[nodes] = True
    return _split(*masks)


def _position_in_class(labels: Labels, generator: np.random.Generator) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return each node's place in a random order of its class, -1 where it is unknown."""
    codes = labels.cpu().numpy()
    position = np.full(len(codes), -1, dtype=np.int64)
    for code in np.unique(codes[codes >= 0]):
        members = np.flatnonzero(codes == code)
        position[members] = generator.permutation(len(members))
    return position


def _split(*masks: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Split:
    return Split(*(torch.from_numpy(mask) for mask in masks))
