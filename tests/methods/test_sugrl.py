"""SUGRL's margins and neighbours against their definitions."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.graph import CSR
from quietgraph.methods.sugrl import SUGRL, margin_losses, sample_neighbours
from quietgraph.testing import small_data

DATA = small_data()


def margin_losses_slow(rows: list[Tensor], negatives: list[Tensor], margin: float, slack: float) -> dict[str, float]:
    anchors, structural, neighbours = rows
    costs = {"structure": 0.0, "neighbours": 0.0, "bound": 0.0}
    for order in negatives:
        for i, anchor in enumerate(anchors):
            near, beside = float((anchor - structural[i]).norm()), float((anchor - neighbours[i]).norm())
            far = float((anchor - anchors[order[i]]).norm())
            costs["structure"] += max(0.0, near - far + margin) / len(anchors)
            costs["neighbours"] += max(0.0, beside - far + margin) / len(anchors)
            costs["bound"] += max(0.0, far - near - margin - slack) / len(anchors) / len(negatives)
    return costs


def test_margin_losses_equal_their_definition() -> None:
    draws = torch.Generator().manual_seed(0)
    rows, negatives = [*torch.randn(3, 9, 4, generator=draws)], [torch.randperm(9, generator=draws) for _ in range(3)]
    fast = margin_losses(*rows, negatives, margin=0.3, slack=0.2)
    slow = margin_losses_slow(rows, negatives, 0.3, 0.2)
    assert {name: float(value) for name, value in fast.items()} == pytest.approx(slow, rel=1e-5)


def test_a_node_that_meets_itself_gives_a_finite_gradient() -> None:
    anchors = torch.randn(5, 3, generator=torch.Generator().manual_seed(0)).requires_grad_()
    costs = margin_losses(anchors, anchors, anchors, [torch.arange(5)], margin=0.5, slack=0.1)
    torch.stack([*costs.values()]).sum().backward()
    assert anchors.grad is not None
    assert torch.isfinite(anchors.grad).all()


def test_the_upper_bound_does_not_move_the_positives() -> None:
    anchors = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    structural = anchors.clone().requires_grad_()
    costs = margin_losses(anchors, structural, anchors, [torch.arange(5).roll(1)], margin=0.1, slack=0.0)
    assert float(costs["bound"]) > 0
    assert not costs["bound"].requires_grad


def test_sampled_neighbours_are_neighbours_and_rows_sum_to_one() -> None:
    dense = torch.eye(6)
    dense[0, 1] = dense[1, 0] = dense[1, 2] = dense[2, 1] = 1
    draws, seen = torch.Generator().manual_seed(0), torch.zeros(6, 6)
    for _ in range(50):
        sampled = sample_neighbours(CSR.from_scipy(dense.numpy()), 5, generator=draws)
        places = (sampled.rows, sampled.columns.long())
        average = torch.zeros(6, 6).index_put(places, sampled.values, accumulate=True)
        torch.testing.assert_close(average.sum(dim=1), torch.ones(6))
        seen += average
    assert torch.equal(seen > 0, dense > 0)


@pytest.mark.parametrize("changes", [{"hidden": 0}, {"propagation": "row", "smooth_features": True, "bound": "mean"}])
def test_the_published_variants_fit_and_embeddings_have_unit_length(changes: dict[str, object]) -> None:
    lengths = np.linalg.norm(SUGRL(epochs=3, dim=8, **changes).fit(DATA).embed(), axis=1)
    assert ((np.abs(lengths - 1) < 1e-5) | (lengths == 0)).all()


def test_the_summed_bound_weighs_as_many_times_as_there_are_nodes() -> None:
    only = {"epochs": 1, "margin": 0.0, "slack": 0.0, "structure_weight": 0.0, "neighbour_weight": 0.0}
    total, mean = (SUGRL(**only, bound=bound).fit(DATA).fitted_.history[0]["loss"] for bound in ("sum", "mean"))
    assert total == pytest.approx(40 * mean, rel=1e-5)
