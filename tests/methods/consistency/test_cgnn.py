import numpy as np
import torch

from quietgraph.graph import Graph, block_model
from quietgraph.methods.consistency.cgnn import CGNN, cleaned_labels


def star(leaves: int = 5) -> Graph:
    return Graph.from_arrays(np.ones((leaves + 1, 1)), [[0] * leaves, range(1, leaves + 1)])


def labels_of(*codes: int) -> torch.Tensor:
    return torch.tensor(codes)


def cleaned(graph: Graph, labels: torch.Tensor, scores: torch.Tensor) -> list[int]:
    near = graph.adjacency.take_rows((labels >= 0).nonzero().squeeze(1))
    return cleaned_labels(labels, scores, near, above=0.8).tolist()


def test_like_minded_neighbours_outvote_a_label() -> None:
    scores = torch.tensor([[0.0, 5.0]]).repeat(6, 1)
    assert cleaned(star(), labels_of(0, -1, -1, -1, -1, -1), scores) == [1]


def test_neighbours_that_differ_from_the_node_change_nothing() -> None:
    scores = torch.tensor([[0.0, 5.0]]).repeat(6, 1)
    scores[0] = torch.tensor([5.0, 0.0])
    assert cleaned(star(), labels_of(0, -1, -1, -1, -1, -1), scores) == [0]


def test_a_label_that_shares_the_lead_stays() -> None:
    scores = torch.tensor([[0.0, 0.1]]).repeat(3, 1)
    assert cleaned(star(2), labels_of(1, 0, -1), scores)[0] == 1


def test_labelled_neighbours_vote_with_their_labels() -> None:
    scores = torch.tensor([[0.0, 0.1]]).repeat(4, 1)
    assert cleaned(star(3), labels_of(1, 0, 0, 0), scores)[0] == 0


def test_a_node_without_neighbours_keeps_its_label() -> None:
    graph = Graph.from_arrays(np.ones((2, 1)), np.empty((2, 0), dtype=int))
    assert cleaned(graph, labels_of(0, -1), torch.tensor([[0.0, 5.0]]).repeat(2, 1)) == [0]


def test_most_changed_labels_become_right() -> None:
    draws = np.random.default_rng(0)
    drawn = block_model(400, num_classes=3, homophily=0.9, generator=draws)
    wrong = draws.random(400) < 0.4
    noisy = np.where(wrong, (drawn.classes + draws.integers(1, 3, 400)) % 3, drawn.classes)
    labels = np.where(np.arange(400) < 120, noisy, -1)
    model = CGNN(epochs=40, clean_from=20, anchors=200).fit(drawn.graph, labels)
    task = model.task_
    near = drawn.graph.adjacency.take_rows(task.train.nonzero().squeeze(1))
    found = cleaned_labels(task.train_labels, model.scores_, near, above=0.8)
    changed = (found != task.labels[task.train]).numpy()
    right = found.numpy() == drawn.classes[task.train.numpy()]
    assert changed.sum() >= 10
    assert right[changed].mean() > 0.6
