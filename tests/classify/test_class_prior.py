"""Class-prior adjustment: it predicts more of what held-out labels have more of, and nothing else."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.class_prior import class_adjustment, label_shift, mean_margin

BALANCED = torch.arange(30) % 3


def scores_of(labels: Tensor, *, bias: Tensor | None = None) -> Tensor:
    noise = 0.8 * torch.randn(len(labels), 3, generator=torch.Generator().manual_seed(0))
    return F.one_hot(labels, 3) + noise + (torch.zeros(3) if bias is None else bias)


def adjustment(scores: Tensor, labels: Tensor) -> Tensor:
    return class_adjustment(scores, labels, BALANCED, generator=torch.Generator().manual_seed(0))


def test_equal_frequencies_shift_nothing() -> None:
    assert float(label_shift(scores_of(BALANCED), BALANCED, BALANCED).abs().max()) < 1e-6


def test_the_shift_is_the_ratio_of_frequencies_in_mean_margins() -> None:
    labels = torch.tensor([0] * 60 + [1] * 30 + [2] * 10)
    scores = scores_of(labels)
    shift = (torch.tensor([61.0, 31.0, 11.0]) / 103 / (11 / 33)).log()
    wanted = 0.3 * mean_margin(scores) * (shift - shift.mean())
    torch.testing.assert_close(label_shift(scores, labels, BALANCED), wanted)


def test_a_frequent_class_is_predicted_more_often_and_more_labels_are_right() -> None:
    labels = torch.tensor([0] * 150 + [1] * 40 + [2] * 10)
    scores = scores_of(labels, bias=torch.tensor([-0.8, 0.0, 0.4]))
    moved = scores + adjustment(scores, labels)
    before, after = (float((one.argmax(dim=1) == labels).float().mean()) for one in (scores, moved))
    assert after > before + 0.05
    assert (moved.argmax(dim=1) == 0).sum() > (scores.argmax(dim=1) == 0).sum()


def test_it_scales_with_the_scores_and_needs_two_labels() -> None:
    labels = torch.tensor([0] * 20 + [1] * 10 + [2] * 2)
    scores = scores_of(labels)
    torch.testing.assert_close(adjustment(5 * scores, labels), 5 * adjustment(scores, labels))
    assert float(adjustment(scores[:1], labels[:1]).abs().sum()) == 0
