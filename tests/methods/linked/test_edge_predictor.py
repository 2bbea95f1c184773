import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.embed import normalised_adjacency
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.methods.base.supervised import GCNClassifier
from quietgraph.methods.linked.edge_predictor import (
    LinkedGCN,
    LinkedGraph,
    nearest,
    new_pairs,
    reconstruction_loss,
    upper_edges,
)


@pytest.fixture
def graph() -> Graph:
    return block_model(30, num_features=6, generator=np.random.default_rng(0)).graph


def embeddings(count: int = 30) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(0))


def test_reconstruction_loss_is_the_expectation_over_all_non_edges(graph: Graph) -> None:
    rows, edges = embeddings(), upper_edges(graph)
    present = set(zip(edges.rows.tolist(), edges.columns.tolist(), strict=True))
    on, off = [], []
    for i, j in itertools.combinations(range(30), 2):
        product = float(rows[i] @ rows[j])
        if (i, j) in present:
            on.append((product - 1) ** 2)
        else:
            off.append(product**2)
    drawn = 7 * 30 / 2
    slow = 30 / (len(on) + drawn) * (sum(on) + drawn * np.mean(off))
    assert float(reconstruction_loss(rows, edges, negatives=7)) == pytest.approx(slow, rel=1e-4)


def test_nearest_finds_the_targets_with_the_largest_products() -> None:
    rows, queries, targets = embeddings(), torch.arange(10), torch.arange(10, 30)
    found, partners = nearest(rows, queries, targets, 3)
    for query in range(10):
        best = targets[(rows[targets] @ rows[query]).argsort(descending=True)[:3]]
        assert sorted(partners[found == query].tolist()) == sorted(best.tolist())


def test_nearest_takes_sparse_rows() -> None:
    words = (torch.rand(20, 40, generator=torch.Generator().manual_seed(0)) < 0.3).float()
    words = words * torch.rand(20, 40, generator=torch.Generator().manual_seed(1))  # no ties
    sparse = CSR.from_scipy(words.numpy())
    picks = (torch.arange(8), torch.arange(8, 20), 4)
    for dense, found in zip(nearest(words, *picks), nearest(sparse, *picks), strict=True):
        assert dense.tolist() == found.tolist()


def test_nearest_gives_all_targets_where_there_are_fewer() -> None:
    found, partners = nearest(embeddings(), torch.tensor([4, 5]), torch.tensor([1, 2]), 9)
    assert list(zip(found.tolist(), partners.tolist(), strict=True)) == [
        (4, 1), (4, 2), (5, 1), (5, 2)
    ]  # fmt: skip


def test_new_pairs_are_neither_edges_nor_loops_nor_repeated() -> None:
    graph = Graph.from_arrays(np.eye(4), [[0], [1]])
    pairs = new_pairs(graph, torch.tensor([1, 3, 2, 2, 0]), torch.tensor([0, 2, 3, 2, 3]))
    assert pairs.T.tolist() == [[0, 3], [2, 3], [3, 2]]


def test_links_below_the_threshold_leave_the_graph_as_it_is(graph: Graph) -> None:
    pairs = new_pairs(graph, torch.zeros(29, dtype=torch.int64), torch.arange(1, 30))
    linked = LinkedGraph.of(graph, pairs, threshold=1e6).link(embeddings())
    plain = normalised_adjacency(graph)
    torch.testing.assert_close(linked.operator.to_dense(), plain.to_dense())


@pytest.mark.parametrize("both_ways", [False, True])
def test_links_weigh_the_product_and_carry_its_gradient(graph: Graph, both_ways: bool) -> None:
    rows = embeddings().requires_grad_()
    first, second = torch.zeros(29, dtype=torch.int64), torch.arange(1, 30)
    pairs = new_pairs(graph, first, second)
    mutual = torch.full_like(pairs[0], both_ways, dtype=torch.bool)
    linked = LinkedGraph.of(graph, pairs, threshold=0.5, mutual=mutual).link(rows)
    twin = embeddings().requires_grad_()
    products = twin @ twin.T
    offered = torch.zeros(30, 30)
    offered[pairs[0], pairs[1]] = 1  # the first node receives
    if both_ways:
        offered[pairs[1], pairs[0]] = 1
    weights = graph.adjacency.to_dense() + offered * products * (products >= 0.5) + torch.eye(30)
    torch.testing.assert_close(linked.adjacency.to_dense(), weights.detach())
    scale = weights.sum(dim=1).rsqrt()
    slow = scale[:, None] * weights * scale
    torch.testing.assert_close(linked.operator.to_dense().detach(), slow.detach())
    (linked.operator.values**2).sum().backward()
    (slow**2).sum().backward()
    torch.testing.assert_close(rows.grad, twin.grad)


def test_gradients_of_the_linked_network_follow_links_that_lead_one_way(graph: Graph) -> None:
    torch.manual_seed(0)
    network = LinkedGCN(6, 4, 3, 0.0)
    pairs = new_pairs(graph, torch.zeros(29, dtype=torch.int64), torch.arange(1, 30))
    linked = LinkedGraph.of(graph, pairs, threshold=0.5).link(embeddings())
    dense, features = linked.operator.to_dense(), F.normalize(graph.features, dim=1)
    network(linked.operator, features).square().sum().backward()
    found = [value.grad.clone() for value in network.parameters()]
    network.zero_grad()
    hidden = (dense @ features @ network.first.weight + network.first.bias).relu()
    slow = dense @ hidden @ network.second.weight + network.second.bias
    slow.square().sum().backward()
    torch.testing.assert_close(found, [value.grad for value in network.parameters()])


def test_the_input_of_the_linked_network_has_no_dropout(graph: Graph) -> None:
    network, operator = LinkedGCN(6, 4, 3, 0.9).train(), normalised_adjacency(graph)
    features = F.normalize(graph.features, dim=1)
    once, again = (network.both(operator, features)[0] for _ in range(2))
    assert torch.equal(once, again)


def test_the_linked_network_equals_the_plain_one_on_plain_edges(graph: Graph) -> None:
    torch.manual_seed(0)
    plain, linked = GCNClassifier(6, 4, 3, 0.5).eval(), LinkedGCN(6, 4, 3, 0.5).eval()
    linked.load_state_dict(plain.state_dict())
    operator, features = normalised_adjacency(graph), F.normalize(graph.features, dim=1)
    torch.testing.assert_close(linked(operator, features), plain(operator, features))
