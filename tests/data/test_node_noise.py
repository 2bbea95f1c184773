import numpy as np
import pytest
import torch

from quietgraph.data.node_noise import (
    cluster_probabilities,
    degree_probabilities,
    scale_rates,
)

LABELS = torch.arange(600) % 3
DRAWS = np.random.default_rng(0)
FEATURES = torch.from_numpy(DRAWS.random((600, 8), dtype=np.float32))


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 1.0])
def test_scaled_rates_have_the_wanted_mean(rate: float) -> None:
    rates = scale_rates(DRAWS.random(600), LABELS, rate)
    assert rates.mean() == pytest.approx(rate, abs=1e-6)
    assert (rates >= 0).all()
    assert (rates <= 1).all()


def test_rates_of_unknown_labels_do_not_count_in_the_mean() -> None:
    labels = torch.where(torch.arange(600) < 100, LABELS, -1)
    relative = np.where(np.arange(600) < 100, 1.0, 50.0)
    assert scale_rates(relative, labels, 0.3)[:100].mean() == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize("rate", [0.2, 0.4])
def test_probabilities_by_region_are_rows_with_the_wanted_rate(rate: float) -> None:
    rows = cluster_probabilities(FEATURES, LABELS, rate, 3, generator=np.random.default_rng(1))
    np.testing.assert_allclose(rows.sum(axis=1), 1)
    wrong = 1 - rows[np.arange(600), LABELS.numpy()]
    assert wrong.mean() == pytest.approx(rate, abs=1e-6)
    # One rate a region: at most nine of them, and they differ.
    assert 2 <= len(np.unique(wrong.round(6))) <= 9


def test_nodes_of_one_region_and_class_share_their_probabilities() -> None:
    far = torch.eye(3)[torch.arange(600) % 3]
    rows = cluster_probabilities(far, LABELS, 0.4, 3, generator=np.random.default_rng(1))
    assert len(np.unique(rows.round(9), axis=0)) == 3


def test_nodes_of_few_edges_are_wrong_more_often() -> None:
    degrees = np.arange(600)
    rows = degree_probabilities(degrees, LABELS, 0.3, 3)
    wrong = 1 - rows[np.arange(600), LABELS.numpy()]
    assert (np.diff(wrong) <= 0).all()
    assert wrong.mean() == pytest.approx(0.3, abs=1e-6)
    ratio = wrong[99] / wrong[399]
    assert ratio == pytest.approx(2.0)
