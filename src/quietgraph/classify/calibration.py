"""Calibrated probabilities: temperature and power of the scores, fitted to noisy labels."""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import torch
from scipy.optimize import brentq, minimize
from torch import Tensor

from quietgraph.classify.class_prior import mean_margin
from quietgraph.classify.label_issues.noise import asymmetry
from quietgraph.types import FloatArray, Labels, Mask, Probabilities, Scores

_STARTS: Final = (-1.5, 0.0, 1.5)  # of the logarithm of the temperature, in mean margins
_BOUNDS: Final = ((-5.0, 4.0), (-1.5, 0.4))
# Normal prior on the logarithm of the power, chosen on development draws of Cora and CiteSeer:
# true labels would choose powers between 0.6 and 0.9 there.
_POWER_MEAN: Final = -0.2
_POWER_PENALTY: Final = 16.0  # a standard deviation of 0.25
# The error of a fit is at least so many times the fraction of nodes that it and a fold with four
# fifths of its labels predict differently: 1.5 to 4 times on development draws, 2.2 in the median.
_ERRORS_PER_DIFFERENCE: Final = 2.3
_ERROR_SPREAD: Final = 0.1  # standard deviation of the logarithm of that bound
_ASYMMETRY: Final = 1.0  # how much less T is believed where classes differ in their noise
_LEAST_ERROR: Final = 1e-3
_HIGHEST: Final = 0.995  # mean probability that sharpening aims at
_MOST_NODES: Final = 20_000  # every k-th where there are more
_SHARPEST: Final = 3.0  # of the logarithm of a factor of the temperature
_LEAST: Final = 1e-12
_Array: TypeAlias = FloatArray


@dataclass(frozen=True)
class Calibration:
    """Turns scores into probabilities: softmax(-(distance / temperature)^power).

    The distance of a class is the node's largest score less that of the class, so the order of the
    classes stays. With a power of 1 this is temperature scaling; a smaller one lets large margins
    count less, as where even the most confident predictions are sometimes wrong.
    """

    temperature: float = 1.0
    power: float = 1.0

    def probabilities(self, scores: Scores) -> Probabilities:
        """Return probabilities in double precision [nodes, classes]."""
        distance = scores.double().max(dim=1, keepdim=True).values - scores.double()
        return (-((distance / self.temperature) ** self.power)).softmax(dim=1)


def fit_calibration(
    scores: Scores,
    labels: Labels,
    noise_matrix: Tensor,
    *,
    certain: Mask | None = None,
    disagreement: float = 0.0,
) -> Calibration:
    """Return the calibration under which noisy labels are likeliest.

    Maximises the likelihood of the observed labels under p T, where p are the calibrated
    probabilities, so that p are those of true labels. Normal priors on the logarithms keep the
    temperature near the mean margin and the power near 0.8 where labels are few.

    Where a classifier errs as the labels do, T takes its errors for noise and the likelihood is
    that of a better classifier. Fits that learned from partly different labels and predict
    differently show such errors without any label, so a penalty keeps the mean error from falling
    below what their disagreement tells. It counts more the further T is from symmetric noise,
    whose single rate is estimated well.

    Args:
        scores: Of nodes whose labels the classifier was not trained on [nodes, classes].
        labels: Their observed labels [nodes].
        noise_matrix: T [classes, classes], row = true class, column = observed class.
        certain: Labels that are right, to which T does not apply [nodes].
        disagreement: Fraction of nodes that the fit and a fold predict differently; 0: unknown.
    """
    if len(labels) == 0:
        return Calibration()
    part = slice(None, None, max(1, len(labels) // _MOST_NODES))
    observed, rows = labels[part].numpy(), scores[part].double()
    margin = float(mean_margin(rows))
    distance = ((rows.max(dim=1, keepdim=True).values - rows) / margin).numpy()
    noise = noise_matrix.double().numpy()[:, observed].T  # of each node's label [nodes, classes]
    if certain is not None:
        noise = np.where(certain[part].numpy()[:, None], np.eye(len(noise_matrix))[observed], noise)
    classes = len(noise_matrix)
    least_error = min(_ERRORS_PER_DIFFERENCE * disagreement, 1 - 1 / classes)
    least_error = max(least_error, _LEAST_ERROR)
    spread = _ERROR_SPREAD * math.exp(-_ASYMMETRY * asymmetry(noise_matrix))

    def cost(parameters: _Array) -> float:
        log_temperature, log_power = parameters
        weights = np.exp(-((distance * np.exp(-log_temperature)) ** np.exp(log_power)))
        total = weights.sum(axis=1)
        likelihood = (weights * noise).sum(axis=1) / total
        error = max(1 - float((1 / total).mean()), _LEAST_ERROR)  # the largest weight is 1
        below = min(math.log(error / least_error), 0.0) / spread
        prior = log_temperature**2 + _POWER_PENALTY * (log_power - _POWER_MEAN) ** 2
        return float(-np.log(likelihood.clip(_LEAST)).sum() + (prior + below**2) / 2)

    found = [minimize(cost, (start, _POWER_MEAN), bounds=_BOUNDS) for start in _STARTS]
    log_temperature, log_power = min(found, key=lambda one: float(one.fun)).x
    return Calibration(margin * float(np.exp(log_temperature)), float(np.exp(log_power)))


def sharpen(calibration: Calibration, scores: Scores, gain: float) -> Calibration:
    """Return the calibration whose mean largest probability is higher by a gain.

    Only the temperature changes. Where no temperature gives so much, the calibration stays.

    Args:
        calibration: Of these scores.
        scores: Of some nodes [nodes, classes].
        gain: Between 0 and 1.
    """

    def scaled(log_factor: float) -> Calibration:
        factor = float(np.exp(log_factor))
        return Calibration(calibration.temperature * factor, calibration.power)

    def confidence(log_factor: float) -> float:
        return float(scaled(log_factor).probabilities(scores).max(dim=1).values.mean())

    target = min(confidence(0.0) + gain, _HIGHEST)
    if gain <= 0 or not confidence(0.0) < target < confidence(-_SHARPEST):
        return calibration
    return scaled(float(brentq(lambda x: confidence(x) - target, -_SHARPEST, 0.0, xtol=1e-3)))


def log_probabilities(probabilities: Probabilities) -> Tensor:
    """Return the logarithms of probabilities, bounded [nodes, classes]."""
    return torch.log(probabilities.double().clamp_min(_LEAST))
