"""Splits: counts, disjointness, small classes, wrong numbers."""

import numpy as np
import pytest
import torch

from quietgraph.data.splits import (
    Split,
    count_split,
    fraction_split,
    per_class_split,
    split_labelled,
)
from quietgraph.errors import InvalidLabelsError, InvalidParameterError

LABELS = torch.tensor([0] * 10 + [1] * 6 + [2] * 1 + [-1] * 3)


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def counts(mask: torch.Tensor) -> list[int]:
    return torch.bincount(LABELS[mask], minlength=3).tolist()


def test_each_class_gives_the_same_number_and_the_rest_is_test() -> None:
    split = per_class_split(
        LABELS, train_per_class=2, validation_per_class=3, generator=generator()
    )
    assert counts(split.train)[:2] == [2, 2]
    assert counts(split.validation)[:2] == [3, 3]
    assert counts(split.test)[:2] == [5, 1]


def test_a_class_with_too_few_nodes_gives_them_to_train_first() -> None:
    split = per_class_split(
        LABELS, train_per_class=4, validation_per_class=3, generator=generator()
    )
    assert counts(split.train) == [4, 4, 1]
    assert counts(split.validation) == [3, 2, 0]
    assert counts(split.test) == [3, 0, 0]


@pytest.mark.parametrize("part", ["train", "validation", "test"])
def test_nodes_of_unknown_class_are_in_no_part(part: str) -> None:
    split = per_class_split(
        LABELS, train_per_class=2, validation_per_class=2, generator=generator()
    )
    assert not getattr(split, part)[LABELS < 0].any()


def test_the_generator_decides_the_split() -> None:
    first, same, other = (
        per_class_split(
            LABELS, train_per_class=2, validation_per_class=2, generator=generator(seed)
        ).train
        for seed in (0, 0, 1)
    )
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_every_node_of_a_class_is_drawn_equally_often() -> None:
    shared = generator()
    drawn = sum(
        per_class_split(
            LABELS, train_per_class=2, validation_per_class=0, generator=shared
        ).train.double()
        for _ in range(2000)
    )
    # 2 of 10 nodes of class 0: binomial(2000, 0.2), standard deviation 18.
    assert (torch.as_tensor(drawn)[:10] - 400).abs().max() < 5 * 18


def test_totals_of_validation_and_test_are_as_asked() -> None:
    split = count_split(
        LABELS, train_per_class=2, num_validation=4, num_test=5, generator=generator()
    )
    sizes = [int(mask.sum()) for mask in (split.train, split.validation, split.test)]
    assert sizes == [5, 4, 5]
    assert not (split.labelled & split.test).any()
    assert not split.test[LABELS < 0].any()


def test_more_nodes_than_there_are_is_an_error_that_says_how_many_are_left() -> None:
    with pytest.raises(InvalidParameterError, match=r"only 12 are left"):
        count_split(LABELS, train_per_class=2, num_validation=4, num_test=9, generator=generator())


def test_overlapping_masks_are_refused() -> None:
    mask = torch.tensor([True, False])
    with pytest.raises(InvalidLabelsError, match="must not overlap, got 1"):
        Split(mask, mask, ~mask)


def test_masks_of_different_length_are_refused() -> None:
    mask = torch.tensor([True, False])
    with pytest.raises(InvalidLabelsError, match="bool masks of one length"):
        Split(mask, ~mask, torch.zeros(3, dtype=torch.bool))


def test_fractions_are_drawn_uniformly_and_every_class_is_trained_on() -> None:
    labels = torch.tensor([0] * 900 + [1] * 99 + [2])
    split = fraction_split(labels, train=0.05, validation=0.15, generator=generator(0))
    sizes = [int(mask.sum()) for mask in (split.train, split.validation, split.test)]
    assert sizes == [50, 150, 800]
    assert bool(split.train[999])
    again = fraction_split(labels, train=0.05, validation=0.15, generator=generator(1))
    assert not torch.equal(split.validation, again.validation)


def test_masks_are_compared_block_by_block(monkeypatch) -> None:
    monkeypatch.setattr("quietgraph.data.splits._AT_ONCE", 2)
    train, validation, test = (torch.zeros(7, dtype=torch.bool) for _ in range(3))
    train[:3], validation[[0, 4]], test[[2, 4, 6]] = True, True, True
    with pytest.raises(InvalidLabelsError, match="got 3 nodes"):
        Split(train, validation, test)
    labels = torch.tensor([0, -1, 1, 0, -1, 1, 0])
    split = split_labelled(labels, validation)
    assert split.train.nonzero().squeeze(1).tolist() == [2, 3, 5, 6]
    assert split.validation.nonzero().squeeze(1).tolist() == [0]
