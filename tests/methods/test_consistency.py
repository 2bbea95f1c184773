import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed.losses import info_nce
from quietgraph.embed.operator import normalised_adjacency
from quietgraph.embed.views import View
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import Observed
from quietgraph.methods.consistency.cgnn import CGNN, cleaned_labels
from quietgraph.methods.consistency.crgnn import CRGNN, agreed_cross_entropy, neighbour_gain, space_consistency
from quietgraph.methods.consistency.network import ContrastedGCN


def graph_of(num_nodes: int = 15) -> Graph:
    return block_model(num_nodes, num_features=6, mean_degree=3, generator=np.random.default_rng(0)).graph


def unit(*shape: int) -> Tensor:
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(0)), dim=-1)


def neighbour_contrast_slow(spaces: list[Tensor], graph: Graph, temperature: float) -> Tensor:
    """The contrast in which neighbours are positives, as it is printed."""
    linked, costs = graph.adjacency.to_dense() > 0, []
    for here, there in (spaces, spaces[::-1]):
        inside, across = (here @ here.T / temperature).exp(), (here @ there.T / temperature).exp()
        for i in range(len(here)):
            positive = across[i, i] + (inside[i] + across[i])[linked[i]].sum()
            everything = across[i].sum() + inside[i, torch.arange(len(here)) != i].sum()
            costs.append(-(positive / (2 * linked[i].sum() + 1) / everything).log())
    return torch.stack(costs).mean()


def test_contrast_less_gain_is_the_contrast_with_neighbours() -> None:
    graph, spaces = graph_of(), list(unit(2, 15, 4))
    gain = neighbour_gain(spaces, torch.arange(15), graph.adjacency, temperature=0.5)
    found = info_nce(*spaces, temperature=0.5, intra_view=True) - gain
    torch.testing.assert_close(found, neighbour_contrast_slow(spaces, graph, 0.5))


def test_the_gain_of_some_nodes_is_their_mean_and_0_without_neighbours() -> None:
    graph, spaces = graph_of(), list(unit(2, 15, 4))
    picks = [torch.tensor(nodes) for nodes in ([2], [7], [2, 7])]
    gains = [neighbour_gain(spaces, nodes, graph.adjacency.take_rows(nodes), temperature=0.5) for nodes in picks]
    torch.testing.assert_close(gains[2], (gains[0] + gains[1]) / 2)
    alone = Graph.from_arrays(np.ones((3, 1)), np.empty((2, 0), dtype=int))
    gain = neighbour_gain(list(unit(2, 3, 4)), torch.arange(3), alone.adjacency, temperature=0.5)
    torch.testing.assert_close(gain, torch.tensor(0.0))


@pytest.mark.parametrize("certain", [False, True])
def test_only_agreed_and_certain_labels_are_trained_on(certain: bool) -> None:
    first, second = torch.tensor([[2.0, 0.0], [0.0, 1.0]]), torch.tensor([[1.0, 0.0], [3.0, 0.0]])
    found = agreed_cross_entropy(first, second, torch.tensor([0, 1]), certain=torch.tensor([False, certain]))
    agreed = [math.log(1 + math.exp(-2)), math.log(1 + math.exp(-1))]
    other = [math.log(1 + math.exp(-1)), math.log(1 + math.exp(3))]
    torch.testing.assert_close(found, torch.tensor(np.mean(agreed + other * certain), dtype=torch.float32))


def test_no_agreement_costs_nothing() -> None:
    first = torch.tensor([[2.0, 0.0]], requires_grad=True)
    cost = agreed_cross_entropy(first, -first, torch.tensor([0]), certain=torch.tensor([False]))
    (gradient,) = torch.autograd.grad(cost, first)
    assert float(cost.detach()) == 0
    assert torch.isfinite(gradient).all()


def test_unlikely_pairs_count_as_unlike() -> None:
    spaces, node = [torch.tensor([[1.0, 0.0]])] * 2, torch.zeros(1, dtype=torch.int64)
    even, sure = torch.zeros(1, 2), torch.tensor([[20.0, 0.0]])
    costs = [space_consistency(spaces, [one, one], node, node, confidence=0.8) for one in (even, sure)]
    assert [round(float(cost), 6) for cost in costs] == [1.0, 0.0]


@pytest.mark.parametrize("sparse", [False, True])
def test_a_view_masks_columns_of_the_features(sparse: bool) -> None:
    dense = (np.random.default_rng(1).random((15, 80)) < 0.05).astype(np.float32)
    graph, mask = graph_of(), (torch.arange(80) % 3 > 0).float()
    read = Graph.from_arrays(dense, graph.edge_index).features if sparse else torch.from_numpy(dense)
    network = ContrastedGCN(80, 4, 2, dropout=0.5, norm="none", convolves=True).eval()
    operator = normalised_adjacency(graph)
    wanted = network.hidden(View(operator), torch.from_numpy(dense) * mask)
    torch.testing.assert_close(network.hidden(View(operator, mask), read), wanted)


def cleaned(edges: object, codes: list[int], scores: Tensor, *, verified: Tensor | None = None) -> list[int]:
    labels = torch.tensor(codes)
    observed = Observed(labels, labels >= 0, torch.zeros_like(labels > 0), 2, verified=verified)
    near = Graph.from_arrays(np.ones((len(codes), 1)), edges).adjacency.take_rows(observed.train.nonzero().squeeze(1))
    return cleaned_labels(observed, scores, near, above=0.8).tolist()


def test_like_minded_neighbours_outvote_a_label_unless_it_is_verified() -> None:
    star, codes, scores = [[0] * 5, range(1, 6)], [0, -1, -1, -1, -1, -1], torch.tensor([[0.0, 5.0]]).repeat(6, 1)
    assert cleaned(star, codes, scores) == [1]
    assert cleaned(star, codes, scores, verified=torch.arange(6) == 0) == [0]
    scores[0] = torch.tensor([5.0, 0.0])  # its neighbours are not like it
    assert cleaned(star, codes, scores) == [0]


def test_labelled_neighbours_vote_with_their_labels_and_an_equal_vote_changes_nothing() -> None:
    scores = torch.tensor([[0.0, 0.1]]).repeat(4, 1)
    assert cleaned([[0] * 3, [1, 2, 3]], [1, 0, 0, 0], scores)[0] == 0
    assert cleaned([[0] * 2, [1, 2]], [1, 0, -1, -1], scores)[0] == 1
    assert cleaned(np.empty((2, 0), dtype=int), [0, -1, -1, -1], scores) == [0]


@pytest.mark.parametrize("method", [CGNN(epochs=3, clean_from=1), CRGNN(epochs=3)])
def test_the_network_of_the_best_epoch_answers(method: CGNN | CRGNN) -> None:
    graph = graph_of(60)
    fitted = method.fit(graph, np.arange(60) % 3).fitted_
    with torch.no_grad():
        torch.testing.assert_close(fitted.network(graph), (fitted.scores, fitted.embeddings))
