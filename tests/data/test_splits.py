"""Splits: counts, disjointness, small classes, wrong numbers."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.data.splits import Split, draw_split, hold_out, stratified_folds
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.rng import torch_generator

LABELS = torch.tensor([0] * 10 + [1] * 6 + [2] * 1 + [-1] * 3)


def draw(seed: int = 0, labels: Tensor = LABELS, **sizes: float) -> Split:
    return draw_split(labels, **sizes, generator=np.random.default_rng(seed))


def counts(mask: Tensor) -> list[int]:
    return torch.bincount(LABELS[mask], minlength=3).tolist()


def sizes_of(split: Split) -> list[int]:
    return [int(mask.sum()) for mask in (split.train, split.validation, split.test)]


def test_each_class_gives_the_same_number_and_the_rest_is_test() -> None:
    split = draw(train=2, validation=3)
    assert [counts(mask)[:2] for mask in (split.train, split.validation, split.test)] == [[2, 2], [3, 3], [5, 1]]


def test_a_class_with_too_few_nodes_gives_them_to_train_first() -> None:
    split = draw(train=4, validation=3)
    assert [counts(mask) for mask in (split.train, split.validation, split.test)] == [[4, 4, 1], [3, 2, 0], [3, 0, 0]]


def test_totals_of_validation_and_test_are_as_asked() -> None:
    assert sizes_of(draw(train=2, validation=4, test=5)) == [5, 4, 5]


def test_more_nodes_than_there_are_is_an_error_that_says_how_many_are_left() -> None:
    with pytest.raises(InvalidParameterError, match="only 12 are left"):
        draw(train=2, validation=4, test=9)


def test_fractions_are_drawn_uniformly_and_every_class_is_trained_on() -> None:
    labels = torch.tensor([0] * 900 + [1] * 99 + [2])
    split = draw(labels=labels, train=0.05, validation=0.15)
    assert sizes_of(split) == [50, 150, 800]
    assert bool(split.train[999])


@pytest.mark.parametrize(
    "sizes",
    [{"train": 2, "validation": 2}, {"train": 0.3, "validation": 0.2}, {"train": 2, "validation": 4, "test": 5}],
)
def test_the_generator_decides_and_unknown_nodes_are_in_no_part(sizes: dict[str, float]) -> None:
    first, same, other = (draw(seed, **sizes) for seed in (0, 0, 1))
    assert torch.equal(first.train, same.train)
    assert not torch.equal(first.validation, other.validation)
    assert not (first.labelled | first.test)[LABELS < 0].any()


def test_masks_that_overlap_or_differ_in_length_are_refused() -> None:
    mask = torch.tensor([True, False])
    with pytest.raises(InvalidLabelsError, match="must not overlap, got 1"):
        Split(mask, mask, ~mask)
    with pytest.raises(InvalidLabelsError, match="bool masks of one length"):
        Split(mask, ~mask, torch.zeros(3, dtype=torch.bool))


def test_folds_are_stratified_and_differ_by_one_at_most() -> None:
    folds = stratified_folds(LABELS, 5, generator=torch_generator(0, "test"))
    assert (folds[LABELS < 0] == -1).all()
    for members in (LABELS >= 0, LABELS == 0, LABELS == 1):
        found = torch.bincount(folds[members], minlength=5)
        assert found.max() - found.min() <= 1


def test_a_fifth_is_held_out_and_never_all() -> None:
    assert int(hold_out(LABELS, seed=0).sum()) == 4
    assert int(hold_out(torch.tensor([0, -1, 1]), seed=0).sum()) == 1
    assert int(hold_out(torch.tensor([0, -1]), seed=0).sum()) == 0
