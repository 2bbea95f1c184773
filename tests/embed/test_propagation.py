"""Sparse products and views against dense twins."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.embed import (
    GCNEncoder,
    Propagation,
    View,
    ViewRates,
    draw_view,
    multiply,
    normalise_rows,
    normalised_adjacency,
    project,
    propagate,
)
from quietgraph.embed.encoder import leaky
from quietgraph.embed.views import spare_pairs, view_structure
from quietgraph.graph import CSR, Graph
from quietgraph.rng import torch_generator


def small_graph(weights: object = None) -> Graph:
    edges = [[0, 0, 1, 3], [1, 2, 2, 4]]  # node 5 is isolated
    features = np.random.default_rng(0).standard_normal((6, 3))
    return Graph.from_arrays(features, edges, weights=weights)


def dense_normalised(adjacency: Tensor) -> Tensor:
    full = adjacency + torch.eye(len(adjacency))
    scale = full.sum(dim=1).rsqrt()
    return scale[:, None] * full * scale


def test_operator_is_the_normalised_adjacency() -> None:
    graph = small_graph(weights=[1.0, 2.0, 0.5, 1.0])
    wanted = dense_normalised(graph.adjacency.to_dense())
    torch.testing.assert_close(normalised_adjacency(graph).to_dense(), wanted)


def test_products_equal_dense_ones_in_value_and_gradient() -> None:
    operator, draws = normalised_adjacency(small_graph()), torch_generator(0)
    ours, twin = (torch.randn(6, 4, generator=torch_generator(1)).requires_grad_() for _ in "ab")
    slope = torch.randn(6, 4, generator=draws)
    (propagate(operator, ours) * slope).sum().backward()
    (operator.to_dense() @ twin * slope).sum().backward()
    torch.testing.assert_close(ours.grad, twin.grad)
    wide = CSR.from_scipy((torch.rand(5, 6, generator=draws) > 0.6).float().numpy())
    ours.grad = twin.grad = None
    mine, other = multiply(wide, ours), wide.to_dense() @ twin
    torch.testing.assert_close(mine, other)
    (mine * slope[:5]).sum().backward()
    (other * slope[:5]).sum().backward()
    torch.testing.assert_close(ours.grad, twin.grad)


def test_products_keep_double_precision() -> None:
    operator = normalised_adjacency(small_graph())
    dense = torch.randn(6, 2, generator=torch_generator(0), dtype=torch.float64)
    assert propagate(operator, dense).dtype == torch.float64
    torch.testing.assert_close(propagate(operator, dense), operator.to_dense().double() @ dense)


def test_dropped_edges_equal_a_graph_without_them() -> None:
    graph = small_graph()
    structure = Propagation.of(graph)
    present = structure.everything()
    present[1] = 0  # the edge 0 - 2
    smaller = Graph.from_arrays(graph.features, [[0, 1, 3], [1, 2, 4]])
    wanted = normalised_adjacency(smaller).to_dense()
    torch.testing.assert_close(structure.operator(present).to_dense(), wanted)


def test_dropped_nodes_reach_nobody() -> None:
    structure, draws = Propagation.of(small_graph()), torch_generator(3)
    view = draw_view(structure, 3, ViewRates(node_drop=0.5), generator=draws)
    dense = view.operator.to_dense()
    gone = dense.sum(dim=1) == 0
    assert 0 < int(gone.sum()) < 6
    assert float(dense[:, gone].abs().sum()) == 0


def test_added_edges_are_new_and_about_as_many_as_asked() -> None:
    draws = np.random.default_rng(0)
    graph = Graph.from_arrays(np.ones((200, 2)), draws.integers(200, size=(2, 600)))
    rates = ViewRates(edge_add=0.3)
    structure = view_structure(graph, [rates], torch_generator(0))
    before = structure.operator().to_dense() > 0
    view = draw_view(structure, 2, rates, generator=torch_generator(1))
    after = view.operator.to_dense() > 0
    assert bool((after >= before).all())
    added = int((after & ~before).sum()) / 2
    assert added == pytest.approx(0.3 * graph.num_edges, rel=0.3)
    assert torch.equal(after, after.T)


def test_spare_pairs_are_no_edges_and_no_loops() -> None:
    graph = small_graph()
    low, high = spare_pairs(graph, 100, generator=torch_generator(0))
    assert bool((low < high).all())
    assert float(graph.adjacency.to_dense()[low, high].sum()) == 0
    assert len(low) == 11  # all pairs of 6 nodes less the 4 edges


def test_masked_columns_equal_zeroed_features() -> None:
    graph = small_graph()
    encoder = GCNEncoder(3, 4, 2, generator=torch_generator(0))
    operator, mask = normalised_adjacency(graph), torch.tensor([1.0, 0.0, 1.0])
    masked = encoder(graph.features, View(operator, mask))
    torch.testing.assert_close(masked, encoder(graph.features * mask, View(operator)))


@pytest.mark.parametrize("width", [1, 2, 50])
def test_encoder_equals_its_formula_in_either_order_of_products(width: int) -> None:
    graph = small_graph()
    encoder = GCNEncoder(3, width, 2, output="relu", generator=torch_generator(0))
    operator = normalised_adjacency(graph)
    dense = operator.to_dense()
    hidden = dense @ graph.features @ encoder.first + encoder.first_bias
    hidden = torch.where(hidden > 0, hidden, encoder.slope * hidden)
    wanted = (dense @ hidden @ encoder.second + encoder.second_bias).relu()
    torch.testing.assert_close(encoder(graph.features, View(operator)), wanted)
    sparse = CSR.from_scipy(graph.features.numpy())
    torch.testing.assert_close(encoder(sparse, View(operator)), wanted)


def test_leaky_equals_prelu_in_value_and_gradient() -> None:
    values = torch.randn(20, 3, generator=torch_generator(0), dtype=torch.float64)
    slope = torch.full((1,), 0.25, dtype=torch.float64)
    assert torch.equal(leaky(values, slope), torch.nn.functional.prelu(values, slope))
    assert torch.autograd.gradcheck(leaky, (values.requires_grad_(), slope.requires_grad_()))


@pytest.mark.parametrize(("norm", "power"), [("l1", 1), ("l2", 2)])
def test_rows_are_normalised_dense_and_sparse_and_empty_ones_stay(norm: str, power: int) -> None:
    dense = torch.tensor([[3.0, -4.0, 0.0], [0.0, 0.0, 0.0]])
    wanted = dense / dense.norm(p=power, dim=1, keepdim=True).clamp_min(1e-12)
    torch.testing.assert_close(normalise_rows(dense, norm), wanted)
    sparse = normalise_rows(CSR.from_scipy(dense.numpy()), norm)
    torch.testing.assert_close(sparse.to_dense(), wanted)
    torch.testing.assert_close(project(sparse, torch.eye(3)), wanted)


def test_a_few_nodes_get_the_same_embeddings_and_gradients_as_among_all() -> None:
    graph, nodes = small_graph(), torch.tensor([4, 0, 5])
    view = View(normalised_adjacency(graph))
    whole, few = (GCNEncoder(3, 4, 2, generator=torch_generator(0)) for _ in "ab")
    slope = torch.randn(3, 2, generator=torch_generator(1))
    everything = whole(graph.features, view)[nodes]
    some = few(graph.features, view, nodes)
    torch.testing.assert_close(some, everything)
    (everything * slope).sum().backward()
    (some * slope).sum().backward()
    for one, other in zip(whole.parameters(), few.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_rows_are_taken_in_the_order_asked_for() -> None:
    operator = normalised_adjacency(small_graph())
    rows = torch.tensor([5, 2, 2, 0])
    assert torch.equal(operator.take_rows(rows).to_dense(), operator.to_dense()[rows])


def test_the_operator_is_built_once_for_a_graph_and_never_shared() -> None:
    graph = small_graph()
    operator = normalised_adjacency(graph)
    assert normalised_adjacency(graph) is operator
    assert normalised_adjacency(graph.to(torch.device("cpu"))) is operator
    heavier = replace(graph, adjacency=graph.adjacency.with_values(3 * graph.adjacency.values))
    wanted = dense_normalised(heavier.adjacency.to_dense())
    torch.testing.assert_close(normalised_adjacency(heavier).to_dense(), wanted)


def test_a_graph_is_moved_to_a_device_once() -> None:
    graph, elsewhere = small_graph(), torch.device("meta")
    assert graph.to(elsewhere) is graph.to(elsewhere)
    assert graph.to(elsewhere).device == elsewhere
