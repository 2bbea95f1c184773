"""Spectral feature augmentation: what it does to singular values."""

import torch
from torch import Tensor

from quietgraph.methods.grace.sfa import weaken_leading

EVERYONE = slice(None)


def _matrix(seed: int = 0) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    left = torch.randn(30, 6, generator=draws, dtype=torch.float64)
    return left * torch.tensor([4.0, 2.0, 1.5, 1.0, 0.7, 0.4], dtype=torch.float64)


def weaken_leading_slow(rows: Tensor, steps: int, direction: Tensor) -> Tensor:
    for _ in range(steps):
        direction = rows.T @ (rows @ direction)
    return rows - rows @ torch.outer(direction, direction) / direction.norm() ** 2


def test_the_augmentation_equals_its_definition() -> None:
    rows = _matrix()
    for steps in (1, 2):
        fast = weaken_leading(
            rows, EVERYONE, steps=steps, generator=torch.Generator().manual_seed(5)
        )
        start = torch.randn(6, generator=torch.Generator().manual_seed(5)).to(rows)
        torch.testing.assert_close(fast, weaken_leading_slow(rows, steps, start))


def test_singular_values_interlace_and_the_smallest_becomes_zero() -> None:
    draws = torch.Generator().manual_seed(1)
    for seed in range(20):
        rows = _matrix(seed)
        before = torch.linalg.svdvals(rows)
        after = torch.linalg.svdvals(weaken_leading(rows, EVERYONE, steps=1, generator=draws))
        assert (after <= before + 1e-9).all()
        assert (after[:-1] >= before[1:] - 1e-9).all()
        assert float(after[-1]) < 1e-9


def test_on_average_the_leading_singular_value_stands_out_less() -> None:
    rows, draws = _matrix(), torch.Generator().manual_seed(2)
    outcomes = [weaken_leading(rows, EVERYONE, steps=1, generator=draws) for _ in range(2000)]
    before = torch.linalg.svdvals(rows)
    after = torch.linalg.svdvals(torch.stack(outcomes).mean(dim=0))
    assert float(after[0] / after[1]) < 0.9 * float(before[0] / before[1])


def test_without_power_iterations_it_is_grace() -> None:
    rows, draws = _matrix(), torch.Generator().manual_seed(3)
    assert torch.equal(weaken_leading(rows, EVERYONE, steps=0, generator=draws), rows)


def test_anchors_are_the_rows_of_the_whole_augmentation() -> None:
    rows, anchors = _matrix(), torch.tensor([3, 1, 20])
    whole, part = (
        weaken_leading(rows, which, steps=1, generator=torch.Generator().manual_seed(4))
        for which in (EVERYONE, anchors)
    )
    torch.testing.assert_close(part, whole[anchors])


def test_rows_of_zeros_stay_finite() -> None:
    rows = torch.zeros(4, 3)
    found = weaken_leading(rows, EVERYONE, steps=1, generator=torch.Generator().manual_seed(0))
    assert torch.equal(found, rows)
