"""The losses equal the paper's formulas, written out."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import info_nce, prototype_loss, truncated_nuclear_norm


def draw(*shape: int, seed: int = 0) -> Tensor:
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draws, dtype=torch.float64)


def info_nce_slow(first: Tensor, second: Tensor, *, temperature: float, intra: bool) -> Tensor:
    def similarity(a: Tensor, b: Tensor) -> Tensor:
        return (F.cosine_similarity(a, b, dim=0) / temperature).exp()

    costs = []
    for here, there in ((first, second), (second, first)):
        for i in range(len(here)):
            total = sum(similarity(here[i], other) for other in there)
            if intra:
                others = (similarity(here[i], here[j]) for j in range(len(here)) if j != i)
                total = total + sum(others)
            costs.append(-torch.log(similarity(here[i], there[i]) / total))
    return torch.stack(costs).mean()


@pytest.mark.parametrize("intra", [False, True])
@pytest.mark.parametrize("block_size", [2, 3, 100])
def test_info_nce_equals_its_definition_in_value_and_gradient(intra: bool, block_size: int) -> None:
    pairs = [[draw(7, 3, seed=seed).requires_grad_() for seed in (0, 1)] for _ in range(2)]
    fast = info_nce(*pairs[0], temperature=0.4, intra_view=intra, block_size=block_size)
    slow = info_nce_slow(*pairs[1], temperature=0.4, intra=intra)
    torch.testing.assert_close(fast, slow, atol=1e-10, rtol=1e-10)
    fast.backward()
    slow.backward()
    for ours, twin in zip(*pairs, strict=True):
        torch.testing.assert_close(ours.grad, twin.grad, atol=1e-9, rtol=1e-9)


def test_info_nce_is_lowest_when_views_agree() -> None:
    embeddings = torch.eye(6, dtype=torch.float64)
    same = info_nce(embeddings, embeddings, temperature=0.1)
    other = info_nce(embeddings, embeddings.roll(1, dims=0), temperature=0.1)
    assert 0 <= same < other


def prototype_loss_slow(
    rows: Tensor, prototypes: Tensor, own: Tensor, temperature: float
) -> Tensor:
    costs = []
    for row, cluster in zip(rows, own, strict=True):
        probabilities = torch.stack([torch.exp(row @ c / temperature) for c in prototypes])
        costs.append(-torch.log(probabilities[cluster] / probabilities.sum()))
    return torch.stack(costs).mean()


def test_prototype_loss_equals_its_definition_in_value_and_gradient() -> None:
    prototypes, own = draw(4, 3, seed=2), torch.tensor([0, 3, 1, 1, 2, 0])
    ours, twin = (draw(6, 3).requires_grad_() for _ in range(2))
    fast = prototype_loss(ours, prototypes, own, temperature=0.3)
    slow = prototype_loss_slow(twin, prototypes, own, 0.3)
    torch.testing.assert_close(fast, slow, atol=1e-10, rtol=1e-10)
    fast.backward()
    slow.backward()
    torch.testing.assert_close(ours.grad, twin.grad, atol=1e-9, rtol=1e-9)


def truncated_nuclear_norm_slow(embeddings: Tensor, rank: int) -> Tensor:
    """Eigenvalues of the dense N x N Gram matrix, sorted down, from rank r0 + 1 on."""
    values = torch.linalg.eigvalsh(embeddings @ embeddings.T).flip(0)
    return values[rank:].sum()


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (6, 6)])
@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_truncated_nuclear_norm_equals_its_definition_in_value_and_gradient(
    shape: tuple[int, int], rank: int
) -> None:
    ours, twin = (draw(*shape).requires_grad_() for _ in range(2))
    fast, slow = truncated_nuclear_norm(ours, rank), truncated_nuclear_norm_slow(twin, rank)
    torch.testing.assert_close(fast, slow, atol=1e-9, rtol=1e-9)
    fast.backward()
    slow.backward()
    torch.testing.assert_close(ours.grad, twin.grad, atol=1e-5, rtol=1e-5)


def test_truncated_nuclear_norm_is_zero_from_full_rank_on() -> None:
    embeddings = draw(8, 3)
    assert float(truncated_nuclear_norm(embeddings, 3)) == pytest.approx(0, abs=1e-9)
    assert float(truncated_nuclear_norm(embeddings, 7)) == pytest.approx(0, abs=1e-9)
