"""Bound terms beside a gradient descent that is carried out, and projections by hand."""

import math

import pytest
import torch
from torch import Tensor

from quietgraph.diagnostics.bound import bound_terms
from quietgraph.diagnostics.projection import label_projection, noise_projection
from quietgraph.errors import InvalidLabelsError

CLASSES = torch.tensor([0, 0, 0, 1, 1, 1])
PERFECT = torch.eye(2)[CLASSES] * torch.tensor([1.0, 0.9])  # knows the classes and nothing else
SWAPPED = torch.tensor([1, 0, 0, 0, 1, 1])


def problem() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    draws = torch.Generator().manual_seed(0)
    right = torch.arange(60) % 3
    rows = torch.randn(3, 8, generator=draws)[right] + torch.randn(60, 8, generator=draws)
    labels = torch.where(torch.rand(60, generator=draws) < 0.3, (right + 1) % 3, right)
    return rows, labels, right, torch.rand(60, generator=draws) < 0.5


@pytest.mark.parametrize("scale", ["unit", "raw"])
def test_losses_equal_those_of_gradient_descent(scale: str) -> None:
    rows, labels, right, labelled = problem()
    terms = bound_terms(rows, labels, labelled=labelled, reference=right, steps=(1, 7, 40), scale=scale)
    inputs = rows.double() / rows.double().norm(dim=1, keepdim=True) if scale == "unit" else rows.double()
    observed, wanted = torch.eye(3).double()[labels], torch.eye(3).double()[right]
    seen, rate = inputs[labelled], 0.99 / float(torch.linalg.eigvalsh(inputs.T @ inputs)[-1])
    shrink = torch.eye(len(seen)).double() - rate * seen @ seen.T  # I - rate K_LL
    weights, power = torch.zeros(8, 3).double(), torch.eye(len(seen)).double()
    for step in range(1, 41):
        weights -= rate * seen.T @ (seen @ weights - observed[labelled])
        power = power @ shrink
        if step in terms.steps:
            at = terms.steps.tolist().index(step)
            outside = ((inputs @ weights - wanted) ** 2).sum(dim=1)[~labelled].mean()
            assert float(terms.test_loss[at]) == pytest.approx(float(outside))
            assert float(terms.signal_loss[at]) == pytest.approx(float((power @ wanted[labelled]).square().sum()))
            fitted = (observed - wanted)[labelled] - power @ (observed - wanted)[labelled]
            assert float(terms.noise_loss[at]) == pytest.approx(float(fitted.square().sum()))


def test_the_bound_is_the_sum_that_the_theorem_prints() -> None:
    rows, labels, right, labelled = problem()
    terms = bound_terms(rows, labels, labelled=labelled, reference=right)
    losses = 2 / int(labelled.sum()) * (terms.signal_loss + terms.noise_loss)
    wanted = losses + terms.complexity.value + math.log(20) / int((~labelled).sum())
    torch.testing.assert_close(terms.upper_bound, wanted)
    assert float(terms.upper_bound[terms.steps.tolist().index(terms.best_step)]) == float(wanted.min())


def test_without_a_reference_the_given_labels_count_as_right() -> None:
    rows, labels, _, labelled = problem()
    terms = bound_terms(rows, labels.where(labelled, -1))
    assert terms.test_loss is None
    assert not bool(terms.noise_loss.any())


def test_what_the_theorem_does_not_allow_is_refused() -> None:
    rows, labels, _, labelled = problem()
    for mask in (labelled | True, labelled & False):
        with pytest.raises(InvalidLabelsError, match="labelled nodes, all of known class, and unlabelled ones"):
            bound_terms(rows, labels, labelled=mask)
    with pytest.raises(InvalidLabelsError, match="all of known class"):
        bound_terms(rows, labels.masked_fill(torch.arange(60) < 30, -1), labelled=labelled)


def test_labels_that_are_directions_of_the_kernel_are_held_completely() -> None:
    found = label_projection(PERFECT, CLASSES)
    assert found.concentration.tolist() == pytest.approx([0.5, 1.0])
    assert found.beyond == pytest.approx(0)
    assert (found.rank_holding(0.4), found.rank_holding(0.8)) == (1, 2)


def test_noise_orthogonal_to_the_embedding_lies_beyond_its_rank() -> None:
    found = noise_projection(PERFECT, SWAPPED, CLASSES)
    # The noise of class 0 is (-1, 0, 0, 1, 0, 0): 1/6 of its energy on each class direction.
    assert found.scores.tolist() == pytest.approx([1 / 6, 1 / 6])
    assert found.beyond == pytest.approx(2 / 3)
    fractions = [found.concentration_at(rank) for rank in (0, 1, 2, 4, 6, 9)]
    assert fractions == pytest.approx([0, 1 / 6, 1 / 3, 2 / 3, 1, 1])
    assert found.rank_holding(0.8) is None
    assert noise_projection(PERFECT, CLASSES, CLASSES) is None


def test_unknown_nodes_are_left_out_with_their_rows_and_empty_classes_too() -> None:
    rows = torch.cat([PERFECT, torch.randn(2, 2, generator=torch.Generator().manual_seed(0))])
    found = label_projection(rows, torch.cat([CLASSES * 2, torch.tensor([-1, -1])]))
    torch.testing.assert_close(found.by_class, label_projection(PERFECT, CLASSES).by_class)
    assert (found.num_nodes, found.classes) == (6, (0, 2))


@pytest.mark.parametrize("labels", [CLASSES[:5], CLASSES.float(), CLASSES - 2, CLASSES * 0 - 1])
def test_labels_that_do_not_fit_are_refused(labels: Tensor) -> None:
    with pytest.raises(InvalidLabelsError, match="labels must"):
        label_projection(PERFECT, labels)
