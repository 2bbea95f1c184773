from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import Schedule, train
from quietgraph.graph import Graph, block_model
from quietgraph.methods.attention.gfsa import GFSA, FilteredAttention
from quietgraph.methods.attention.sparse_attention import (
    AttentionLayer,
    AttentionNetwork,
    AttentionSizes,
    MakeLayer,
    Neighbourhoods,
    attend,
)
from quietgraph.testing import small_problem

SIZES = AttentionSizes(layers=2, heads=3, dim=4, output_heads=2, dropout=0.5)
FILTERED = partial(FilteredAttention, order=3, train_all=False)


def graph_of(num_nodes: int = 20) -> Graph:
    return block_model(num_nodes, num_features=6, generator=np.random.default_rng(0)).graph


def network(layer: MakeLayer) -> AttentionNetwork:
    torch.manual_seed(0)
    return AttentionNetwork(6, 3, SIZES, layer=layer)


def shares_slow(layer: AttentionLayer, graph: Graph, values: Tensor) -> Tensor:
    """Attention of every node to every other, 0 where there is no edge [heads, nodes, nodes]."""
    linked = graph.adjacency.to_dense() + torch.eye(graph.num_nodes) > 0
    towards, of = (values * layer.towards).sum(2).T, (values * layer.of).sum(2).T
    scores = F.leaky_relu(towards[:, :, None] + of[:, None, :], 0.2)
    return scores.masked_fill(~linked, float("-inf")).softmax(dim=2)


def test_the_layer_equals_attention_by_its_definition() -> None:
    graph = graph_of()
    layer = AttentionLayer(6, 4, heads=3, dropout=0.0)
    values = (graph.features @ layer.weight).view(20, 3, 4)
    expected = torch.einsum("hij,jhd->ihd", shares_slow(layer, graph, values), values).flatten(1)
    torch.testing.assert_close(layer(Neighbourhoods.of(graph), graph.features), expected)


def test_gradients_equal_those_of_the_definition() -> None:
    graph = graph_of()
    layer = AttentionLayer(6, 4, heads=2, dropout=0.0)
    seen = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
    (layer(Neighbourhoods.of(graph), graph.features) * seen).sum().backward()
    fast = [value.grad.clone() for value in (layer.weight, layer.towards, layer.of)]
    layer.zero_grad()
    values = (graph.features @ layer.weight).view(20, 2, 4)
    shares = shares_slow(layer, graph, values)
    (torch.einsum("hij,jhd->ihd", shares, values).flatten(1) * seen).sum().backward()
    for found, value in zip(fast, (layer.weight, layer.towards, layer.of), strict=True):
        torch.testing.assert_close(found, value.grad, atol=1e-5, rtol=1e-4)


def test_gradients_of_the_weighted_sum_are_those_of_differences() -> None:
    near = Neighbourhoods.of(graph_of(6))
    shares = torch.rand(near.matrix.num_entries, 2, dtype=torch.float64, requires_grad=True)
    values = torch.randn(6, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(partial(attend, near), (shares, values))


def test_shares_sum_to_one_and_survive_large_scores() -> None:
    near = Neighbourhoods.of(graph_of())
    scores = 1e4 * torch.randn(near.matrix.num_entries, 2)
    sums = torch.zeros(20, 2).index_add(0, near.matrix.rows, near.softmax(scores))
    torch.testing.assert_close(sums, torch.ones(20, 2))


def test_the_filter_equals_its_definition() -> None:
    graph = graph_of()
    layer = FilteredAttention(6, 4, heads=2, dropout=0.0, order=4, train_all=True)
    with torch.no_grad():
        layer.low.copy_(torch.tensor([[0.3, -0.2], [0.8, 1.1]]))
        layer.high.copy_(torch.tensor([0.5, -0.4]))
    values = (graph.features @ layer.weight).view(20, 2, 4)
    shares = shares_slow(layer, graph, values)
    power = shares + 3 * (shares @ shares - shares)
    own, near, high = (w[:, None, None] for w in (*layer.low, layer.high))
    matrix = own * torch.eye(20) + near * shares + high * power
    expected = torch.einsum("hij,jhd->ihd", matrix, values).flatten(1)
    found = layer(Neighbourhoods.of(graph), graph.features)
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)


def trained_scores(module: AttentionNetwork, graph: Graph) -> Tensor:
    near, targets = Neighbourhoods.of(graph), torch.arange(20) % 3
    torch.manual_seed(1)
    train(
        module,
        lambda epoch: {"loss": F.cross_entropy(module(near, graph.features), targets)},
        Schedule(5, 0.01, 5e-4),
    )
    return module(near, graph.features)


def test_a_frozen_filter_is_plain_attention_bit_for_bit() -> None:
    graph = graph_of()
    plain, filtered = network(AttentionLayer), network(FILTERED)
    for name, value in filtered.named_parameters():
        if name.endswith((".low", ".high")):
            value.requires_grad_(False)
    assert torch.equal(trained_scores(plain, graph), trained_scores(filtered, graph))


def test_the_gradient_reaches_the_high_order_at_the_start() -> None:
    graph = graph_of()
    module = network(FILTERED)
    module(Neighbourhoods.of(graph), graph.features).square().sum().backward()
    assert all((layer.high.grad != 0).all() for layer in (module.layers[0], module.last))


def test_filter_weights_are_told() -> None:
    problem, labels, validation = small_problem()
    model = GFSA(epochs=5).fit(problem.graph, labels, validation)
    assert (model.notes_["w0_1"], model.notes_["w1_2"]) == (0.0, 1.0)
    assert model.notes_["wk_1"] != 0


def test_deep_networks_fit() -> None:
    problem, labels, validation = small_problem()
    model = GFSA(layers=3, deep=True, epochs=3).fit(problem.graph, labels, validation)
    assert np.isfinite(model.predict_proba()).all()
