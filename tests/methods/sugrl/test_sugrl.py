"""SUGRL's pieces against their definitions."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.graph import CSR
from quietgraph.methods.sugrl.margins import margin_losses, sample_neighbours
from quietgraph.methods.sugrl.sugrl import SUGRL
from quietgraph.testing import quick_parameters, small_problem


def margin_losses_slow(
    anchors: Tensor,
    structural: Tensor,
    neighbours: Tensor,
    strangers: list[Tensor],
    *,
    margin: float,
    slack: float,
) -> dict[str, float]:
    costs = {"structure": 0.0, "neighbours": 0.0, "bound": 0.0}
    count = len(anchors)
    for order in strangers:
        for i in range(count):
            near = float((anchors[i] - structural[i]).norm())
            beside = float((anchors[i] - neighbours[i]).norm())
            far = float((anchors[i] - anchors[order[i]]).norm())
            costs["structure"] += max(0.0, near - far + margin) / count
            costs["neighbours"] += max(0.0, beside - far + margin) / count
            costs["bound"] += max(0.0, far - near - margin - slack) / count / len(strangers)
    return costs


def test_margin_losses_equal_their_definition() -> None:
    draws = torch.Generator().manual_seed(0)
    anchors, structural, neighbours = torch.randn(3, 9, 4, generator=draws)
    strangers = [torch.randperm(9, generator=draws) for _ in range(3)]
    given = (anchors, structural, neighbours, strangers)
    fast = margin_losses(*given, margin=0.3, slack=0.2)
    slow = margin_losses_slow(*given, margin=0.3, slack=0.2)
    assert {name: float(value) for name, value in fast.items()} == pytest.approx(slow, rel=1e-5)


def test_a_node_that_meets_itself_gives_a_finite_gradient() -> None:
    anchors = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    order = torch.arange(5)
    costs = margin_losses(anchors, anchors, anchors, [order], margin=0.5, slack=0.1)
    sum(costs.values()).backward()  # type: ignore[union-attr]
    assert anchors.grad is not None
    assert torch.isfinite(anchors.grad).all()


def test_the_upper_bound_does_not_move_the_positives() -> None:
    anchors = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    structural = anchors.clone().requires_grad_()
    order = torch.arange(5).roll(1)
    costs = margin_losses(anchors, structural, anchors, [order], margin=0.1, slack=0.0)
    assert float(costs["bound"]) > 0
    assert not costs["bound"].requires_grad


def test_sampled_neighbours_are_neighbours_and_rows_sum_to_one() -> None:
    dense = torch.eye(6)
    dense[0, 1] = dense[1, 0] = dense[1, 2] = dense[2, 1] = 1
    adjacency = CSR.from_scipy(dense.numpy())
    draws = torch.Generator().manual_seed(0)
    seen = torch.zeros(6, 6)
    for _ in range(50):
        sampled = sample_neighbours(adjacency, 5, generator=draws)
        average = torch.zeros(6, 6).index_put(
            (sampled.rows, sampled.columns.long()), sampled.values, accumulate=True
        )
        torch.testing.assert_close(average.sum(dim=1), torch.ones(6))
        seen += average
    assert torch.equal(seen > 0, dense > 0)


def test_embeddings_have_unit_length() -> None:
    problem, labels, validation = small_problem()
    model = SUGRL(**quick_parameters(SUGRL)).fit(problem.graph, labels, validation)
    np.testing.assert_allclose(np.linalg.norm(model.embeddings_, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("changes", [{"hidden": 0}, SUGRL.presets["ogbn-arxiv"]])
def test_the_published_variants_fit(changes: dict[str, object]) -> None:
    problem, labels, validation = small_problem()
    model = SUGRL(**{**changes, "epochs": 3}).fit(problem.graph, labels, validation)
    assert np.isfinite(model.predict_proba(problem.graph)).all()


def test_the_summed_bound_weighs_as_many_times_as_there_are_nodes() -> None:
    problem, labels, validation = small_problem()
    quick = {**quick_parameters(SUGRL), "epochs": 1, "margin": 0.0, "slack": 0.0}
    weights = {"structure_weight": 0.0, "neighbour_weight": 0.0}
    total, mean = (
        SUGRL(**quick, **weights, bound=bound).fit(problem.graph, labels, validation).history_[0]
        for bound in ("sum", "mean")
    )
    assert total["loss"] == pytest.approx(120 * mean["loss"], rel=1e-5)
