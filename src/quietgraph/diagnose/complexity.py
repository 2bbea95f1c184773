"""Kernel complexity: the price in test loss of the directions that a kernel uses."""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnose.spectrum import check_eigenvalues
from quietgraph.errors import InvalidParameterError


@dataclass(frozen=True)
class KernelComplexity:
    """KC(K) = rank_cost + tail_cost at the rank that makes it smallest.

    Attributes:
        value: The kernel complexity.
        rank: The minimising rank r, at least 1.
        rank_cost: r (1/u + 1/m), what the r kept directions cost.
        tail_cost: sqrt(sum of the other eigenvalues) (1/sqrt(u) + 1/sqrt(m)).
    """

    value: float
    rank: int
    rank_cost: float
    tail_cost: float


def kernel_complexity(
    eigenvalues: Tensor, *, num_labelled: int, num_unlabelled: int
) -> KernelComplexity:
    """Return the smallest cost over all ranks, and the rank that has it.

    KC(K) = min over r >= 1 of r (1/u + 1/m) + sqrt(||K||_r) (1/sqrt(u) + 1/sqrt(m)), where
    ||K||_r is the sum of the eigenvalues beyond the r largest.

    Args:
        eigenvalues: Those of K that can differ from zero [values], in any order.
        num_labelled: m, at least 1.
        num_unlabelled: u, at least 1.

    Returns:
        The value with its two parts; of equally good ranks the smallest.
    """
    rank_costs, tail_costs = _costs(eigenvalues, num_labelled, num_unlabelled)
    best = int((rank_costs + tail_costs).argmin())
    rank_cost, tail_cost = float(rank_costs[best]), float(tail_costs[best])
    return KernelComplexity(rank_cost + tail_cost, best + 1, rank_cost, tail_cost)


def _costs(eigenvalues: Tensor, num_labelled: int, num_unlabelled: int) -> tuple[Tensor, Tensor]:
    check_eigenvalues(eigenvalues)
    if num_labelled < 1 or num_unlabelled < 1:
        raise InvalidParameterError(
            "kernel complexity needs at least one labelled and one unlabelled node, got "
            f"{num_labelled} and {num_unlabelled}."
        )
    ordered = eigenvalues.to(torch.float64).sort(descending=True).values
    # Summed from the small end: total minus running sum would drown the tail in rounding.
    from_here = ordered.flip(0).cumsum(0).flip(0)
    tails = torch.cat([from_here[1:], from_here.new_zeros(1)])
    ranks = torch.arange(1, len(ordered) + 1, dtype=torch.float64)
    rank_costs = ranks * (1 / num_unlabelled + 1 / num_labelled)
    return rank_costs, tails.sqrt() * (num_unlabelled**-0.5 + num_labelled**-0.5)
