"""A temperature that fits true labels, although only noisy ones are seen."""

import torch

from quietgraph.classify.calibration import calibrated, fit_temperature
from quietgraph.classify.label_issues.noise import symmetric_noise


def problem(temperature: float, rate: float) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    scores = torch.randn(4000, 4, generator=draws, dtype=torch.float64)
    probabilities = (scores / temperature).softmax(dim=1)
    true = torch.multinomial(probabilities, 1, generator=draws).squeeze(1)
    observed = torch.multinomial(symmetric_noise(rate, 4)[true], 1, generator=draws).squeeze(1)
    return scores, observed


def test_the_temperature_that_drew_the_labels_is_found() -> None:
    scores, labels = problem(0.3, 0.001)
    assert abs(fit_temperature(scores, labels, symmetric_noise(0.001, 4)) - 0.3) < 0.03


def test_wrong_labels_do_not_blur_it() -> None:
    scores, labels = problem(0.3, 0.4)
    assert abs(fit_temperature(scores, labels, symmetric_noise(0.4, 4)) - 0.3) < 0.05
    assert fit_temperature(scores, labels, symmetric_noise(0.001, 4)) > 0.5


def test_no_label_leaves_the_scores_as_they_are() -> None:
    scores, labels = problem(0.3, 0.001)
    assert abs(fit_temperature(scores[:0], labels[:0], torch.eye(4)) - 1) < 0.01


def test_calibration_keeps_the_order_of_classes() -> None:
    scores, _ = problem(0.3, 0.001)
    assert torch.equal(calibrated(scores, 0.1).argmax(dim=1), scores.argmax(dim=1))
