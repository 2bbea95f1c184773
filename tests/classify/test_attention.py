"""Low-rank attention against its definition with the dense kernel."""

import torch

from quietgraph.classify.attention import attention_matrix, centre_rows, low_rank_attention, mean_direction

ROWS = torch.randn(30, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 1


def test_attention_is_the_kernel_over_its_largest_eigenvalue() -> None:
    kernel = ROWS @ ROWS.T
    torch.testing.assert_close(low_rank_attention(ROWS), kernel @ ROWS / torch.linalg.eigvalsh(kernel)[-1])


def test_attention_cubes_the_singular_values() -> None:
    before, after = (torch.linalg.svdvals(one) for one in (ROWS, low_rank_attention(ROWS)))
    torch.testing.assert_close(after, before**3 / before[0] ** 2)


def test_attention_of_nothing_is_nothing_even_where_eigenvalues_repeat() -> None:
    assert float(low_rank_attention(torch.zeros(4, 2)).abs().sum()) == 0
    empty = torch.zeros(40, 600)
    empty[:, :7] = torch.randn(40, 7, generator=torch.Generator().manual_seed(0))
    assert bool(attention_matrix(empty).isfinite().all())


def test_centred_rows_have_no_direction_in_common() -> None:
    centred = centre_rows(ROWS, mean_direction(ROWS))
    torch.testing.assert_close(centred.norm(dim=1), torch.ones(30, dtype=torch.float64))
    assert float(mean_direction(ROWS).norm()) > 0.5
    assert float(mean_direction(centred).norm()) < 0.3
