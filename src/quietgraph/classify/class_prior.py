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
_SHIFT: Final = 0.3  # mean margins per unit of the logarithm of the label shift


def class_adjustment(scores: Scores, labels: Labels, train_labels: Labels, *, generator: torch.Generator) -> Tensor:
    """Return what to add to the score of each class to predict more of some labels [classes].

    Training labels with equally many nodes per class say nothing of the class prior; held-out labels do. It starts from
    `label_shift` and then ascends the accuracy on the held-out labels: the mean over five samples of four fifths each,
    so that no single node decides.

    Args:
        scores: Of nodes whose labels did not train the classifier [nodes, classes].
        labels: Their labels, some of them wrong [nodes].
        train_labels: Labels that the classifier was trained on [training nodes].
        generator: Draws the samples.
    """
    if len(labels) < 2:  # nothing to draw samples from
        return scores.new_zeros(scores.shape[1])
    start = label_shift(scores, labels, train_labels)
    fold = torch.randperm(len(labels), generator=generator).to(labels.device) % _FOLDS
    samples = [fold != number for number in range(min(_FOLDS, len(labels)))]
    return start + torch.stack([_ascend((scores + start)[kept], labels[kept]) for kept in samples]).mean(dim=0)


def label_shift(scores: Scores, labels: Labels, train_labels: Labels) -> Tensor:
    """Return by how much more frequent each class is than in training, as scores [classes].

    The logarithm of the ratio of the class frequencies, in units of the mean margin. A class that annotators name too
    often is too frequent in both, so their preferences mostly cancel.
    """
    count = scores.shape[1]
    held_out, trained = (
        (each.bincount(minlength=count) + 1.0) / (len(each) + count) for each in (labels, train_labels)
    )
    shift = (held_out / trained).log().to(scores.dtype)
    return _SHIFT * mean_margin(scores) * (shift - shift.mean())


def mean_margin(scores: Scores) -> Tensor:
    """Return by how much the best class is ahead of the second on average."""
    top = scores.topk(2, dim=1).values
    return (top[:, 0] - top[:, 1]).mean().clamp_min(1e-12)


def _ascend(scores: Scores, labels: Labels) -> Tensor:
    """Return the adjustment by coordinate ascent of accuracy less an L1 penalty [classes]."""
    margin, penalty = mean_margin(scores), _PENALTY / math.sqrt(max(len(labels), 1))

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
