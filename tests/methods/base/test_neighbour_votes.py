import numpy as np
import torch

from quietgraph.graph import Graph
from quietgraph.methods.base.neighbour_votes import known_or_predicted, neighbour_votes


def test_votes_are_the_weighted_counts_of_neighbour_classes() -> None:
    edges = np.array([[0, 0, 1, 2], [1, 2, 2, 3]])
    graph = Graph.from_arrays(np.eye(5), edges, weights=[1.0, 2.0, 1.0, 4.0])
    classes = torch.tensor([0, 1, 1, 0, 2])
    votes = neighbour_votes(graph.adjacency, torch.eye(3)[classes])
    slow = torch.zeros(5, 3)
    for source, target, weight in zip(*edges, [1.0, 2.0, 1.0, 4.0], strict=True):
        slow[source, classes[target]] += weight
        slow[target, classes[source]] += weight
    torch.testing.assert_close(votes, slow)


def test_a_node_without_neighbours_gets_no_vote() -> None:
    graph = Graph.from_arrays(np.eye(3), [[0], [1]])
    assert neighbour_votes(graph.adjacency, torch.eye(3))[2].tolist() == [0, 0, 0]


def test_known_labels_stand_and_unknown_ones_are_predicted() -> None:
    scores = torch.tensor([[0.0, 1.0], [3.0, 0.0], [0.0, 2.0]], requires_grad=True)
    found = known_or_predicted(torch.tensor([0, -1, -1]), scores)
    assert found.argmax(dim=1).tolist() == [0, 0, 1]
    assert not found.requires_grad
