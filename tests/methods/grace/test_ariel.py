"""ARIEL's attack: it raises the cost and stays within its limits."""

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed import info_nce, normalised_adjacency
from quietgraph.graph import block_model
from quietgraph.methods.grace.adversarial import (
    Attacked,
    AttackSettings,
    attack,
    normalise_dense,
    project_total,
    similarity_excess,
)
from quietgraph.methods.grace.ariel import ARIEL
from quietgraph.methods.grace.encoder import GraceEncoder, ProjectionHead
from quietgraph.testing import quick_parameters, small_problem

SETTINGS = AttackSettings(
    steps=5, edge_step=200.0, edge_fraction=0.2, feature_step=0.01, feature_limit=0.04
)


def _attack(seed: int) -> tuple[Tensor, Tensor, Attacked]:
    draws = torch.Generator().manual_seed(seed)
    graph = block_model(80, num_features=20, generator=np.random.default_rng(seed)).graph
    features = graph.features
    assert isinstance(features, Tensor)
    adjacency = graph.adjacency.to_dense()
    encoder = GraceEncoder(20, 16, 8, generator=draws)
    head = ProjectionHead(8, 8, generator=draws)
    with torch.no_grad():
        mask = (torch.rand(20, generator=draws) > 0.3).float()
        first = head(encoder(features, normalise_dense(adjacency), mask))

    def cost(rows: Tensor, operator: Tensor) -> Tensor:
        return info_nce(first, head(encoder(rows, operator)), temperature=0.4)

    return features, adjacency, attack(features, adjacency, cost, SETTINGS, generator=draws)


@pytest.mark.parametrize("seed", range(10))
def test_the_attack_raises_the_contrastive_loss(seed: int) -> None:
    found = _attack(seed)[2]
    assert found.cost_after > found.cost_before


def test_the_attack_raises_the_loss_in_every_epoch_of_a_training() -> None:
    problem, labels, validation = small_problem()
    model = ARIEL(**quick_parameters(ARIEL)).fit(problem.graph, labels, validation)
    assert all(epoch["attack_gain"] > 0 for epoch in model.history_)


def test_the_attack_stays_within_its_limits() -> None:
    features, adjacency, found = _attack(0)
    assert float((found.features - features).abs().max()) <= 0.04 + 1e-6
    assert torch.equal(found.adjacency, found.adjacency.T)
    assert float(found.adjacency.diagonal().abs().sum()) == 0
    assert set(found.adjacency.unique().tolist()) <= {0.0, 1.0}
    changed = float((found.adjacency != adjacency).sum()) / 2
    assert 0 < changed < 2 * 0.2 * float(adjacency.sum()) / 2  # the limit holds on average


def test_the_projection_onto_the_total_is_the_nearest_point() -> None:
    from scipy.optimize import minimize

    draws = torch.randn(5, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    point = draws + draws.T
    upper = torch.triu_indices(5, 5, offset=1)
    point.fill_diagonal_(0)
    found = project_total(point, 1.5)[upper[0], upper[1]].numpy()
    wanted = point[upper[0], upper[1]].numpy()
    twin = minimize(
        lambda x: ((x - wanted) ** 2).sum(),
        np.full(10, 0.1),
        bounds=[(0, 1)] * 10,
        constraints={"type": "ineq", "fun": lambda x: 1.5 - x.sum()},
    )
    np.testing.assert_allclose(found, twin.x, atol=2e-3)


def test_the_projection_leaves_what_fits() -> None:
    point = torch.tensor([[0.0, 0.4], [0.4, 0.0]])
    assert torch.equal(project_total(point, 0.5), point)


def test_the_dense_adjacency_is_normalised_as_the_sparse_one() -> None:
    graph = block_model(30, generator=np.random.default_rng(0)).graph
    torch.testing.assert_close(
        normalise_dense(graph.adjacency.to_dense()), normalised_adjacency(graph).to_dense()
    )


def test_the_encoder_answers_alike_for_dense_and_sparse_operators() -> None:
    graph = block_model(30, generator=np.random.default_rng(0)).graph
    sparse = normalised_adjacency(graph)
    encoder = GraceEncoder(32, 8, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(
        encoder(graph.features, sparse), encoder(graph.features, sparse.to_dense())
    )


def test_views_that_agree_no_more_than_with_the_clean_graph_cost_nothing() -> None:
    rows = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    assert float(similarity_excess(rows, rows, rows, temperature=0.5)) == pytest.approx(0, abs=1e-5)
    assert float(similarity_excess(rows, rows, -rows, temperature=0.5)) > 1


def test_all_activations_and_the_regulariser_train() -> None:
    problem, labels, validation = small_problem()
    for activation in ("relu", "prelu", "rrelu"):
        model = ARIEL(activation=activation, excess_weight=1.0, **quick_parameters(ARIEL))
        model.fit(problem.graph, labels, validation)
        assert np.isfinite(model.embeddings_).all()
        assert "excess" in model.history_[0]
