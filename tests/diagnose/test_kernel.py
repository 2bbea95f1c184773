"""Eigenvalues, spectrum and kernel complexity beside their definitions."""

import math

import pytest
import torch
from torch import Tensor

from quietgraph.diagnostics.kernel import attended_embeddings, cross_product, eigenbasis
from quietgraph.diagnostics.spectrum import describe_spectrum, kernel_complexity
from quietgraph.errors import InvalidParameterError


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(50, 8), (8, 50)])
@pytest.mark.parametrize("scale", ["unit", "raw"])
def test_eigenvalues_are_those_of_the_kernel(shape: tuple[int, int], scale: str) -> None:
    rows = draw(*shape)
    scaled = rows / rows.norm(dim=1, keepdim=True) if scale == "unit" else rows
    values, basis = eigenbasis(rows, scale=scale)
    slow = torch.linalg.eigvalsh(scaled @ scaled.T).flip(0)[:8]
    torch.testing.assert_close(values, slow)
    vectors = scaled @ basis / values.sqrt()
    torch.testing.assert_close(scaled @ scaled.T @ vectors, vectors * values)


def test_blocks_of_rows_are_summed_up() -> None:
    rows, targets = draw(40_000, 128).float(), draw(40_000, 3)  # two blocks
    unit = rows.double() / rows.double().norm(dim=1, keepdim=True)
    torch.testing.assert_close(cross_product(rows, targets), unit.T @ targets)
    assert float(eigenbasis(rows)[0].sum()) == pytest.approx(40_000)


def test_weak_directions_keep_their_length() -> None:
    # Eigenvectors taken from H^T H are off by 1e-7 here.
    left, right = torch.linalg.qr(draw(20, 6)).Q, torch.linalg.qr(draw(6, 6, seed=1)).Q
    rows = left * torch.tensor([1, 0.5, 0.2, 0.1, 1e-2, 1.5e-5]).double() @ right.T
    values, basis = eigenbasis(rows, scale="raw")
    lengths = (rows @ basis / values.sqrt()).norm(dim=0)
    torch.testing.assert_close(lengths, torch.ones(6).double(), atol=1e-10, rtol=0)


def test_attention_is_the_kernel_times_the_rows_over_its_largest_eigenvalue() -> None:
    rows = draw(30, 5)
    unit = rows / rows.norm(dim=1, keepdim=True)
    kernel = unit @ unit.T
    slow = kernel @ unit / torch.linalg.eigvalsh(kernel)[-1]
    torch.testing.assert_close(attended_embeddings(rows), slow)


def test_effective_rank_is_the_exponential_of_the_entropy() -> None:
    found = describe_spectrum(torch.tensor([1.0, 2.0, 0.0, 1.0]))
    fractions = [0.5, 0.25, 0.25]
    assert found.effective_rank == pytest.approx(math.exp(-sum(one * math.log(one) for one in fractions)))
    assert found.numerical_rank == 3


def test_kernel_complexity_is_the_smallest_cost_over_all_ranks() -> None:
    values, m, u = draw(40).square(), 30, 70
    ordered = sorted(values.tolist(), reverse=True)
    costs = [rank * (1 / u + 1 / m) + math.sqrt(sum(ordered[rank:])) * (u**-0.5 + m**-0.5) for rank in range(1, 41)]
    found = kernel_complexity(values, num_labelled=m, num_unlabelled=u)
    assert found.value == pytest.approx(min(costs))
    assert found.rank == costs.index(min(costs)) + 1


@pytest.mark.parametrize("values", [[], [-1.0, 2.0], [0.0, 0.0], [float("nan"), 1.0]])
def test_what_is_no_spectrum_is_refused(values: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="eigenvalues"):
        describe_spectrum(torch.tensor(values))
