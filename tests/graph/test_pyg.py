"""PyG graphs as ours: what becomes of directions, weights and types of nodes."""

import time

import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

from quietgraph.errors import InvalidGraphError
from quietgraph.graph import CSR, Graph


def chain(**attributes: object) -> Data:
    return Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), **attributes)


def test_a_graph_survives_the_way_to_pyg_and_back(problem) -> None:
    assert Graph.from_pyg(problem.graph.to_pyg()).fingerprint == problem.graph.fingerprint


def test_one_way_edges_are_counted() -> None:
    assert Graph.from_pyg(chain()).notes[0] == "the direction of 2 one-way edges is ignored"
    both = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert not any("one-way" in note for note in Graph.from_pyg(both).notes)


def test_edge_attributes_are_weights_or_named_as_unused() -> None:
    graph = Graph.from_pyg(chain(edge_attr=torch.tensor([[2.0], [3.0]])))
    assert graph.is_weighted
    assert "edge_attr taken as edge weights" in graph.notes
    assert "edge_attr has 3 numbers per edge and is not used" in Graph.from_pyg(chain(edge_attr=torch.ones(2, 3))).notes


@pytest.mark.parametrize("data", [Data(x=torch.eye(2)), 7, {"x": 1}])
def test_other_things_are_one_sentence(data: object) -> None:
    with pytest.raises(InvalidGraphError, match="without x and edge_index"):
        Graph.from_pyg(data)


def papers(count: int, authors: int, links: int) -> HeteroData:
    draws = np.random.default_rng(0)
    data = HeteroData()
    data["paper"].x = torch.arange(count, dtype=torch.float32)[:, None] + 1
    data["paper"].y = torch.zeros(count, dtype=torch.int64)
    data["author"].x = torch.tensor(draws.random((authors, 2)), dtype=torch.float32)
    written = np.unique(np.stack([draws.integers(0, authors, links), draws.integers(0, count, links)]), axis=1)
    data["author", "writes", "paper"].edge_index = torch.tensor(written)
    data["paper", "written by", "author"].edge_index = torch.tensor(written[::-1].copy())
    data["paper", "cites", "paper"].edge_index = torch.tensor([[0, 1], [1, 2]])
    return data


def test_papers_are_joined_by_authors_as_defined() -> None:
    data = papers(12, 5, 20)
    graph = Graph.from_pyg(data)
    author, paper = data["author", "writes", "paper"].edge_index.numpy()
    member = np.zeros((12, 5))
    member[paper, author] = 1
    expected = member @ np.diag(1 / np.maximum(1, member.sum(axis=0))) @ member.T
    np.fill_diagonal(expected, 0)
    cited = np.zeros((12, 12))
    cited[[0, 1], [1, 2]] = cited[[1, 2], [0, 1]] = 1
    np.testing.assert_allclose(graph.adjacency.to_dense(), expected + cited, rtol=1e-6)
    mean = member @ data["author"].x.numpy() / np.maximum(1, member.sum(axis=1))[:, None]
    features = graph.features.to_dense() if isinstance(graph.features, CSR) else graph.features
    np.testing.assert_allclose(features, np.hstack([data["paper"].x, mean]), rtol=1e-6)
    assert sum("joined by common 'author'" in note for note in graph.notes) == 1  # not again by the reverse


def test_a_hub_of_many_papers_takes_no_square_of_them() -> None:
    data = papers(30_000, 2, 60_000)  # each of two authors wrote a third of all
    started = time.process_time()
    graph = Graph.from_pyg(data)
    assert graph.num_edges < 30_000 * 21
    assert time.process_time() - started < 5


def test_the_labelled_type_must_be_clear() -> None:
    data = papers(4, 2, 4)
    data["author"].y = torch.zeros(2)
    with pytest.raises(InvalidGraphError, match="y for one node type"):
        Graph.from_pyg(data)
