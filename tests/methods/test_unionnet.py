import numpy as np
import pytest
import scipy.sparse
import torch
import torch.nn.functional as F

from quietgraph.graph import CSR, Graph
from quietgraph.methods.base import Observed
from quietgraph.methods.supervised import keep_largest, known_or_predicted
from quietgraph.methods.unionnet import UnionNET, count_visits, support_votes


def observed_of(codes: list[int], verified: torch.Tensor | None = None) -> Observed:
    labels = torch.tensor(codes)
    return Observed(labels, labels >= 0, torch.zeros_like(labels, dtype=torch.bool), 2, verified=verified)


def visits(graph: Graph, starts: list[int], *, length: int = 4) -> np.ndarray:
    draws = torch.Generator().manual_seed(0)
    return count_visits(graph.adjacency, torch.tensor(starts), walks=200, length=length, draws=draws).toarray()


def path(num_nodes: int, weights: list[float] | None = None) -> Graph:
    return Graph.from_arrays(np.eye(num_nodes), [range(num_nodes - 1), range(1, num_nodes)], weights=weights)


def test_walks_reach_other_nodes_no_further_than_their_length() -> None:
    found = visits(path(8), [0, 4], length=2) > 0
    assert [np.flatnonzero(row).tolist() for row in found] == [[1, 2], [2, 3, 5, 6]]


def test_steps_follow_heavy_edges_more_often() -> None:
    left, _, right = visits(path(3, weights=[9.0, 1.0]), [1], length=1)[0]
    assert 0.8 < left / 200 < 0.97
    assert left + right == 200


@pytest.mark.parametrize("edges", [[[0, 1], [1, 2]], np.empty((2, 0), dtype=int)])
def test_a_node_without_edges_visits_nobody(edges: object) -> None:
    assert visits(Graph.from_arrays(np.eye(4), edges), [3, 0])[0].sum() == 0


def test_the_largest_entries_of_a_row_stay_and_of_equal_ones_the_first() -> None:
    matrix = scipy.sparse.csr_matrix([[3.0, 1, 2, 0], [0, 0, 0, 0], [1, 1, 1, 1]])
    assert keep_largest(matrix, 2).toarray().tolist() == [[3, 0, 2, 0], [0, 0, 0, 0], [1, 1, 0, 0]]


def test_known_labels_stand_and_unknown_ones_are_predicted() -> None:
    scores = torch.tensor([[0.0, 1.0], [3.0, 0.0], [0.0, 2.0]])
    assert known_or_predicted(observed_of([0, -1, -1]), scores).argmax(dim=1).tolist() == [0, 0, 1]


def test_votes_equal_their_definition() -> None:
    supports = CSR.from_scipy(np.array([[0, 1, 1, 0], [1, 0, 1, 1]]))
    hidden = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
    classes = torch.eye(2)[[0, 1, 0, 1]]
    votes = support_votes(supports, hidden, classes, observed_of([0, -1, -1, 1]))
    for row, (node, members) in enumerate([(0, [1, 2]), (3, [0, 2, 3])]):
        similarity = F.cosine_similarity(hidden[members], hidden[node][None])
        torch.testing.assert_close(votes[row], similarity.softmax(dim=0) @ classes[members])


def test_a_label_without_support_or_confirmed_votes_for_itself() -> None:
    supports = CSR.from_scipy(np.array([[0, 0, 0], [1, 0, 1]]))
    observed = observed_of([0, 1, -1], verified=torch.tensor([False, True, False]))
    classes = torch.eye(2)[[0, 1, 0]]
    assert torch.equal(support_votes(supports, torch.ones(3, 2), classes, observed), torch.eye(2))


def test_it_learns_where_no_labelled_node_has_neighbours() -> None:
    graph = Graph.from_arrays(np.random.default_rng(0).normal(size=(40, 5)), [[30, 31], [32, 33]])
    labels = np.where(np.arange(40) < 20, np.arange(40) % 2, -1)
    assert np.isfinite(UnionNET(epochs=4, warm_up=1).fit(graph, labels).predict_proba()).all()
