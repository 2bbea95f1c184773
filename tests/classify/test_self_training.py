"""Self-trained ridge regressions against their normal equations."""

import pytest
import torch
from torch import Tensor

from quietgraph.classify import SelfTraining, self_trained_ridge


def ridge_slow(rows: Tensor, probabilities: Tensor) -> Tensor:
    """Return weight and intercept by the normal equations [dim + 1, classes]."""
    sure = probabilities.max(dim=1).values[:, None]
    centred = rows - (sure * rows).sum(dim=0) / sure.sum()
    wide = torch.cat([rows, rows.new_ones(len(rows), 1)], dim=1)
    penalty = torch.eye(wide.shape[1], dtype=rows.dtype)
    penalty = penalty * (sure * centred.square()).sum() / rows.shape[1]
    penalty[-1, -1] = 0
    targets = probabilities - (sure * probabilities).sum(dim=0) / sure.sum()
    return torch.linalg.solve(wide.T @ (sure * wide) + penalty, wide.T @ (sure * targets))


@pytest.mark.parametrize(("steps", "tolerance"), [(20, 1e-6), (6, 1e-4)])
def test_self_trained_ridges_solve_their_weighted_normal_equations(
    steps: int, tolerance: float
) -> None:
    draws = torch.Generator().manual_seed(0)
    rows = 1 + torch.randn(60, 8, generator=draws, dtype=torch.float64)
    rows = rows * 0.7 ** torch.arange(8)
    probabilities = torch.randn(2, 3, 60, generator=draws, dtype=torch.float64).softmax(dim=1)
    found = SelfTraining.of(rows).ridges(probabilities, steps=steps)
    for (weight, bias), given in zip(found, probabilities, strict=True):
        slow = ridge_slow(rows, given.T)
        error = (torch.cat([weight, bias[None]]) - slow).abs().max() / slow.abs().max()
        assert float(error) < tolerance


def test_without_steps_the_gram_matrix_counts_all_nodes_alike() -> None:
    draws = torch.Generator().manual_seed(1)
    rows = torch.randn(40, 5, generator=draws, dtype=torch.float64)
    probabilities = torch.randn(1, 3, 40, generator=draws, dtype=torch.float64).softmax(dim=1)
    weight, bias = SelfTraining.of(rows).ridges(probabilities, steps=0)[0]
    sure = probabilities[0].max(dim=0).values[:, None]
    middle = (sure * rows).sum(dim=0) / sure.sum()
    centred = rows - rows.mean(dim=0)
    penalty = torch.eye(5, dtype=torch.float64) * centred.square().sum() / 5
    right = (rows - middle).T @ (sure * (probabilities[0].T - 1 / 3))
    torch.testing.assert_close(weight, torch.linalg.solve(centred.T @ centred + penalty, right))
    torch.testing.assert_close(bias, -middle @ weight)


def test_one_ridge_is_the_first_of_several() -> None:
    draws = torch.Generator().manual_seed(2)
    rows = torch.randn(30, 4, generator=draws)
    probabilities = torch.randn(1, 3, 30, generator=draws).softmax(dim=1)
    several = SelfTraining.of(rows).ridges(probabilities)[0]
    torch.testing.assert_close(self_trained_ridge(rows, probabilities[0].T), several)


def test_rows_without_any_attribute_get_no_weight() -> None:
    weight, bias = self_trained_ridge(torch.zeros(10, 4), torch.full((10, 2), 0.5))
    assert not weight.any()
    assert not bias.any()


@pytest.mark.parametrize("noise", [0.0, 1e-7, 1e-3])
def test_rows_that_are_nearly_alike_give_finite_weights(noise: float) -> None:
    draws = torch.Generator().manual_seed(3)
    rows = 1 + noise * torch.randn(50, 3, generator=draws)
    probabilities = torch.randn(50, 2, generator=draws).softmax(dim=1)
    weight, bias = self_trained_ridge(rows, probabilities)
    assert weight.isfinite().all()
    assert bias.isfinite().all()
