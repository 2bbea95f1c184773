import math

import pytest
import torch

from quietgraph.diagnose import (
    attended_eigenvalues,
    describe_spectrum,
    gram_eigenvalues,
    kernel_complexity,
)
from quietgraph.diagnose import kernel as kernel_module
from quietgraph.diagnose.kernel import eigenbasis
from quietgraph.errors import InvalidParameterError


def test_equal_eigenvalues_have_full_effective_rank() -> None:
    assert describe_spectrum(torch.full((5,), 3.0)).effective_rank == pytest.approx(5)


def test_one_eigenvalue_has_rank_one() -> None:
    found = describe_spectrum(torch.tensor([0.0, 2.0, 0.0]))
    assert (found.effective_rank, found.numerical_rank) == (pytest.approx(1), 1)


def test_effective_rank_is_the_exponential_of_the_entropy() -> None:
    shares = [0.5, 0.25, 0.25]
    entropy = -sum(share * math.log(share) for share in shares)
    found = describe_spectrum(torch.tensor([2.0, 1.0, 1.0]))
    assert found.effective_rank == pytest.approx(math.exp(entropy))


def test_energy_is_the_running_share_of_the_trace() -> None:
    assert describe_spectrum(torch.tensor([1.0, 6.0, 3.0])).energy.tolist() == pytest.approx(
        [0.6, 0.9, 1.0]
    )


def test_attention_cubes_the_spectrum_and_keeps_its_top() -> None:
    assert attended_eigenvalues(torch.tensor([4.0, 2.0, 0.0])).tolist() == [4.0, 0.5, 0.0]


def test_unit_rows_give_a_trace_of_one_per_node() -> None:
    rows = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    assert float(gram_eigenvalues(rows).sum()) == pytest.approx(50)


def test_rows_of_zeros_stay_zero() -> None:
    rows = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert gram_eigenvalues(rows).tolist() == pytest.approx([1.0, 0.0])


def test_blocks_do_not_change_the_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = torch.randn(50, 8, generator=torch.Generator().manual_seed(0))
    whole = gram_eigenvalues(rows)
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 24)
    torch.testing.assert_close(gram_eigenvalues(rows), whole)


def test_weak_directions_keep_their_length() -> None:
    # Eigenvectors taken from H^T H are off by 1e-7 here.
    generator = torch.Generator().manual_seed(0)
    left, right = (
        torch.linalg.qr(torch.randn(n, 6, generator=generator, dtype=torch.float64)).Q
        for n in (20, 6)
    )
    singular = torch.tensor([1, 0.5, 0.2, 0.1, 1e-2, 1.5e-5], dtype=torch.float64)
    rows = left * singular @ right.T
    values, basis = eigenbasis(rows, scale="raw")
    lengths = (rows @ basis / values.sqrt()).norm(dim=0)
    torch.testing.assert_close(lengths, torch.ones(6, dtype=torch.float64), atol=1e-10, rtol=0)


def test_kernel_complexity_of_a_worked_example() -> None:
    # r = 1: 1 (1/4 + 1/1) + sqrt(1) (1/2 + 1) = 2.75; r = 2: 2 (1/4 + 1/1) = 2.5
    found = kernel_complexity(torch.tensor([9.0, 1.0]), num_labelled=1, num_unlabelled=4)
    assert (found.value, found.rank) == (2.5, 2)


def test_a_long_tail_is_cut_where_it_costs_less_than_a_rank() -> None:
    eigenvalues = torch.cat([torch.full((3,), 100.0), torch.full((50,), 1e-6)])
    assert kernel_complexity(eigenvalues, num_labelled=40, num_unlabelled=60).rank == 3


@pytest.mark.parametrize(
    ("embeddings", "words"),
    [
        (torch.ones(3), "shape"),
        (torch.ones(3, 2).long(), "tensor of floats"),
        (torch.tensor([[1.0, float("nan")]]), "finite"),
        (torch.zeros(3, 2), "zero everywhere"),
    ],
)
def test_what_is_no_embedding_is_refused(embeddings: torch.Tensor, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        gram_eigenvalues(embeddings)


def test_an_array_is_refused_with_the_way_out() -> None:
    with pytest.raises(InvalidParameterError, match="from_numpy"):
        gram_eigenvalues(torch.ones(3, 2).numpy())  # type: ignore[arg-type]


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="'unit' or 'raw'"):
        gram_eigenvalues(torch.ones(3, 2), scale="log")  # type: ignore[arg-type]


@pytest.mark.parametrize("values", [[], [-1.0, 2.0], [0.0, 0.0]])
def test_what_is_no_spectrum_is_refused(values: list[float]) -> None:
    with pytest.raises(InvalidParameterError, match="eigenvalues"):
        describe_spectrum(torch.tensor(values))


def test_kernel_complexity_needs_labelled_and_unlabelled_nodes() -> None:
    with pytest.raises(InvalidParameterError, match="at least one labelled"):
        kernel_complexity(torch.ones(3), num_labelled=0, num_unlabelled=4)


def test_attention_in_blocks_is_attention(monkeypatch) -> None:
    rows = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    whole = kernel_module.attended_embeddings(rows)
    monkeypatch.setattr(kernel_module, "_BLOCK_ENTRIES", 24)
    torch.testing.assert_close(kernel_module.attended_embeddings(rows), whole)
