import pytest
import scipy.sparse
import torch

from quietgraph.embed.weighted import entry_products, propagate_weighted
from quietgraph.graph import CSR


@pytest.fixture
def operator() -> CSR:
    matrix = scipy.sparse.random(9, 9, density=0.3, random_state=0)
    return CSR.from_scipy(matrix + matrix.T, dtype=torch.float64)


def dense_rows(count: int, seed: int) -> torch.Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(count, 4, generator=draws, dtype=torch.float64).requires_grad_()


def test_entry_products_equal_the_dense_product_at_the_entries(operator: CSR) -> None:
    left, right = dense_rows(9, 0), dense_rows(9, 1)
    slow = (left @ right.T)[operator.rows, operator.columns.long()]
    torch.testing.assert_close(entry_products(operator, left, right), slow)


def test_entry_products_take_rectangles_and_have_the_right_gradient() -> None:
    matrix = CSR.from_scipy(scipy.sparse.random(5, 7, density=0.4, random_state=1))
    rows = (dense_rows(5, 0), dense_rows(7, 1))
    assert torch.autograd.gradcheck(lambda left, right: entry_products(matrix, left, right), rows)


def test_entry_products_of_nothing_are_nothing() -> None:
    empty = CSR.from_scipy(scipy.sparse.csr_matrix((3, 3)))
    left = dense_rows(3, 0)
    products = entry_products(empty, left, left)
    assert products.shape == (0,)
    products.sum().backward()
    assert left.grad is not None
    assert not left.grad.any()


def test_weighted_propagation_equals_the_dense_product_and_its_gradients(operator: CSR) -> None:
    values, dense = operator.values.clone().requires_grad_(), dense_rows(9, 2)
    weight = dense_rows(9, 3).detach()
    (propagate_weighted(operator.with_values(values), dense) * weight).sum().backward()
    twin_values, twin_dense = values.detach().clone().requires_grad_(), dense_rows(9, 2)
    matrix = torch.zeros(9, 9, dtype=torch.float64)
    matrix = matrix.index_put((operator.rows, operator.columns.long()), twin_values)
    ((matrix @ twin_dense) * weight).sum().backward()
    torch.testing.assert_close(values.grad, twin_values.grad)
    torch.testing.assert_close(dense.grad, twin_dense.grad)
