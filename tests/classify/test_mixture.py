"""Mixtures of clusters that are fitted together, against one at a time as they are defined."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.classify.mixture import MixtureSetting, cluster_probabilities, fit_mixtures

SETTINGS = [MixtureSetting(5.0, False), MixtureSetting(5.0, True), MixtureSetting(10.0, True)]


def mixture_slow(
    rows: Tensor, labels: Tensor, train: Tensor, count: int, setting: MixtureSetting
) -> tuple[Tensor, Tensor]:
    observed, labelled = F.one_hot(labels[train], count).to(rows.dtype), rows[train]
    means, frequency = F.normalize(observed.T @ labelled, dim=1), torch.full((count,), 1 / count)
    for _ in range(5):
        scores = setting.concentration * rows @ means.T + frequency.log()
        probabilities = scores.softmax(dim=1)
        trusted = observed
        if setting.noisy:
            kept = (probabilities[train] * observed).sum(dim=1).mean().clamp(1 / count + 0.02, 0.98)
            trusted = torch.where(observed > 0, kept, (1 - kept) / (count - 1))
            trusted = trusted * probabilities[train]
            trusted = trusted / trusted.sum(dim=1, keepdim=True)
        pull = trusted.T @ labelled / len(labelled) + 0.2 * probabilities.T @ rows / len(rows)
        means = F.normalize(pull, dim=1)
        frequency = probabilities.mean(dim=0).sqrt()
        frequency = frequency / frequency.sum()
    return setting.concentration * means.T, frequency.log()


def test_mixtures_fitted_together_are_those_fitted_alone() -> None:
    draws = torch.Generator().manual_seed(0)
    labels = torch.arange(90) % 3
    rows = torch.eye(6)[labels] + 0.5 * torch.randn(90, 6, generator=draws)
    rows, train = F.normalize(rows, dim=1), torch.arange(90) < 20
    labels[:6] = 1
    found = fit_mixtures(rows, labels, train, 3, SETTINGS)
    for setting, (weight, bias) in zip(SETTINGS, found, strict=True):
        slow = mixture_slow(rows, labels, train, 3, setting)
        torch.testing.assert_close((weight, bias), slow)
    weights, biases = (torch.stack(each) for each in zip(*found, strict=True))
    together = cluster_probabilities(rows, weights.transpose(1, 2), biases)
    for number, (weight, bias) in enumerate(found):
        torch.testing.assert_close(together[number].T, (rows @ weight + bias).softmax(dim=1))
