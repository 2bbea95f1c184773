"""Eigenvalues and eigenvectors of symmetric matrices, also where single precision fails.

LAPACK's divide and conquer may not converge, or give NaN, in single precision where an eigenvalue is repeated many
times, as zero is when a ReLU leaves hundreds of columns of an embedding empty. Double precision then finds them.
"""

from typing import NamedTuple

import torch
from torch import Tensor


class Eigen(NamedTuple):
    """Eigenvalues by rising size, and the eigenvectors as columns."""

    values: Tensor  # [dim]
    vectors: Tensor  # [dim, dim]


def eigen(matrix: Tensor) -> Eigen:
    """Return eigenvalues and eigenvectors of a symmetric matrix [dim, dim]."""
    # eigh, not eig: the matrix is symmetric, so eigenvalues are real and come back sorted.
    try:
        found = Eigen(*torch.linalg.eigh(matrix))
    except RuntimeError:  # LinAlgError, which torch.linalg does not export to type checkers
        found = Eigen(*(torch.full_like(one, float("nan")) for one in (matrix[0], matrix)))
    if found.vectors.isfinite().all() or not matrix.isfinite().all():
        return found
    values, vectors = torch.linalg.eigh(matrix.double())
    return Eigen(values.to(matrix.dtype), vectors.to(matrix.dtype))
