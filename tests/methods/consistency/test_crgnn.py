import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import View, info_nce, normalised_adjacency
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.methods.consistency.crgnn import (
    agreed_cross_entropy,
    masked,
    neighbour_gain,
    space_consistency,
)


def graph_of(num_nodes: int = 15) -> Graph:
    draws = np.random.default_rng(0)
    return block_model(num_nodes, num_features=6, mean_degree=3, generator=draws).graph


def unit(*shape: int) -> Tensor:
    return F.normalize(torch.randn(*shape, generator=torch.Generator().manual_seed(0)), dim=-1)


def neighbour_contrast_slow(spaces: list[Tensor], graph: Graph, temperature: float) -> Tensor:
    """The contrast in which neighbours are positives, as it is printed."""
    linked = graph.adjacency.to_dense() > 0
    costs = []
    for here, there in (spaces, spaces[::-1]):
        inside = (here @ here.T / temperature).exp()
        across = (here @ there.T / temperature).exp()
        for i in range(len(here)):
            others = torch.arange(len(here)) != i
            positive = across[i, i] + (inside[i] + across[i])[linked[i]].sum()
            everything = across[i].sum() + inside[i, others].sum()
            costs.append(-(positive / (2 * linked[i].sum() + 1) / everything).log())
    return torch.stack(costs).mean()


def test_contrast_less_gain_is_the_contrast_with_neighbours() -> None:
    graph, spaces = graph_of(), list(unit(2, 15, 4))
    everybody = torch.arange(15)
    gain = neighbour_gain(spaces, everybody, graph.adjacency, temperature=0.5)
    found = info_nce(*spaces, temperature=0.5) - gain
    torch.testing.assert_close(found, neighbour_contrast_slow(spaces, graph, 0.5))


def test_a_node_without_neighbours_gains_nothing() -> None:
    graph = Graph.from_arrays(np.ones((3, 1)), np.empty((2, 0), dtype=int))
    gain = neighbour_gain(list(unit(2, 3, 4)), torch.arange(3), graph.adjacency, temperature=0.5)
    torch.testing.assert_close(gain, torch.tensor(0.0))


def test_the_gain_of_some_anchors_is_their_mean() -> None:
    graph, spaces = graph_of(), list(unit(2, 15, 4))
    rows = [torch.tensor([node]) for node in (2, 7)]
    each = [
        neighbour_gain(spaces, row, graph.adjacency.take_rows(row), temperature=0.5) for row in rows
    ]
    both = torch.cat(rows)
    found = neighbour_gain(spaces, both, graph.adjacency.take_rows(both), temperature=0.5)
    torch.testing.assert_close(found, torch.stack(each).mean())


def test_only_agreed_nodes_are_trained_on() -> None:
    first = torch.tensor([[2.0, 0.0], [0.0, 1.0]])
    second = torch.tensor([[1.0, 0.0], [3.0, 0.0]])
    targets = torch.tensor([0, 1])
    found = agreed_cross_entropy(first, second, targets, certain=torch.tensor([False, False]))
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(-1))) / 2
    torch.testing.assert_close(found, torch.tensor(expected))


def test_certain_labels_are_trained_on_without_agreement() -> None:
    first = torch.tensor([[2.0, 0.0]])
    cost = agreed_cross_entropy(first, -first, torch.tensor([0]), certain=torch.tensor([True]))
    expected = (math.log(1 + math.exp(-2)) + math.log(1 + math.exp(2))) / 2
    torch.testing.assert_close(cost, torch.tensor(expected))


def test_no_agreement_costs_nothing() -> None:
    first = torch.tensor([[2.0, 0.0]], requires_grad=True)
    cost = agreed_cross_entropy(first, -first, torch.tensor([0]), certain=torch.tensor([False]))
    cost.backward()
    assert float(cost.detach()) == 0
    assert torch.isfinite(first.grad).all()


def test_unlikely_pairs_count_as_unlike() -> None:
    spaces = [torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]])]
    even, sure = torch.zeros(1, 2), torch.tensor([[20.0, 0.0]])
    pairs = torch.zeros(2, 1, dtype=torch.int64)
    apart = space_consistency(spaces, [even, even], pairs, confidence=0.8)
    near = space_consistency(spaces, [sure, sure], pairs, confidence=0.8)
    assert (float(apart), round(float(near), 6)) == (1.0, 0.0)


def test_masks_take_columns_of_sparse_and_dense_features() -> None:
    dense = (np.random.default_rng(1).random((15, 80)) < 0.05).astype(np.float32)
    sparse = Graph.from_arrays(dense, np.empty((2, 0), dtype=int)).features
    assert isinstance(sparse, CSR)
    mask = (torch.arange(80) % 3 > 0).float()
    view = View(normalised_adjacency(graph_of()), mask)
    wanted = torch.from_numpy(dense) * mask
    assert torch.equal(masked(sparse, view).to_dense(), wanted)
    assert torch.equal(masked(torch.from_numpy(dense), view), wanted)
