"""GraphCL's changes of a graph and its score."""

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import connected_components

from quietgraph.embed import Propagation
from quietgraph.embed.views import spare_pairs
from quietgraph.graph import Graph, block_model
from quietgraph.methods.graphcl.augmentations import AUGMENTATIONS, augment, grow_region
from quietgraph.methods.graphcl.graphcl import Discriminator, GraphCL
from quietgraph.testing import quick_parameters, small_problem


def _graph(num_nodes: int = 200) -> Graph:
    return block_model(num_nodes, mean_degree=8, generator=np.random.default_rng(0)).graph


def test_a_region_has_the_wanted_size_and_hangs_together() -> None:
    graph = _graph()
    draws = torch.Generator().manual_seed(0)
    for wanted in (1, 50, 150):
        inside = grow_region(graph.adjacency, wanted, generator=draws)
        assert int(inside.sum()) == wanted
        part = graph.adjacency.to_scipy()[inside.numpy()][:, inside.numpy()]
        assert connected_components(part)[0] == 1


def test_a_region_starts_afresh_where_the_edges_end() -> None:
    graph = Graph.from_arrays(np.ones((5, 1)), np.array([[0], [1]]))
    inside = grow_region(graph.adjacency, 4, generator=torch.Generator().manual_seed(0))
    assert int(inside.sum()) == 4


@pytest.mark.parametrize("kind", ["node", "subgraph"])
def test_nodes_that_are_gone_reach_nobody(kind: str) -> None:
    structure = Propagation.of(_graph())
    view = augment(structure, kind, 0.3, generator=torch.Generator().manual_seed(0))
    gone = view.nodes == 0
    dense = view.operator.to_dense()
    assert 0.1 < float(gone.float().mean()) < 0.5
    assert float(dense[gone].abs().sum()) == 0
    assert float(dense[:, gone].abs().sum()) == 0


def test_hidden_features_leave_the_edges_alone() -> None:
    structure = Propagation.of(_graph())
    view = augment(structure, "mask", 0.3, generator=torch.Generator().manual_seed(0))
    assert torch.equal(view.operator.values, structure.operator().values)
    assert view.shown is not None
    assert 0.15 < float((view.shown == 0).float().mean()) < 0.45


def test_changed_edges_are_half_dropped_and_half_added() -> None:
    graph = _graph(600)
    draws = torch.Generator().manual_seed(0)
    spare = spare_pairs(graph, 4 * graph.num_edges, generator=draws)
    structure = Propagation.of(graph, spare_pairs=spare)
    before = graph.adjacency.to_scipy().toarray() > 0
    after = augment(structure, "edge", 0.4, generator=draws).operator.to_dense().numpy() > 0
    np.fill_diagonal(after, val=False)
    dropped, added = (before & ~after).sum() / before.sum(), (after & ~before).sum() / before.sum()
    assert dropped == pytest.approx(0.2, abs=0.03)
    assert added == pytest.approx(0.2, abs=0.03)


def test_the_score_is_the_sum_of_the_bilinear_scores() -> None:
    draws = torch.Generator().manual_seed(0)
    discriminator = Discriminator(4, generator=draws)
    torch.nn.init.constant_(discriminator.bias, 0.3)
    rows, summaries = torch.randn(6, 4, generator=draws), torch.randn(2, 4, generator=draws)
    slow = sum(
        torch.nn.functional.bilinear(
            rows, one.expand(6, 4), discriminator.weight, discriminator.bias.reshape(1)
        )
        for one in summaries
    )
    torch.testing.assert_close(discriminator(rows, list(summaries)), slow[:, 0])  # type: ignore[index]


@pytest.mark.parametrize("kind", AUGMENTATIONS)
@pytest.mark.parametrize("loss", ["summary", "ntxent"])
@pytest.mark.parametrize("resample", [False, True])
def test_every_augmentation_trains_with_every_loss(kind: str, loss: str, resample: bool) -> None:
    problem, labels, validation = small_problem()
    quick = quick_parameters(GraphCL)
    model = GraphCL(augmentation=kind, loss=loss, resample=resample, **quick)
    model.fit(problem.graph, labels, validation)
    assert np.isfinite(model.embeddings_).all()


def test_training_stops_when_the_loss_falls_no_more_and_keeps_the_best_epoch() -> None:
    problem, labels, validation = small_problem()
    model = GraphCL(dim=8, epochs=60, patience=2, learning_rate=0.5)
    history = model.fit(problem.graph, labels, validation).history_
    best = max(range(len(history)), key=lambda epoch: history[epoch]["score"])
    assert len(history) < 60
    assert len(history) == best + 3
