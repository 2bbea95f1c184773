"""ARIEL's attack, SFA's augmentation, GraphCL's changes of a graph."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import Structure, normalised_adjacency
from quietgraph.embed.views import ViewRates, view_structure
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.grace.ariel import ARIEL, attack, normalise_dense, project_total, similarity_excess
from quietgraph.methods.grace.encoder import GraceEncoder, ProjectionHead
from quietgraph.methods.grace.graphcl import AUGMENTATIONS, Discriminator, GraphCL, augment, grow_region
from quietgraph.methods.grace.sfa import weaken_leading
from quietgraph.testing import small_data

DATA = small_data()
EVERY = torch.arange(30)


def graph_of(num_nodes: int = 80, seed: int = 0) -> Graph:
    return block_model(num_nodes, num_features=20, mean_degree=8, generator=np.random.default_rng(seed)).graph


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("seed", range(4))
def test_the_attack_raises_the_cost_within_its_limits(seed: int) -> None:
    graph = graph_of(seed=seed)
    features, adjacency = graph.features, graph.adjacency.to_dense()
    encoder, head = GraceEncoder(20, 16, 8, norm="none", seed=seed), ProjectionHead(8, 8, seed=seed)
    with torch.no_grad():
        mask = (torch.rand(20, generator=stream(seed)) > 0.3).float()
        first = head(encoder.rows(features, normalise_dense(adjacency), mask))

    def cost(rows: Tensor, operator: Tensor) -> Tensor:
        return info_nce(first, head(encoder.rows(rows, operator)), temperature=0.4, intra_view=True)

    moved, flipped = attack(features, adjacency, cost, ARIEL(), unit=1.0, generator=stream(seed))
    assert cost(moved, normalise_dense(flipped)) > cost(features, normalise_dense(adjacency))
    assert float((moved - features).abs().max()) <= 0.04 + 1e-6
    assert torch.equal(flipped, flipped.T)
    assert float(flipped.diagonal().abs().sum()) == 0
    changed = float((flipped != adjacency).sum()) / 2
    assert 0 < changed < 2 * 0.2 * graph.num_edges  # the limit holds on average


def test_the_projection_onto_the_total_is_the_nearest_point() -> None:
    draws = torch.randn(5, 5, generator=stream(), dtype=torch.float64)
    point, upper = (draws + draws.T).fill_diagonal_(0), torch.triu_indices(5, 5, offset=1)
    wanted = point[upper[0], upper[1]].numpy()
    twin = minimize(
        lambda x: ((x - wanted) ** 2).sum(),
        np.full(10, 0.1),
        bounds=[(0, 1)] * 10,
        constraints={"type": "ineq", "fun": lambda x: 1.5 - x.sum()},
    )
    np.testing.assert_allclose(project_total(point, 1.5)[upper[0], upper[1]].numpy(), twin.x, atol=2e-3)
    fits = torch.tensor([[0.0, 0.4], [0.4, 0.0]])
    assert torch.equal(project_total(fits, 0.5), fits)


def test_dense_and_sparse_operators_give_the_same_embeddings() -> None:
    graph, encoder = graph_of(30), GraceEncoder(20, 8, 4, norm="none", seed=0, activation="prelu")
    torch.testing.assert_close(normalise_dense(graph.adjacency.to_dense()), normalised_adjacency(graph).to_dense())
    dense = encoder.rows(graph.features, normalised_adjacency(graph).to_dense())
    torch.testing.assert_close(encoder(graph), dense)


def test_views_that_agree_no_more_than_with_the_clean_graph_cost_nothing() -> None:
    rows = torch.randn(6, 4, generator=stream())
    assert float(similarity_excess(rows, rows, rows, temperature=0.5)) == pytest.approx(0, abs=1e-5)
    assert float(similarity_excess(rows, rows, -rows, temperature=0.5)) > 1


@pytest.mark.parametrize("activation", ["relu", "prelu", "rrelu"])
def test_all_activations_and_the_regulariser_train(activation: str) -> None:
    model = ARIEL(activation=activation, excess_weight=1.0, epochs=2, hidden=8, dim=8, head=8).fit(DATA)
    assert {"contrast", "excess", "adversarial"} <= model.fitted_.history[0].keys()


def matrix(seed: int = 0) -> Tensor:
    left = torch.randn(30, 6, generator=stream(seed), dtype=torch.float64)
    return left * torch.tensor([4.0, 2.0, 1.5, 1.0, 0.7, 0.4], dtype=torch.float64)


@pytest.mark.parametrize("steps", [1, 2])
def test_the_augmentation_equals_its_definition_at_the_wanted_rows(steps: int) -> None:
    rows, nodes = matrix(), torch.tensor([3, 1, 20])
    direction = torch.randn(6, generator=stream(5)).to(rows)
    for _ in range(steps):
        direction = rows.T @ (rows @ direction)
    slow = rows - rows @ torch.outer(direction, direction) / direction.norm() ** 2
    torch.testing.assert_close(weaken_leading(rows, nodes, steps=steps, generator=stream(5)), slow[nodes])


def test_singular_values_interlace_and_the_smallest_becomes_zero() -> None:
    for seed in range(10):
        rows = matrix(seed)
        before = torch.linalg.svdvals(rows)
        after = torch.linalg.svdvals(weaken_leading(rows, EVERY, steps=1, generator=stream(seed)))
        assert (after <= before + 1e-9).all()
        assert (after[:-1] >= before[1:] - 1e-9).all()
        assert float(after[-1]) < 1e-9


def test_on_average_the_leading_singular_value_stands_out_less() -> None:
    rows, draws = matrix(), stream(2)
    outcomes = [weaken_leading(rows, EVERY, steps=1, generator=draws) for _ in range(1000)]
    before, after = torch.linalg.svdvals(rows), torch.linalg.svdvals(torch.stack(outcomes).mean(dim=0))
    assert float(after[0] / after[1]) < 0.9 * float(before[0] / before[1])


def test_without_power_iterations_or_with_rows_of_zeros_nothing_changes() -> None:
    assert torch.equal(weaken_leading(matrix(), EVERY, steps=0, generator=stream()), matrix())
    assert torch.equal(weaken_leading(torch.zeros(30, 3), EVERY, steps=1, generator=stream()), torch.zeros(30, 3))


def test_a_region_has_the_wanted_size_and_hangs_together() -> None:
    adjacency = graph_of(200).adjacency
    for wanted in (1, 50, 150):
        inside = grow_region(adjacency, wanted, generator=stream()).numpy()
        assert inside.sum() == wanted
        assert connected_components(adjacency.to_scipy()[inside][:, inside])[0] == 1
    alone = Graph.from_arrays(np.ones((5, 1)), np.array([[0], [1]]))  # edges end: a random node starts afresh
    assert int(grow_region(alone.adjacency, 4, generator=stream()).sum()) == 4


@pytest.mark.parametrize("kind", ["node", "subgraph"])
def test_nodes_that_are_gone_reach_nobody(kind: str) -> None:
    operator, nodes, _ = augment(Structure.of(graph_of(200)), kind, 0.3, generator=stream())
    gone, dense = nodes == 0, operator.to_dense()
    assert 0.1 < float(gone.float().mean()) < 0.5
    assert float(dense[gone].abs().sum() + dense[:, gone].abs().sum()) == 0


def test_hidden_features_leave_the_edges_alone() -> None:
    structure = Structure.of(graph_of(200))
    operator, _, shown = augment(structure, "mask", 0.3, generator=stream())
    assert torch.equal(operator.values, structure.operator().values)
    assert shown is not None
    assert 0.15 < float((shown == 0).float().mean()) < 0.45


def test_changed_edges_are_half_dropped_and_half_added() -> None:
    graph = graph_of(600)
    structure = view_structure(graph, [ViewRates(edge_add=0.2)], generator=stream())
    before = graph.adjacency.to_scipy().toarray() > 0
    after = augment(structure, "edge", 0.4, generator=stream())[0].to_dense().numpy() > 0
    np.fill_diagonal(after, val=False)
    assert (before & ~after).sum() / before.sum() == pytest.approx(0.2, abs=0.03)
    assert (after & ~before).sum() / before.sum() == pytest.approx(0.2, abs=0.03)


def test_the_score_is_the_sum_of_the_bilinear_scores() -> None:
    discriminator, rows = Discriminator(4, seed=0), torch.randn(6, 4, generator=stream())
    torch.nn.init.constant_(discriminator.bias, 0.3)
    given = (discriminator.weight, discriminator.bias.reshape(1))
    summaries = torch.randn(2, 4, generator=stream(1))
    slow = [torch.nn.functional.bilinear(rows, one.expand(6, 4), *given)[:, 0] for one in summaries]
    torch.testing.assert_close(discriminator(rows, list(summaries)), slow[0] + slow[1])


@pytest.mark.parametrize("kind", AUGMENTATIONS)
def test_every_augmentation_trains(kind: str) -> None:
    assert np.isfinite(GraphCL(augmentation=kind, epochs=3, dim=8).fit(DATA).embed()).all()


def test_training_stops_when_the_loss_falls_no_more_and_keeps_the_epoch_of_the_lowest() -> None:
    history = GraphCL(dim=8, epochs=60, patience=2, learning_rate=0.5).fit(DATA).fitted_.history
    losses = [epoch["loss"] for epoch in history]
    assert len(history) == losses.index(min(losses)) + 3 < 60
