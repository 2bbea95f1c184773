import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.graph import Graph, block_model
from quietgraph.methods.attention import high_order
from quietgraph.methods.attention.gfsa import GFSA
from quietgraph.methods.attention.high_order import similar_neighbours
from quietgraph.methods.attention.hongat import HONGAT
from quietgraph.methods.attention.sparse_attention import AttentionLayer, Neighbourhoods
from quietgraph.testing import small_problem


def graph_of(num_nodes: int = 40) -> Graph:
    draws = np.random.default_rng(0)
    return block_model(num_nodes, num_features=6, mean_degree=3, generator=draws).graph


def similar_slow(graph: Graph, order: int) -> Tensor:
    """Similarity of the kept neighbours of each node, 0 elsewhere, without a cap."""
    step = (graph.adjacency.to_dense() > 0).double() + torch.eye(graph.num_nodes)
    near = (torch.linalg.matrix_power(step, (order + 1) // 2) > 0).double()
    within = torch.linalg.matrix_power(step, order) > 0
    sizes = near.sum(dim=1)
    similarity = near @ near.T / (sizes[:, None] * sizes).sqrt()
    kept = torch.eye(graph.num_nodes, dtype=torch.float64)
    for node in range(graph.num_nodes):
        others = within[node].clone()
        others[node] = False
        if others.any():
            chosen = others & (similarity[node] >= similarity[node, others].mean() - 1e-9)
            kept[node, chosen] = similarity[node, chosen]
    return kept.float()


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_neighbours_equal_their_definition(order: int) -> None:
    graph = graph_of()
    found = similar_neighbours(graph, order=order, most=40).to_dense()
    torch.testing.assert_close(found, similar_slow(graph, order))


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = graph_of()
    whole = similar_neighbours(graph, order=2, most=5).to_dense()
    monkeypatch.setattr(high_order, "_BLOCK", 7)
    assert torch.equal(similar_neighbours(graph, order=2, most=5).to_dense(), whole)


def test_the_cap_keeps_the_most_alike() -> None:
    graph = graph_of()
    whole, capped = (similar_neighbours(graph, order=2, most=most) for most in (40, 2))
    assert capped.row_counts.max() == 3  # two and the node itself
    others = (1 - torch.eye(40)) * whole.to_dense()
    best = others.topk(2, dim=1).values
    found = ((1 - torch.eye(40)) * capped.to_dense()).topk(2, dim=1).values
    torch.testing.assert_close(found, best)


def test_hubs_are_not_counted_as_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    star = Graph.from_arrays(np.ones((6, 1)), [[0] * 5, [1, 2, 3, 4, 5]])
    assert similar_neighbours(star, order=2, most=9).row_counts[1] > 1
    monkeypatch.setattr(high_order, "_HUB", 3)
    leaf = similar_neighbours(star, order=2, most=9).to_dense()[1]
    assert leaf.nonzero().flatten().tolist() == [0, 1]


def test_direct_neighbours_without_weights_are_plain_attention() -> None:
    graph = graph_of()
    found = similar_neighbours(graph, order=1, most=40, weigh=False)
    plain = Neighbourhoods.of(graph).matrix
    assert torch.equal(found.to_dense(), plain.to_dense())


def test_order_one_without_weights_predicts_as_plain_attention() -> None:
    problem, labels, validation = small_problem()
    options = {"order": 1, "weigh": False, "neighbours": 120, "epochs": 5}
    found = HONGAT(**options).fit(problem.graph, labels, validation).predict_proba()
    plain = GFSA(epochs=5, order=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GFSA, "_layer", lambda self: AttentionLayer)
        expected = plain.fit(problem.graph, labels, validation).predict_proba()
    np.testing.assert_array_equal(found, expected)


def test_shares_are_proportional_to_likeness() -> None:
    near = Neighbourhoods(similar_neighbours(graph_of(), order=2, most=40))
    even = near.softmax(torch.zeros(near.matrix.num_entries, 1)).squeeze(1)
    matrix = near.matrix.to_dense()
    expected = matrix / matrix.sum(dim=1, keepdim=True)
    torch.testing.assert_close(near.matrix.with_values(even).to_dense(), expected)


def test_the_number_of_neighbours_is_told() -> None:
    problem, labels, validation = small_problem()
    model = HONGAT(epochs=3, neighbours=4).fit(problem.graph, labels, validation)
    assert 0 < model.notes_["neighbours"] <= 4
