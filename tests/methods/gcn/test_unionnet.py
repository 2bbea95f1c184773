import numpy as np
import pytest
import torch
import torch.nn.functional as F

from quietgraph.graph import CSR, Graph, block_model
from quietgraph.methods.gcn.random_walks import walk_supports
from quietgraph.methods.gcn.unionnet import UnionNET, support_votes, weighted_cost


def test_votes_equal_their_definition() -> None:
    supports = CSR.from_scipy(np.array([[0, 1, 1, 0], [1, 0, 1, 1]]))
    hidden = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    classes = torch.eye(2)[[0, 1, 0, 1]]
    voted = torch.tensor([True, False, False, True])
    votes = support_votes(supports, hidden, voted, classes)
    for row, (node, members) in enumerate([(0, [1, 2]), (3, [0, 2, 3])]):
        similarity = F.cosine_similarity(hidden[members], hidden[node][None])
        slow = similarity.softmax(dim=0) @ classes[members]
        torch.testing.assert_close(votes[row], slow)


def test_a_label_costs_as_much_as_its_votes() -> None:
    scores = torch.randn(3, 2, generator=torch.Generator().manual_seed(0)).log_softmax(dim=1)
    votes = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    cost = weighted_cost(scores, torch.tensor([0, 1, 0]), votes)
    assert float(cost) == pytest.approx(float(-(scores[0, 0] + 0.5 * scores[1, 1]) / 3))


def test_clean_labels_get_more_votes_than_flipped_ones() -> None:
    drawn = block_model(400, num_classes=3, generator=np.random.default_rng(0))
    graph, classes = drawn.graph, torch.from_numpy(drawn.classes)
    given = classes.clone()
    given[::3] = (given[::3] + 1) % 3
    everyone = torch.ones(400, dtype=torch.bool)
    draws = torch.Generator().manual_seed(0)
    found = walk_supports(
        graph.adjacency, torch.arange(400), walks=20, length=10, size=10, generator=draws
    )
    hidden = torch.as_tensor(graph.features)
    votes = support_votes(found, hidden, everyone, F.one_hot(given, 3).float())
    weight = votes.gather(1, given[:, None]).squeeze(1)
    clean = given == classes
    assert weight[clean].mean() > weight[~clean].mean() + 0.1


def test_it_learns_where_no_labelled_node_has_neighbours() -> None:
    draws = np.random.default_rng(0)
    graph = Graph.from_arrays(draws.normal(size=(40, 5)), [[30, 31], [32, 33]])
    labels = np.full(40, -1)
    labels[:20] = np.arange(20) % 2
    model = UnionNET(epochs=4, warm_up=1).fit(graph, labels)
    assert np.isfinite(model.predict_proba()).all()
