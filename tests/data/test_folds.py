"""Stratified folds and the one hold-out rule."""

import torch

from quietgraph.data.folds import hold_out


def test_hold_out_takes_a_stratified_fifth_and_never_everything() -> None:
    labels = torch.arange(100) % 4
    held_out = hold_out(labels, seed=0)
    assert torch.bincount(labels[held_out]).tolist() == [5, 5, 5, 5]
    assert int(hold_out(torch.tensor([0, 1]), seed=0).sum()) == 1
    assert not hold_out(torch.tensor([0, -1]), seed=0).any()
