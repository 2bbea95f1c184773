"""Eigenvalues of symmetric matrices where single precision fails."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from quietgraph.eigen import eigen, eigenvalues


def failing(solve: Callable[[Tensor], Any], *, raises: bool) -> Callable[[Tensor], Any]:
    """Return what LAPACK does in single precision when zero is an eigenvalue many times."""

    def call(matrix: Tensor) -> Any:
        found = solve(matrix)
        if matrix.dtype == torch.float64:
            return found
        if raises:
            raise RuntimeError("linalg.eigh: failed to converge")
        for one in (found,) if isinstance(found, Tensor) else found:
            one.fill_(float("nan"))
        return found

    return call


@pytest.mark.parametrize("raises", [False, True])
def test_double_precision_steps_in(monkeypatch: pytest.MonkeyPatch, raises: bool) -> None:
    rows = torch.randn(20, 6, generator=torch.Generator().manual_seed(0)).relu()
    gram = rows.T @ rows
    wanted, values = eigen(gram), eigenvalues(gram)
    for name in ("eigh", "eigvalsh"):
        solve = getattr(torch.linalg, name)
        monkeypatch.setattr(torch.linalg, name, failing(solve, raises=raises))
    found = eigen(gram)
    assert found.vectors.dtype == found.values.dtype == torch.float32
    torch.testing.assert_close(found.values, wanted.values, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(eigenvalues(gram), values, atol=1e-4, rtol=1e-4)
    rebuilt = found.vectors @ torch.diag(found.values) @ found.vectors.T
    torch.testing.assert_close(rebuilt, gram, atol=1e-4, rtol=1e-4)


def test_a_matrix_that_is_not_finite_gives_no_numbers() -> None:
    broken = torch.full((3, 3), float("nan"))
    assert eigenvalues(broken).isnan().all()
    assert eigen(broken).vectors.isnan().all()
