"""A calibration that fits true labels, although only noisy ones are seen."""

import pytest
import torch

from quietgraph.classify.calibration import Calibration, fit_calibration, sharpen
from quietgraph.classify.label_issues.noise import asymmetry, symmetric_noise

CLEAN, NOISY = symmetric_noise(0.001, 4), symmetric_noise(0.4, 4)


def problem(
    rate: float, *, power: float = 1.0, noise: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    scores = torch.randn(4000, 4, generator=draws, dtype=torch.float64)
    probabilities = Calibration(0.3, power).probabilities(scores)
    true = torch.multinomial(probabilities, 1, generator=draws).squeeze(1)
    matrix = symmetric_noise(rate, 4) if noise is None else noise
    observed = torch.multinomial(matrix[true], 1, generator=draws).squeeze(1)
    return scores, observed


def test_a_power_of_one_is_temperature_scaling() -> None:
    scores, _ = problem(0.001)
    expected = (scores / 0.3).softmax(dim=1)
    torch.testing.assert_close(Calibration(0.3).probabilities(scores), expected)


@pytest.mark.parametrize("power", [0.6, 1.0])
@pytest.mark.parametrize("rate", [0.001, 0.4])
def test_the_calibration_that_drew_the_labels_is_found(power: float, rate: float) -> None:
    scores, labels = problem(rate, power=power)
    found = fit_calibration(scores, labels, symmetric_noise(rate, 4))
    drawn = Calibration(0.3, power).probabilities(scores)
    assert (found.probabilities(scores) - drawn).abs().mean() < 0.02


def test_noise_that_is_not_known_of_blurs_it() -> None:
    scores, labels = problem(0.4)
    confident = fit_calibration(scores, labels, NOISY).probabilities(scores).max(dim=1).values
    blurred = fit_calibration(scores, labels, CLEAN).probabilities(scores).max(dim=1).values
    assert confident.mean() > blurred.mean() + 0.2


def test_the_noise_does_not_apply_to_certain_labels() -> None:
    scores, labels = problem(0.001)
    certain = torch.ones(4000, dtype=torch.bool)
    found = fit_calibration(scores, labels, NOISY, certain=certain)
    plain = fit_calibration(scores, labels, torch.eye(4))
    assert found.temperature == pytest.approx(plain.temperature, rel=1e-3)


def test_the_scale_of_the_scores_does_not_matter() -> None:
    scores, labels = problem(0.4)
    found, scaled = (fit_calibration(k * scores, labels, NOISY) for k in (1, 50))
    same = scaled.probabilities(50 * scores)
    torch.testing.assert_close(found.probabilities(scores), same, atol=1e-4, rtol=0)


def test_no_label_leaves_the_scores_as_they_are() -> None:
    scores, labels = problem(0.001)
    assert fit_calibration(scores[:0], labels[:0], torch.eye(4)) == Calibration()


def test_calibration_keeps_the_order_of_classes() -> None:
    scores, _ = problem(0.001)
    for power in (0.3, 1.0, 1.4):
        found = Calibration(0.1, power).probabilities(scores)
        assert torch.equal(found.argmax(dim=1), scores.argmax(dim=1))


@pytest.mark.parametrize("gain", [0.02, 0.1])
def test_sharpening_raises_the_mean_probability_by_the_gain(gain: float) -> None:
    scores, _ = problem(0.001)
    before, after = Calibration(0.6, 0.8), sharpen(Calibration(0.6, 0.8), scores, gain)
    means = [each.probabilities(scores).max(dim=1).values.mean() for each in (before, after)]
    assert means[1] - means[0] == pytest.approx(gain, abs=1e-3)
    assert after.power == before.power


def test_without_a_gain_nothing_is_sharpened() -> None:
    scores, _ = problem(0.001)
    assert sharpen(Calibration(0.6), scores, 0.0) == Calibration(0.6)
    assert sharpen(Calibration(0.6), torch.zeros(5, 4), 0.1) == Calibration(0.6)


def pairs(rate: float) -> torch.Tensor:
    """Every class is mistaken for the next one."""
    return (1 - rate) * torch.eye(4).double() + rate * torch.eye(4).double().roll(1, dims=1)


def test_asymmetry_is_none_under_symmetric_noise_and_large_where_classes_are_mixed_up() -> None:
    assert asymmetry(NOISY) == pytest.approx(0, abs=1e-9)
    assert asymmetry(pairs(0.4)) == pytest.approx((2 / 3) ** 0.5)
    assert asymmetry(pairs(0.001)) < 0.02


def error(noise: torch.Tensor, disagreement: float) -> float:
    """Return the mean error of a calibration by 400 noisy labels."""
    scores, labels = (rows[:400] for rows in problem(0.4, noise=noise))
    found = fit_calibration(scores, labels, noise, disagreement=disagreement)
    return float(1 - found.probabilities(scores).max(dim=1).values.mean())


@pytest.mark.parametrize("noise", [NOISY, pairs(0.4)])
def test_fits_that_disagree_keep_the_error_from_falling_below_what_they_tell(
    noise: torch.Tensor,
) -> None:
    plain = error(noise, 0.0)
    assert error(noise, plain / 4) == pytest.approx(plain, abs=1e-3)  # the bound is below
    assert plain + 0.01 < error(noise, plain / 1.5) < error(noise, plain) < 2.4 * plain


def test_disagreement_counts_more_where_the_noise_differs_by_class() -> None:
    raised = [error(noise, 0.3) / error(noise, 0.0) for noise in (NOISY, pairs(0.4))]
    assert raised[1] > raised[0]
