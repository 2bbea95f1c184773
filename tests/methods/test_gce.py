import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.graph.synthetic import block_model
from quietgraph.methods.gce import GCE, generalised_cross_entropy
from quietgraph.methods.gcn import GCN


def draw() -> tuple[torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    return torch.randn(12, 4, generator=draws), torch.randint(4, (12,), generator=draws)


@pytest.mark.parametrize("power", [0.1, 0.7, 1.0])
def test_the_loss_equals_its_definition(power: float) -> None:
    scores, labels = draw()
    probabilities = scores.softmax(dim=1)[torch.arange(12), labels]
    slow = (1 - probabilities**power) / power
    torch.testing.assert_close(generalised_cross_entropy(scores, labels, power=power), slow)


def test_improbable_labels_pull_less_by_the_power_of_their_probability() -> None:
    scores, labels = draw()
    twin = scores.clone().requires_grad_()
    scores.requires_grad_()
    generalised_cross_entropy(scores, labels, power=0.7).sum().backward()
    F.cross_entropy(twin, labels, reduction="sum").backward()
    probabilities = twin.detach().softmax(dim=1)[torch.arange(12), labels]
    torch.testing.assert_close(scores.grad, probabilities[:, None] ** 0.7 * twin.grad)


def test_impossible_labels_cost_a_finite_amount() -> None:
    scores = torch.tensor([[1e4, 0.0]], requires_grad=True)
    generalised_cross_entropy(scores, torch.tensor([1]), power=0.7).sum().backward()
    assert torch.isfinite(scores.grad).all()


@pytest.mark.parametrize("options", [{"warm_up": 0, "power": 1e-6}, {"warm_up": 20}])
def test_with_a_tiny_power_or_in_its_warm_up_it_is_the_plain_network(options: dict[str, float]) -> None:
    drawn = block_model(150, num_classes=3, generator=np.random.default_rng(0))
    labels = np.where(np.arange(150) < 60, drawn.classes, -1)
    plain, near = (method.fit(drawn.graph, labels) for method in (GCN(epochs=20), GCE(epochs=20, **options)))
    np.testing.assert_allclose(near.predict_proba(), plain.predict_proba(), atol=1e-2)
