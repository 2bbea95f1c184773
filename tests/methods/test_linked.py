import itertools

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.graph import CSR, Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import Observed
from quietgraph.methods.linked.links import (
    LinkedGCN,
    LinkedGraph,
    nearest,
    new_pairs,
    reconstruction_loss,
    upper_edges,
)
from quietgraph.methods.linked.nrgnn import NRGNN, Miner
from quietgraph.methods.linked.rtgnn import (
    RTGNN,
    judge_labels,
    label_costs,
    neighbour_divergence,
)

NONE = torch.zeros(40, dtype=torch.bool)


@pytest.fixture
def graph() -> Graph:
    return block_model(30, num_features=6, generator=np.random.default_rng(0)).graph


def rows_of(count: int = 30, seed: int = 0, width: int = 5) -> torch.Tensor:
    return torch.randn(count, width, generator=torch.Generator().manual_seed(seed))


def problem() -> tuple[Graph, Observed, np.ndarray]:
    drawn = block_model(200, num_classes=3, signal=2.0, generator=np.random.default_rng(0))
    codes = torch.from_numpy(np.where(np.arange(200) < 40, drawn.classes, -1))
    chosen = torch.arange(200) % 4 == 0
    return drawn.graph, Observed(codes, (codes >= 0) & ~chosen, (codes >= 0) & chosen, 3), drawn.classes


