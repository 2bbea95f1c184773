"""Class-prior adjustment: what held-out labels add to the score of each class."""

import math
from typing import Final

import torch
from torch import Tensor

from quietgraph.types import Labels, Scores

_STEPS: Final = (-0.4, -0.2, -0.1, 0.1, 0.2, 0.4)  # of an adjustment, in mean margins
_ROUNDS: Final = 3
_FOLDS: Final = 5
_PENALTY: Final = 0.2  # accuracy per adjustment of one mean margin, in 1 / sqrt(nodes)


def class_adjustment(scores: Scores, labels: Labels, *, generator: torch.Generator) -> Tensor:
    """Return what to add to the score of each class to predict more of some labels [classes].

    Training labels with equally many nodes per class say nothing of the class prior; held-out
    labels do. The mean over five samples of four fifths each, so that no single node decides.

    Args:
        scores: Of nodes whose labels did not train the classifier [nodes, classes].
        labels: Their labels, some of them wrong [nodes].
        generator: Draws the samples.
    """
    if len(labels) < 2:  # nothing to draw samples from
        return scores.new_zeros(scores.shape[1])
    order = torch.randperm(len(labels), generator=generator).to(labels.device)
    fold = order % _FOLDS
    samples = [fold != number for number in range(min(_FOLDS, len(labels)))]
    return torch.stack([_ascend(scores[kept], labels[kept]) for kept in samples]).mean(dim=0)


def _ascend(scores: Scores, labels: Labels) -> Tensor:
    """Return the adjustment by coordinate ascent of accuracy less an L1 penalty [classes]."""
    margin = mean_margin(scores)
    penalty = _PENALTY / math.sqrt(max(len(labels), 1))

    def objective(adjustment: Tensor) -> float:
        hits = (scores + margin * adjustment).argmax(dim=1) == labels
        return float(hits.float().mean() - penalty * adjustment.abs().sum())

    adjustment = scores.new_zeros(scores.shape[1])
    best = objective(adjustment)
    for _ in range(_ROUNDS):
        before = best
        for one in torch.eye(len(adjustment), dtype=scores.dtype, device=scores.device):
            for step in _STEPS:
                moved = adjustment + step * one
                if (value := objective(moved)) > best:
                    best, adjustment = value, moved
        if best == before:
            break
    return margin * adjustment


def mean_margin(scores: Scores) -> Tensor:
    """Return by how much the best class is ahead of the second on average."""
    top = scores.topk(2, dim=1).values
    return (top[:, 0] - top[:, 1]).mean().clamp_min(1e-12)
