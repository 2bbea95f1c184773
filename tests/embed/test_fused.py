"""Losses with gradients written by hand against the same losses in plain operations."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.fused import (
    LEAST_TEMPERATURE,
    contrast_costs,
    energy_beyond,
    unit_energy_beyond,
    unit_rows,
)


def draw(*shape: int, seed: int = 0) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draws, dtype=torch.float64)


def directions(dim: int, rank: int) -> Tensor:
    return torch.linalg.qr(draw(dim, dim, seed=9))[0][:, :rank]


def gradients(loss: Tensor, *inputs: Tensor) -> list[Tensor]:
    return list(torch.autograd.grad(3 * loss, inputs))


def test_unit_rows_are_those_of_torch_with_their_gradient() -> None:
    rows = draw(7, 4).requires_grad_()
    weight = draw(7, 4, seed=1)
    ours, twin = unit_rows(rows), F.normalize(rows, dim=1)
    torch.testing.assert_close(ours, twin)
    torch.testing.assert_close(
        gradients((ours * weight).sum(), rows), gradients((twin * weight).sum(), rows)
    )


def test_short_rows_are_divided_by_the_least_length() -> None:
    rows = torch.stack([draw(4), 1e-8 * draw(4), torch.zeros(4, dtype=torch.float64)])
    rows.requires_grad_()
    weight = draw(3, 4, seed=1)
    ours, twin = unit_rows(rows, least=1e-6), F.normalize(rows, dim=1, eps=1e-6)
    torch.testing.assert_close(ours, twin)
    torch.testing.assert_close(
        gradients((ours * weight).sum(), rows), gradients((twin * weight).sum(), rows)
    )


@pytest.mark.parametrize("temperature", [0.05, 0.5, 2.0])
def test_contrast_costs_are_two_cross_entropies(temperature: float) -> None:
    first, second = (F.normalize(draw(6, 4, seed=s), dim=1).requires_grad_() for s in (0, 1))
    logits, same = first @ second.T / temperature, torch.arange(6)
    twin = F.cross_entropy(logits, same, reduction="sum") + F.cross_entropy(
        logits.T, same, reduction="sum"
    )
    ours = contrast_costs(first, second, temperature)
    torch.testing.assert_close(ours, twin)
    torch.testing.assert_close(gradients(ours, first, second), gradients(twin, first, second))


def test_contrast_costs_stay_finite_at_the_least_temperature() -> None:
    first, second = (
        F.normalize(draw(6, 4, seed=s).float(), dim=1).requires_grad_() for s in (0, 1)
    )
    loss = contrast_costs(first, second, LEAST_TEMPERATURE)
    same = torch.arange(6)
    logits = first @ second.T / LEAST_TEMPERATURE
    twin = F.cross_entropy(logits, same, reduction="sum") + F.cross_entropy(
        logits.T, same, reduction="sum"
    )
    torch.testing.assert_close(loss, twin, rtol=1e-4, atol=1e-4)
    assert all(one.isfinite().all() for one in gradients(loss, first, second))


@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_energy_beyond_directions_is_what_they_leave(rank: int) -> None:
    rows, leading = draw(7, 4).requires_grad_(), directions(4, rank)
    ours, twin = energy_beyond(rows, leading), (rows - rows @ leading @ leading.T).square().sum()
    torch.testing.assert_close(ours, twin)
    torch.testing.assert_close(gradients(ours, rows), gradients(twin, rows))


@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_energy_of_unit_rows_has_the_gradient_of_the_rows(rank: int) -> None:
    rows, leading = draw(7, 4).requires_grad_(), directions(4, rank)
    unit = F.normalize(rows, dim=1)
    twin = (unit - unit @ leading @ leading.T).square().sum()
    ours = unit_energy_beyond(rows, unit.detach(), leading)
    torch.testing.assert_close(ours, twin)
    torch.testing.assert_close(gradients(ours, rows), gradients(twin, rows))


def test_rows_of_zeros_get_no_gradient() -> None:
    rows, leading = torch.zeros(3, 4, requires_grad=True), directions(4, 2).float()
    loss = unit_energy_beyond(rows, F.normalize(rows.detach(), dim=1), leading)
    assert float(loss.detach()) == 0
    torch.testing.assert_close(gradients(loss, rows), [torch.zeros(3, 4)])
