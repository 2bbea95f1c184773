import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.graph import block_model
from quietgraph.methods.gcn.gce import GCE, generalised_cross_entropy, probable_labels
from quietgraph.methods.gcn.gcn import GCN


def draw() -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    return torch.randn(12, 4, generator=draws), torch.randint(4, (12,), generator=draws)


@pytest.mark.parametrize("power", [0.1, 0.7, 1.0])
def test_the_loss_equals_its_definition(power: float) -> None:
    scores, labels = draw()
    probabilities = scores.softmax(dim=1)[torch.arange(12), labels]
    slow = (1 - probabilities**power) / power
    torch.testing.assert_close(generalised_cross_entropy(scores, labels, power=power), slow)


def test_towards_power_zero_it_is_cross_entropy() -> None:
    scores, labels = draw()
    near = generalised_cross_entropy(scores, labels, power=1e-4)
    torch.testing.assert_close(
        near, F.cross_entropy(scores, labels, reduction="none"), rtol=1e-3, atol=1e-3
    )


def test_disbelieved_labels_pull_less_by_the_power_of_their_probability() -> None:
    scores, labels = draw()
    twin = scores.clone().requires_grad_()
    scores.requires_grad_()
    generalised_cross_entropy(scores, labels, power=0.7).sum().backward()
    F.cross_entropy(twin, labels, reduction="sum").backward()
    probabilities = twin.detach().softmax(dim=1)[torch.arange(12), labels]
    torch.testing.assert_close(scores.grad, probabilities[:, None] ** 0.7 * twin.grad)


def test_hopeless_labels_cost_a_finite_amount() -> None:
    scores = torch.tensor([[1e4, 0.0]], requires_grad=True)
    generalised_cross_entropy(scores, torch.tensor([1]), power=0.7).sum().backward()
    assert torch.isfinite(scores.grad).all()


def test_pruning_keeps_likely_labels_and_a_share_of_each_class() -> None:
    likely = torch.tensor([0.9, 0.8, 0.1, 0.2, 0.3, 0.25, 0.15, 0.05, 0.12, 0.11, 0.13, 0.14])
    labels = torch.tensor([0, 0] + [1] * 10)
    probabilities = torch.stack([likely, likely], dim=1)
    kept = probable_labels(probabilities, labels, above=0.5)
    assert kept.nonzero().squeeze(1).tolist() == [0, 1, 3, 4, 5]


def test_with_a_tiny_power_it_is_the_plain_network() -> None:
    drawn = block_model(150, num_classes=3, generator=np.random.default_rng(0))
    labels = np.where(np.arange(150) < 60, drawn.classes, -1)
    plain = GCN(epochs=20).fit(drawn.graph, labels)
    near = GCE(epochs=20, warm_up=0, power=1e-6).fit(drawn.graph, labels)
    np.testing.assert_allclose(near.predict_proba(), plain.predict_proba(), atol=1e-2)


def test_pruning_changes_what_is_learned() -> None:
    drawn = block_model(150, num_classes=3, generator=np.random.default_rng(0))
    labels = np.where(np.arange(150) < 60, (drawn.classes + np.arange(150) % 2) % 3, -1)
    kept = GCE(epochs=20, warm_up=0).fit(drawn.graph, labels)
    pruned = GCE(epochs=20, warm_up=0, prune_below=0.6, prune_from=2).fit(drawn.graph, labels)
    assert len(pruned.history_) == 20
    assert pruned.history_[10]["loss"] < kept.history_[10]["loss"]
