import torch
import torch.nn.functional as F

from quietgraph.classify.class_prior import (
    class_adjustment,
    frequency_trust,
    label_shift,
    mean_margin,
)
from quietgraph.rng import torch_generator


def test_equal_frequencies_in_training_and_validation_shift_nothing() -> None:
    scores = torch.randn(40, 4, generator=torch_generator(0))
    labels = torch.arange(40) % 4
    torch.testing.assert_close(label_shift(scores, labels, labels), torch.zeros(4))


def test_the_shift_is_the_logarithm_of_the_frequencies_ratio() -> None:
    scores = torch.randn(60, 2, generator=torch_generator(0))
    held_out, trained = torch.tensor([0] * 44 + [1] * 14), torch.tensor([0] * 14 + [1] * 14)
    ratio = torch.tensor([(45 / 60) / 0.5, (15 / 60) / 0.5]).log()
    expected = 0.3 * mean_margin(scores) * (ratio - ratio.mean())
    torch.testing.assert_close(label_shift(scores, held_out, trained), expected)


def test_a_class_rarer_in_training_than_in_validation_is_predicted_more_often() -> None:
    draws = torch_generator(1)
    classes = (torch.rand(500, generator=draws) < 0.8).long()
    scores = 0.4 * F.one_hot(classes, 2) + 0.5 * torch.randn(500, 2, generator=draws)
    balanced, skewed = torch.arange(40) % 2, (torch.arange(40) % 5 > 0).long()
    gain = [
        class_adjustment(scores, classes, each, generator=torch_generator(0)).diff().item()
        for each in (balanced, skewed)
    ]
    assert gain[0] > gain[1] > 0


def test_one_validation_label_adjusts_nothing() -> None:
    label = torch.tensor([1])
    found = class_adjustment(torch.randn(1, 3), label, label, generator=torch_generator(0))
    assert not found.any()


def test_labels_as_evenly_spread_as_the_predictions_are_believed() -> None:
    labels = torch.arange(90) % 3
    assert frequency_trust(F.one_hot(labels.roll(1), 3).float(), labels) == 1


def test_labels_that_favour_a_common_class_are_not_believed() -> None:
    predicted = torch.arange(90) % 3
    labels = torch.where(torch.arange(90) < 60, 0, predicted)
    assert frequency_trust(F.one_hot(predicted, 3).float(), labels) == 0
