"""Likely classes: noise taken out of probabilities, and the given label weighed by the noise."""

import numpy as np
import torch
from torch import Tensor

from quietgraph.classify.label_issues.posterior import label_posterior, noise_corrected
from quietgraph.classify.label_issues.suspects import suspect_table

PAIRS = torch.tensor([[0.6, 0.0, 0.4], [0.4, 0.6, 0.0], [0.0, 0.4, 0.6]]).double()


def noise_corrected_slow(probabilities: list[float], transition: Tensor, steps: int) -> list[float]:
    size = len(probabilities)
    right = [1 / size] * size
    for _ in range(steps):
        noisy = [sum(right[y] * float(transition[y, j]) for y in range(size)) for j in range(size)]
        right = [
            right[y]
            * sum(float(transition[y, j]) * probabilities[j] / noisy[j] for j in range(size))
            for y in range(size)
        ]
        right = [value / sum(right) for value in right]
    return right


def draw_probabilities(count: int = 6) -> Tensor:
    return torch.rand(count, 3, generator=torch.Generator().manual_seed(0)).double().softmax(dim=1)


def test_undoing_noise_equals_its_definition() -> None:
    probabilities = draw_probabilities()
    slow = torch.tensor([noise_corrected_slow(row.tolist(), PAIRS, 4) for row in probabilities])
    torch.testing.assert_close(noise_corrected(probabilities, PAIRS, steps=4), slow.double())


def test_enough_steps_give_back_what_the_noise_was_put_on() -> None:
    right = draw_probabilities()
    torch.testing.assert_close(
        noise_corrected(right @ PAIRS, PAIRS, steps=5000), right, atol=1e-6, rtol=0
    )


def test_without_noise_the_probabilities_stay() -> None:
    probabilities = draw_probabilities()
    torch.testing.assert_close(noise_corrected(probabilities, torch.eye(3)), probabilities)


def test_label_posterior_follow_bayes_rule() -> None:
    probabilities, labels = draw_probabilities(), torch.tensor([0, 1, 2, -1, 0, 1])
    right, found = (
        noise_corrected(probabilities, PAIRS),
        label_posterior(probabilities, labels, PAIRS),
    )
    for node, label in enumerate(labels.tolist()):
        weight = torch.ones(3).double() if label < 0 else PAIRS[:, label]
        torch.testing.assert_close(found[node], right[node] * weight / (right[node] @ weight))


def test_an_impossible_rival_is_no_suspicion() -> None:
    probabilities = torch.tensor([[0.3, 0.5, 0.2], [0.3, 0.2, 0.5]])  # class 1 is never taken for 2
    labels = torch.tensor([2, 2])
    plain = suspect_table(probabilities, labels, np.arange(3)).set_index("node")["score"]
    posterior = label_posterior(probabilities, labels, PAIRS)
    found = suspect_table(posterior, labels, np.arange(3)).set_index("node")["score"]
    assert plain[0] > 0
    assert found[0] < plain[0]
    assert posterior[0, 1] == 0


def test_symmetric_noise_keeps_the_order_of_two_classes() -> None:
    probabilities = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4], [0.45, 0.55]])
    labels = torch.tensor([1, 1, 1, 1])
    noise = torch.tensor([[0.7, 0.3], [0.3, 0.7]])
    posterior = label_posterior(probabilities, labels, noise)
    assert posterior[:, 0].argsort().tolist() == probabilities[:, 0].argsort().tolist()
