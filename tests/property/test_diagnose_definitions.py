"""Each diagnostic against a slow twin: dense N x N matrices and matrix powers, as printed."""

from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from quietgraph.diagnose import (
    BoundSettings,
    attended_eigenvalues,
    attended_embeddings,
    bound_terms,
    gram_eigenvalues,
    kernel_complexity,
    label_projection,
    noise_projection,
)
from quietgraph.diagnose.kernel import ZERO_SHARE, eigenbasis

STEPS = (1, 2, 5, 20)

unhurried = settings(deadline=None)  # the first call of torch.linalg loads libraries


@dataclass(frozen=True)
class Problem:
    """A small random graph's embedding with right and partly wrong labels."""

    embeddings: Tensor
    right: Tensor
    labels: Tensor
    labelled: Tensor

    @property
    def kernel(self) -> Tensor:
        return kernel_slow(self.embeddings)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    nodes, dim = draw(st.integers(6, 24)), draw(st.integers(1, 30))
    classes = draw(st.integers(2, 4))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    right = torch.randint(classes, (nodes,), generator=generator)
    same_class = (right[:, None] == right[None, :]).double()
    edges = (torch.rand(nodes, nodes, generator=generator) < 0.1 + 0.6 * same_class).double()
    edges = ((edges + edges.T + torch.eye(nodes)) > 0).double()
    features = torch.randn(nodes, dim, generator=generator, dtype=torch.float64)
    wrong = torch.rand(nodes, generator=generator) < draw(st.sampled_from([0.0, 0.3, 0.6]))
    other = (right + torch.randint(1, classes, (nodes,), generator=generator)) % classes
    order = torch.randperm(nodes, generator=generator)
    labelled = torch.zeros(nodes, dtype=torch.bool)
    labelled[order[: draw(st.integers(1, nodes - 1))]] = True
    embeddings = edges / edges.sum(1, keepdim=True) @ features
    return Problem(embeddings, right, other.where(wrong, right), labelled)


def kernel_slow(embeddings: Tensor) -> Tensor:
    rows = torch.stack([row / row.norm() for row in embeddings])
    return rows @ rows.T


def one_hot_slow(labels: Tensor, classes: int) -> Tensor:
    return torch.eye(classes, dtype=torch.float64)[labels]


def complexity_slow(kernel: Tensor, m: int, u: int) -> float:
    values = torch.linalg.eigvalsh(kernel).flip(0).clamp(min=0)
    costs = [
        r * (1 / u + 1 / m) + float(values[r:].sum()) ** 0.5 * (u**-0.5 + m**-0.5)
        for r in range(1, len(values) + 1)
    ]
    return min(costs)


def projections_slow(kernel: Tensor, signal: Tensor) -> Tensor:
    """The share of each class on each of all N eigenvectors [classes, nodes]."""
    vectors = torch.linalg.eigh(kernel).eigenvectors.flip(1)
    columns = [column for column in signal.T if column.norm() > 0]
    return torch.stack([(vectors.T @ column) ** 2 / column.norm() ** 2 for column in columns])


def bound_slow(problem: Problem, rate: float, steps: int) -> tuple[float, float]:
    classes = 1 + int(torch.cat([problem.right, problem.labels]).max())
    right = one_hot_slow(problem.right, classes)[problem.labelled]
    noise = one_hot_slow(problem.labels, classes)[problem.labelled] - right
    kernel = problem.kernel[problem.labelled][:, problem.labelled]
    step = torch.eye(len(kernel), dtype=torch.float64) - rate * kernel
    powers = [torch.linalg.matrix_power(step, t) for t in range(steps + 1)]
    total = sum(powers[:-1], torch.zeros_like(step))
    first = (powers[-1] @ right).norm() ** 2
    return float(first), float((rate * kernel @ total @ noise).norm() ** 2)


def test_loss_slow(problem: Problem, rate: float, steps: int) -> float:
    classes = 1 + int(torch.cat([problem.right, problem.labels]).max())
    rows = torch.stack([row / row.norm() for row in problem.embeddings])
    inside, outside = rows[problem.labelled], rows[~problem.labelled]
    given_labels = one_hot_slow(problem.labels, classes)[problem.labelled]
    weights = torch.zeros(rows.shape[1], classes, dtype=torch.float64)
    for _ in range(steps):
        weights = weights - rate * inside.T @ (inside @ weights - given_labels)
    right = one_hot_slow(problem.right, classes)[~problem.labelled]
    return float((outside @ weights - right).norm() ** 2 / len(outside))


test_loss_slow.__test__ = False  # type: ignore[attr-defined]


@unhurried
@given(problems())
def test_eigenvalues_are_those_of_the_dense_kernel(problem: Problem) -> None:
    slow = torch.linalg.eigvalsh(problem.kernel).flip(0)
    fast = gram_eigenvalues(problem.embeddings)
    torch.testing.assert_close(fast, slow[: len(fast)], atol=1e-10, rtol=1e-10)
    assert slow[len(fast) :].abs().sum() < 1e-10


@unhurried
@given(problems())
def test_eigenvectors_of_the_kernel_have_length_one_and_right_angles(problem: Problem) -> None:
    values, basis = eigenbasis(problem.embeddings)
    rows = torch.stack([row / row.norm() for row in problem.embeddings])
    vectors = rows @ basis / values.sqrt()
    torch.testing.assert_close(
        vectors.T @ vectors, torch.eye(len(values), dtype=torch.float64), atol=1e-9, rtol=0
    )


