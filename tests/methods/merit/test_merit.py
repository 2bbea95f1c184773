"""MERIT's networks, views and losses on tiny graphs."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import Schedule, View, normalised_adjacency, train
from quietgraph.graph import Graph, block_model
from quietgraph.methods.merit.merit import MERIT
from quietgraph.methods.merit.neighbourhood import ALL, edge_view
from quietgraph.methods.merit.siamese import Siamese, recognition

SMALL = {"dim": 8, "hidden": 8, "epochs": 3}


@pytest.fixture
def graph() -> Graph:
    return block_model(60, num_features=6, generator=np.random.default_rng(0)).graph


@pytest.fixture
def siamese(graph: Graph) -> Siamese:
    torch.manual_seed(0)
    return Siamese(graph, MERIT(**SMALL), seed=0)


def take_steps(siamese: Siamese, count: int) -> None:
    train(
        siamese.network,
        lambda _: {"loss": siamese.loss(siamese.forward(siamese.draw_nodes()))},
        Schedule(count, 1e-2),
        after_step=siamese.follow,
    )


def recognition_slow(anchors: Tensor, others: Tensor, temperature: float) -> Tensor:
    costs = []
    for i, row in enumerate(anchors):
        logits = torch.stack([F.cosine_similarity(row, other, dim=0) for other in others])
        costs.append(-(logits / temperature).log_softmax(0)[i])
    return torch.stack(costs).mean()


def merit_loss_slow(first: Tensor, second: Tensor, far: tuple[Tensor, Tensor]) -> Tensor:
    """Half weight on views (negatives of both views), half on networks; temperature 1."""
    costs = []
    for here, there, target in ((first, second, far[1]), (second, first, far[0])):
        for i, row in enumerate(here):
            across = torch.stack([F.cosine_similarity(row, other, dim=0) for other in there])
            inside = torch.stack([F.cosine_similarity(row, other, dim=0) for other in here])
            others = torch.arange(len(here)) != i
            views = torch.cat([across, inside[others]]).logsumexp(0) - across[i]
            network = torch.stack([F.cosine_similarity(row, other, dim=0) for other in target])
            costs.append(0.5 * views + 0.5 * (network.logsumexp(0) - network[i]))
    return torch.stack(costs).mean()


def test_recognition_equals_its_definition() -> None:
    anchors, others = torch.randn(2, 5, 3)
    found = recognition(anchors, others, temperature=0.7)
    torch.testing.assert_close(found, recognition_slow(anchors, others, 0.7))


def test_the_loss_equals_its_definition(siamese: Siamese) -> None:
    nodes = torch.arange(7)
    passed = siamese.forward(nodes)
    wanted = merit_loss_slow(*passed.predictions, passed.target_projections)
    torch.testing.assert_close(siamese.loss(passed), wanted)


def test_the_target_never_receives_gradients(siamese: Siamese) -> None:
    siamese.loss(siamese.forward(ALL)).backward()
    network = siamese.network
    targets = (network.target_encoder, network.target_projector)
    assert all(each.grad is None for part in targets for each in part.parameters())
    online = (network.encoder, network.projector, network.predictor)
    assert all(each.grad is not None for part in online for each in part.parameters())


def test_the_target_moves_by_its_momentum(siamese: Siamese) -> None:
    before = copy.deepcopy(siamese.network.target_encoder.weight)
    with torch.no_grad():
        siamese.network.encoder.weight.add_(1)
    siamese.follow()
    torch.testing.assert_close(siamese.network.target_encoder.weight, before + 0.2)


def test_the_target_starts_as_a_copy_and_follows_in_training(siamese: Siamese) -> None:
    network = siamese.network
    assert torch.equal(network.encoder.weight, network.target_encoder.weight)
    before = network.target_encoder.weight.clone()
    take_steps(siamese, 2)
    assert not torch.equal(network.target_encoder.weight, before)
    assert not torch.equal(network.target_encoder.weight, network.encoder.weight)


def test_training_lowers_the_loss(siamese: Siamese) -> None:
    def cost() -> float:
        with torch.no_grad():
            return float(torch.stack([siamese.loss(siamese.forward(ALL)) for _ in range(5)]).mean())

    before = cost()
    take_steps(siamese, 40)
    siamese.network.train()
    assert cost() < before


def test_some_nodes_see_what_they_see_among_all(graph: Graph) -> None:
    view = View(normalised_adjacency(graph), torch.tensor([1.0, 0, 1, 1, 0, 1]))
    weight, nodes = torch.randn(6, 4), torch.tensor([7, 3, 50])
    some = edge_view(graph.features, view, nodes)(weight)
    everyone = edge_view(graph.features, view, ALL)(weight)
    dense = view.operator.to_dense() @ (graph.features * view.feature_mask) @ weight
    torch.testing.assert_close(everyone, dense)
    torch.testing.assert_close(some, dense[nodes])


def test_sparse_and_dense_features_give_the_same_view() -> None:
    words = (np.random.default_rng(0).random((30, 80)) < 0.05).astype(np.float32)
    edges = np.random.default_rng(1).integers(30, size=(2, 50))
    graph = Graph.from_arrays(words, edges)
    weight, view = torch.randn(80, 4), View(normalised_adjacency(graph))
    sparse = edge_view(graph.features, view, torch.tensor([2, 9]))(weight)
    dense = edge_view(torch.from_numpy(words), view, torch.tensor([2, 9]))(weight)
    torch.testing.assert_close(sparse, dense)


def test_a_step_holds_the_wanted_nodes_first_and_no_node_twice(graph: Graph) -> None:
    siamese = Siamese(graph, MERIT(**SMALL, sample=20), seed=0)
    always = torch.tensor([4, 40, 8])
    nodes = siamese.draw_nodes(always)
    assert isinstance(nodes, Tensor)
    assert nodes[:3].tolist() == always.tolist()
    assert len(nodes) == len(nodes.unique()) == 23
    assert len(siamese.draw_nodes()) == 20


def test_the_first_stage_sees_no_label(graph: Graph) -> None:
    labels = np.arange(60) % 3
    first = MERIT(**SMALL).fit(graph, labels)
    second = MERIT(**SMALL, classifier="ridge").fit(graph, (labels + 1) % 3)
    np.testing.assert_array_equal(first.embeddings_, second.embeddings_)
