"""How many directions an embedding really uses."""

from dataclasses import dataclass

import torch
from torch import Tensor

from quietgraph.diagnose.kernel import ZERO_SHARE
from quietgraph.errors import InvalidParameterError


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of a kernel and what they sum up to.

    Attributes:
        eigenvalues: Largest first [values]; the other eigenvalues of K are zero.
        effective_rank: exp(entropy of the eigenvalues' fractions): the number of equally strong
            directions that would be as spread out.
        numerical_rank: How many eigenvalues are not zero.
    """

    eigenvalues: Tensor
    effective_rank: float
    numerical_rank: int

    @property
    def energy(self) -> Tensor:
        """The fraction of the trace that the first r eigenvalues hold, for each r [values]."""
        return (self.eigenvalues.cumsum(0) / self.eigenvalues.sum()).clamp(max=1)


def attended_eigenvalues(eigenvalues: Tensor) -> Tensor:
    """Return the eigenvalues after low-rank attention: value^3 / largest^2 [values]."""
    return eigenvalues * (eigenvalues / eigenvalues.max()) ** 2


def describe_spectrum(eigenvalues: Tensor) -> Spectrum:
    """Return the eigenvalues with their effective and numerical rank.

    Args:
        eigenvalues: Non-negative, not all zero [values], in any order.

    Returns:
        The spectrum, largest eigenvalue first.
    """
    check_eigenvalues(eigenvalues)
    ordered = eigenvalues.to(torch.float64).sort(descending=True).values
    fractions = ordered / ordered.sum()
    entropy = torch.special.entr(fractions).sum()
    return Spectrum(
        eigenvalues=ordered,
        effective_rank=float(entropy.exp()),
        numerical_rank=int((ordered > ZERO_SHARE * ordered[0]).sum()),
    )


def check_eigenvalues(eigenvalues: Tensor) -> None:
    """Raise where the values cannot be the spectrum of a kernel."""
    if eigenvalues.dim() != 1 or len(eigenvalues) == 0:
        raise InvalidParameterError(
            f"eigenvalues must have the shape [values], got {list(eigenvalues.shape)}."
        )
    if not bool((eigenvalues >= 0).all() & torch.isfinite(eigenvalues).all()):
        raise InvalidParameterError(
            f"eigenvalues of a kernel must be finite and not negative, got a smallest of "
            f"{float(eigenvalues.min()):g}. Take them from gram_eigenvalues."
        )
    if not bool(eigenvalues.any()):
        raise InvalidParameterError("eigenvalues must not all be zero.")