@unhurried
@given(problems())
def test_attention_gives_the_kernel_its_formula_promises(problem: Problem) -> None:
    kernel = problem.kernel
    largest = torch.linalg.eigvalsh(kernel)[-1]
    attended = attended_embeddings(problem.embeddings)
    torch.testing.assert_close(attended @ attended.T, kernel @ kernel @ kernel / largest**2)
    values = attended_eigenvalues(gram_eigenvalues(problem.embeddings))
    torch.testing.assert_close(gram_eigenvalues(attended, scale="raw"), values)


@unhurried
@given(problems())
def test_kernel_complexity_equals_its_definition(problem: Problem) -> None:
    m = int(problem.labelled.sum())
    u = len(problem.labelled) - m
    values = gram_eigenvalues(problem.embeddings)
    fast = kernel_complexity(values, num_labelled=m, num_unlabelled=u)
    assert fast.value == pytest.approx(complexity_slow(problem.kernel, m, u), abs=1e-6)
    assert fast.value == pytest.approx(fast.rank_cost + fast.tail_cost)


@unhurried
@given(problems())
def test_attention_never_raises_kernel_complexity(problem: Problem) -> None:
    m = int(problem.labelled.sum())
    u = len(problem.labelled) - m
    values = gram_eigenvalues(problem.embeddings)
    before = kernel_complexity(values, num_labelled=m, num_unlabelled=u)
    after = kernel_complexity(attended_eigenvalues(values), num_labelled=m, num_unlabelled=u)
    assert after.value <= before.value + 1e-12


@unhurried
@given(problems(), st.floats(0.01, 100))
def test_raw_kernel_complexity_grows_with_the_scale(problem: Problem, factor: float) -> None:
    values = gram_eigenvalues(problem.embeddings, scale="raw")
    small, large = sorted([values, values * factor**2], key=lambda each: float(each.sum()))
    low, high = (kernel_complexity(v, num_labelled=5, num_unlabelled=9) for v in (small, large))
    assert low.value <= high.value + 1e-12


@unhurried
@given(problems(), st.floats(0.01, 100))
def test_unit_scale_does_not_see_the_length_of_rows(problem: Problem, factor: float) -> None:
    stretched = problem.embeddings * torch.linspace(factor, 2 * factor, len(problem.right))[:, None]
    torch.testing.assert_close(
        gram_eigenvalues(stretched), gram_eigenvalues(problem.embeddings), atol=1e-9, rtol=1e-9
    )


@unhurried
@given(problems())
def test_projections_over_all_eigenvectors_sum_to_one_per_class(problem: Problem) -> None:
    signal = one_hot_slow(problem.right, 1 + int(problem.right.max()))
    sums = projections_slow(problem.kernel, signal).sum(dim=1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    fast = label_projection(problem.embeddings, problem.right)
    assert fast.concentration_at(fast.num_nodes) == pytest.approx(1, abs=1e-9)
    assert bool((fast.by_class.sum(dim=1) <= 1 + 1e-9).all())


@unhurried
@given(problems())
def test_projections_hold_the_shares_of_the_dense_eigenvectors(problem: Problem) -> None:
    fast = label_projection(problem.embeddings, problem.right)
    signal = one_hot_slow(problem.right, 1 + int(problem.right.max()))
    slow = projections_slow(problem.kernel, signal)[:, : fast.by_class.shape[1]]
    torch.testing.assert_close(fast.by_class, slow, atol=1e-5, rtol=1e-5)


@unhurried
@given(problems())
def test_noise_projections_hold_the_shares_of_the_dense_eigenvectors(problem: Problem) -> None:
    fast = noise_projection(problem.embeddings, problem.labels, problem.right)
    if fast is None:
        assert torch.equal(problem.labels, problem.right)
        return
    classes = 1 + int(torch.cat([problem.right, problem.labels]).max())
    noise = one_hot_slow(problem.labels, classes) - one_hot_slow(problem.right, classes)
    slow = projections_slow(problem.kernel, noise)[:, : fast.by_class.shape[1]]
    torch.testing.assert_close(fast.by_class, slow, atol=1e-5, rtol=1e-5)


@unhurried
@given(problems())
def test_bound_terms_equal_their_definitions(problem: Problem) -> None:
    fast = bound_terms(
        problem.embeddings,
        problem.labels,
        labelled=problem.labelled,
        reference=problem.right,
        settings=BoundSettings(steps=STEPS),
    )
    assert fast.test_loss is not None
    for index, steps in enumerate(STEPS):
        # A direction that counts as zero would have been fitted by at most this much.
        close = 1e-10 + 4 * steps * ZERO_SHARE * len(problem.right)
        first, second = bound_slow(problem, fast.learning_rate, steps)
        assert float(fast.signal_loss[index]) == pytest.approx(first, abs=close)
        assert float(fast.noise_loss[index]) == pytest.approx(second, abs=close)
        measured = test_loss_slow(problem, fast.learning_rate, steps)
        assert float(fast.test_loss[index]) == pytest.approx(measured, abs=close)


@unhurried
@given(problems())
def test_signal_loss_falls_and_noise_loss_rises_with_the_steps(problem: Problem) -> None:
    terms = bound_terms(
        problem.embeddings, problem.labels, labelled=problem.labelled, reference=problem.right
    )
    assert bool((terms.signal_loss.diff() <= 1e-9).all())
    assert bool((terms.noise_loss.diff() >= -1e-9).all())
