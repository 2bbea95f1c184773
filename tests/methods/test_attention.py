from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.graph import CSR, Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.attention.gfsa import GFSA, FilteredAttention, direct_neighbours
from quietgraph.methods.attention.hongat import HONGAT, similar_neighbours
from quietgraph.methods.attention.layer import AttentionLayer


def graph_of(num_nodes: int = 40) -> Graph:
    return block_model(num_nodes, num_features=6, mean_degree=3, generator=np.random.default_rng(0)).graph


def weights_slow(layer: AttentionLayer, near: CSR, values: Tensor) -> Tensor:
    """Attention of every node to every other [heads, nodes, nodes]."""
    towards, of = (values * layer.towards).sum(2).T, (values * layer.of).sum(2).T
    scores = F.leaky_relu(towards[:, :, None] + of[:, None, :], 0.2).exp() * near.to_dense()
    return scores / scores.sum(dim=2, keepdim=True)


def output_slow(layer: AttentionLayer, near: CSR, features: Tensor) -> Tensor:
    values = (features @ layer.weight).view(len(features), *layer.shape)
    matrix = weights_slow(layer, near, values)
    if isinstance(layer, FilteredAttention):
        power = matrix + (layer.order - 1) * (matrix @ matrix - matrix)
        matrix = matrix + layer.power_weight[:, None, None] * power
    return torch.einsum("hij,jhd->ihd", matrix, values).flatten(1)


@pytest.mark.parametrize("make", [AttentionLayer, partial(FilteredAttention, order=4)])
@pytest.mark.parametrize("neighbours", [direct_neighbours, partial(similar_neighbours, order=2, most=9)])
def test_layers_and_their_gradients_equal_their_definition(make, neighbours) -> None:
    graph, torch_state = graph_of(), torch.random.get_rng_state()
    torch.manual_seed(0)
    near, layer = neighbours(graph), make(6, 4, heads=2, dropout=0.5).eval()
    torch.random.set_rng_state(torch_state)
    if isinstance(layer, FilteredAttention):
        layer.power_weight.data = torch.tensor([0.5, -0.4])
    found, wanted = layer(near, graph.features), output_slow(layer, near, graph.features)
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)
    trained = [value for name, value in layer.named_parameters() if name != "bias"]
    gradients = [torch.autograd.grad(one.square().sum(), trained) for one in (found, wanted)]
    torch.testing.assert_close(*gradients, atol=1e-4, rtol=1e-4)


def test_a_filter_starts_as_plain_attention_and_is_trained_without_decay() -> None:
    graph, labels = graph_of(), np.arange(40) % 3
    still = GFSA(epochs=3, learning_rate=0.0, weight_decay=0.5).fit(graph, labels)
    assert still.fitted_.notes["wk_1"] == 0
    moved = GFSA(epochs=3).fit(graph, labels)
    assert moved.fitted_.notes["wk_1"] != 0
    assert moved.fitted_.notes["wk_2"] != 0


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
def test_similar_neighbours_equal_their_definition(order: int) -> None:
    graph = graph_of()
    torch.testing.assert_close(similar_neighbours(graph, order=order, most=40).to_dense(), similar_slow(graph, order))


def test_more_nodes_than_a_block_make_no_difference() -> None:
    graph = graph_of(1100)
    torch.testing.assert_close(similar_neighbours(graph, order=2, most=1100).to_dense(), similar_slow(graph, 2))


def test_the_cap_keeps_the_most_alike() -> None:
    graph = graph_of()
    whole, capped = (similar_neighbours(graph, order=2, most=most).to_dense().fill_diagonal_(0) for most in (40, 2))
    assert (capped > 0).sum(dim=1).max() == 2
    torch.testing.assert_close(capped.topk(2, dim=1).values, whole.topk(2, dim=1).values)


@pytest.mark.parametrize(("leaves", "met"), [(150, True), (250, False)])
def test_hubs_are_not_counted_as_shared(leaves: int, met: bool) -> None:
    star = Graph.from_arrays(np.ones((leaves + 1, 1)), [[0] * leaves, range(1, leaves + 1)])
    leaf = similar_neighbours(star, order=2, most=9).to_dense()[1]
    assert bool((leaf[2:] > 0).any()) == met


def test_the_number_of_neighbours_is_told() -> None:
    fitted = HONGAT(epochs=3, neighbours=4).fit(graph_of(), np.arange(40) % 3).fitted_
    assert 0 < fitted.notes["neighbours"] <= 4


def test_deep_networks_answer_for_the_graph_of_fit_as_in_fit() -> None:
    graph = graph_of()
    fitted = GFSA(layers=3, deep=True, epochs=3).fit(graph, np.arange(40) % 3).fitted_
    with torch.no_grad():
        torch.testing.assert_close(fitted.network(graph), (fitted.scores, fitted.embeddings))
