"""How many directions an embedding really uses, and what they cost."""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnostics.kernel import ZERO
from quietgraph.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a kernel and what they sum up to."""

    eigenvalues: Tensor  # [values] largest first; the other eigenvalues of K are zero
    effective_rank: float  # exp(entropy of their fractions): how many equally strong directions are as spread out
    numerical_rank: int  # how many are not zero


def describe_spectrum(eigenvalues: Tensor) -> Spectrum:
    """Return the eigenvalues of a kernel [values], given in any order, with their effective and numerical rank."""
    ordered = _checked(eigenvalues)
    entropy = torch.special.entr(ordered / ordered.sum()).sum()
    return Spectrum(ordered, float(entropy.exp()), int((ordered > ZERO * ordered[0]).sum()))


@dataclass(frozen=True)
class KernelComplexity:
    """KC(K) = rank_cost + tail_cost at the rank that makes it smallest."""

    value: float
    rank: int  # r, at least 1; of equally good ones the smallest
    rank_cost: float  # r (1/u + 1/m), what the r kept directions cost
    tail_cost: float  # sqrt(sum of the other eigenvalues) (1/sqrt(u) + 1/sqrt(m))


def kernel_complexity(eigenvalues: Tensor, *, num_labelled: int, num_unlabelled: int) -> KernelComplexity:
    """Return the smallest cost over all ranks, and the rank that has it.

    KC(K) = min over r >= 1 of r (1/u + 1/m) + sqrt(||K||_r) (1/sqrt(u) + 1/sqrt(m)), where ||K||_r is the sum of the
    eigenvalues beyond the r largest.

    Args:
        eigenvalues: Those of K that can differ from zero [values], in any order.
        num_labelled: m.
        num_unlabelled: u.
    """
    ordered = _checked(eigenvalues)
    # Summed from the small end: total minus running sum would drown the tail in rounding.
    tails = torch.cat([ordered.flip(0).cumsum(0).flip(0)[1:], ordered.new_zeros(1)])
    rank_costs = torch.arange(1, len(ordered) + 1).double() * (1 / num_unlabelled + 1 / num_labelled)
    tail_costs = tails.sqrt() * (num_unlabelled**-0.5 + num_labelled**-0.5)
    best = int((rank_costs + tail_costs).argmin())
    rank_cost, tail_cost = float(rank_costs[best]), float(tail_costs[best])
    return KernelComplexity(rank_cost + tail_cost, best + 1, rank_cost, tail_cost)


def _checked(eigenvalues: Tensor) -> Tensor:
    """Return the eigenvalues in float64, largest first; raise where they are no spectrum of a kernel."""
    if not bool((eigenvalues >= 0).all() & eigenvalues.isfinite().all() & eigenvalues.any()):
        raise InvalidParameterError(
            f"eigenvalues of a kernel must be finite, not negative and not all zero [values], got {eigenvalues}. "
            "Take them from eigenbasis."
        )
    return eigenvalues.double().sort(descending=True).values