def test_reconstruction_loss_is_the_expectation_over_all_non_edges(graph: Graph) -> None:
    rows, edges = rows_of(), upper_edges(graph)
    present = set(zip(edges.rows.tolist(), edges.columns.tolist(), strict=True))
    products = {pair: float(rows[pair[0]] @ rows[pair[1]]) for pair in itertools.combinations(range(30), 2)}
    on = [(product - 1) ** 2 for pair, product in products.items() if pair in present]
    off = [product**2 for pair, product in products.items() if pair not in present]
    drawn = 7 * 30 / 2
    slow = 30 / (len(on) + drawn) * (sum(on) + drawn * np.mean(off))
    assert float(reconstruction_loss(rows, edges, negatives=7)) == pytest.approx(slow, rel=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
def test_nearest_finds_the_targets_with_the_largest_products(sparse: bool) -> None:
    rows, queries, targets = rows_of(), torch.arange(10), torch.arange(10, 30)
    found, partners = nearest(CSR.from_scipy(rows.numpy()) if sparse else rows, queries, targets, 3)
    for query in range(10):
        best = targets[(rows[targets] @ rows[query]).argsort(descending=True)[:3]]
        assert sorted(partners[found == query].tolist()) == sorted(best.tolist())


def test_new_pairs_are_neither_edges_nor_loops_nor_repeated() -> None:
    graph = Graph.from_arrays(np.eye(4), [[0], [1]])
    pairs = new_pairs(graph, torch.tensor([1, 3, 2, 2, 0, 0]), torch.tensor([0, 2, 3, 2, 3, 3]))
    assert pairs.T.tolist() == [[0, 3], [2, 3], [3, 2]]


@pytest.mark.parametrize("both_ways", [False, True])
def test_links_weigh_the_product_and_carry_its_gradient(graph: Graph, both_ways: bool) -> None:
    rows, twin = rows_of().requires_grad_(), rows_of().requires_grad_()
    pairs = new_pairs(graph, torch.zeros(29, dtype=torch.int64), torch.arange(1, 30))
    ways = (pairs[:, :0], pairs) if both_ways else (pairs, pairs[:, :0])
    operator, adjacency = LinkedGraph.of(graph, *ways, threshold=0.5).link(rows)
    products, offered = twin @ twin.T, torch.zeros(30, 30)
    offered[pairs[0], pairs[1]] = 1  # the first node receives
    offered = torch.maximum(offered, offered.T) if both_ways else offered
    weights = graph.adjacency.to_dense() + offered * products * (products >= 0.5) + torch.eye(30)
    torch.testing.assert_close(adjacency.to_dense(), weights.detach())
    scale = weights.sum(dim=1).rsqrt()
    slow = scale[:, None] * weights * scale
    torch.testing.assert_close(operator.to_dense().detach(), slow.detach())
    (operator.values**2).sum().backward()
    (slow**2).sum().backward()
    torch.testing.assert_close(rows.grad, twin.grad)


def test_gradients_of_the_linked_network_follow_links_that_lead_one_way(graph: Graph) -> None:
    network = LinkedGCN(6, 4, 3, dropout=0.0)
    pairs = new_pairs(graph, torch.zeros(29, dtype=torch.int64), torch.arange(1, 30))
    operator, _ = LinkedGraph.of(graph, pairs, pairs[:, :0], threshold=0.5).link(rows_of())
    dense, features = operator.to_dense(), F.normalize(graph.features, dim=1)
    hidden = (dense @ features @ network.first.weight + network.first.bias).relu()
    slow = dense @ hidden @ network.second.weight + network.second.bias
    found = [
        torch.autograd.grad(scores.square().sum(), network.parameters())
        for scores in (network(operator, features)[0], slow)
    ]
    torch.testing.assert_close(*found)


@pytest.mark.parametrize("method", [NRGNN(epochs=30, learning_rate=0.01), RTGNN(epochs=30, hidden=16)])
def test_the_answer_is_that_of_the_best_epoch(method: NRGNN | RTGNN) -> None:
    graph, observed, classes = problem()
    fitted = method.learn(graph, observed)
    assert observed.score(fitted.scores) == max(record["score"] for record in fitted.history)
    assert (fitted.scores.argmax(dim=1).numpy() == classes)[40:].mean() > 0.55


def test_no_confident_node_costs_nothing() -> None:
    graph, observed, _ = problem()
    fitted = NRGNN(epochs=5, confidence_threshold=1.0).learn(graph, observed)
    assert fitted.notes["confident_nodes"] == 0
    assert all(record["confident"] == 0 for record in fitted.history)


@pytest.mark.parametrize("count", [0, 4])
def test_candidates_join_a_labelled_node_and_are_no_edges(count: int) -> None:
    graph, observed, _ = problem()
    offered = torch.zeros(200, 200, dtype=torch.bool)
    offered[tuple(Miner(NRGNN(candidates=count), graph, observed).candidates)] = True
    wanted = (observed.train[None, :] | observed.train[:, None]) & (graph.adjacency.to_dense() == 0)
    wanted = wanted.triu(diagonal=1)
    assert torch.equal(offered, wanted) if count == 0 else not (offered & ~wanted).any()


def test_better_predictions_are_mined_worse_ones_and_repeated_ones_change_nothing() -> None:
    graph, observed, classes = problem()
    miner = Miner(NRGNN(), graph, observed)
    miner.link(rows_of(200))
    right = 5 * F.one_hot(torch.from_numpy(classes), 3).float()
    miner.see(right)
    assert torch.equal(miner.confident, ~observed.train)
    linked = miner.linked
    for scores in (right, -right):
        miner.see(scores)
        assert miner.linked is linked
        assert torch.equal(miner.confident, ~observed.train)


def test_judged_labels_are_clean_corrected_or_uncertain() -> None:
    first, second = 3 * rows_of(40, 0, 4), 3 * rows_of(40, 0, 4) + 0.3 * rows_of(40, 1, 4)
    labels = torch.randint(4, (40,), generator=torch.Generator().manual_seed(2))
    assert judge_labels(first, second, labels, certain=NONE, progress=0.0)[0].all()
    assert judge_labels(first, second, labels, certain=~NONE, progress=1.0)[0].all()
    clean, corrected, trust = judge_labels(first, second, labels, certain=NONE, progress=0.8)
    costs = label_costs(first, second, labels)
    assert int(clean.sum()) == max(24, int((costs < costs.mean()).sum()))
    assert costs[clean].max() <= costs[~clean].min()
    p, r = first.softmax(dim=1), second.softmax(dim=1)
    for i in range(40):
        both = float(p[i].max() * r[i].max())
        mends = p[i].argmax() == r[i].argmax() != labels[i] and both > 1 - 0.75 * 0.8 and not clean[i]
        assert float(trust[i]) == pytest.approx(both**0.1 if mends else 0)
        assert not mends or corrected[i] == p[i].argmax()


def test_neighbour_divergence_sums_over_single_edges() -> None:
    scores, twin = rows_of(5).requires_grad_(), rows_of(5).requires_grad_()
    weights = torch.rand(5, 5, generator=torch.Generator().manual_seed(3))
    total, slow = neighbour_divergence(CSR.from_scipy(weights.numpy()), scores), torch.zeros(())
    logs = twin.log_softmax(dim=1)
    for i, j in itertools.product(range(5), repeat=2):
        fixed = logs[j].detach()
        slow = slow + weights[i, j] * (fixed.exp() * (fixed - logs[i])).sum()
    torch.testing.assert_close(total, slow)
    torch.testing.assert_close(torch.autograd.grad(total, scores), torch.autograd.grad(slow, twin))
