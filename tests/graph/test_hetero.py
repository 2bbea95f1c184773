"""Heterogeneous data are folded as by hand; directions and weights are not lost unsaid."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data, HeteroData

import quietgraph as qg


def papers() -> HeteroData:
    """Three papers: 0 and 1 share author 0, 1 cites 2; author 1 wrote paper 2 alone."""
    data = HeteroData()
    data["paper"].x = torch.eye(3)
    data["paper"].y = torch.tensor([0, 0, 1])
    data["author"].x = torch.tensor([[2.0], [4.0]])
    data["paper", "by", "author"].edge_index = torch.tensor([[0, 1, 2], [0, 0, 1]])
    data["author", "wrote", "paper"].edge_index = torch.tensor([[0, 0, 1], [0, 1, 2]])
    data["paper", "cites", "paper"].edge_index = torch.tensor([[1], [2]])
    return data


def test_papers_are_joined_by_citations_and_common_authors() -> None:
    graph = qg.Graph.from_pyg(papers(), target="paper")
    adjacency = graph.adjacency.to_scipy().toarray()
    expected = np.array([[0, 0.5, 0], [0.5, 0, 1], [0, 1, 0]])  # an author of two counts half
    np.testing.assert_allclose(adjacency, expected)
    features = np.hstack([np.eye(3), [[2], [2], [4]]])
    np.testing.assert_allclose(np.asarray(graph.features), features)
    assert any("common 'author'" in note for note in graph.notes)
    assert not qg.Graph.from_pyg(papers(), weighted=False).is_weighted


def test_a_relation_and_its_reverse_count_once() -> None:
    data = papers()
    del data["author", "wrote", "paper"]
    once = qg.Graph.from_pyg(data)
    assert once.fingerprint == qg.Graph.from_pyg(papers()).fingerprint


def test_the_target_is_the_type_with_labels_or_is_asked_for() -> None:
    data = papers()
    data["author"].y = torch.tensor([0, 1])
    with pytest.raises(qg.InvalidGraphError, match="target="):
        qg.Graph.from_pyg(data)
    assert qg.Graph.from_pyg(data, target="author").num_nodes == 2
    with pytest.raises(qg.InvalidGraphError, match="paper, author"):
        qg.Graph.from_pyg(data, target="venue")


def test_a_method_fits_heterogeneous_data_and_reads_no_label_outside_the_masks() -> None:
    draws = np.random.default_rng(0)
    classes = torch.from_numpy(draws.integers(2, size=80))
    data = HeteroData()
    seeded = torch.Generator().manual_seed(0)
    data["paper"].x = torch.randn(80, 4, generator=seeded)
    data["paper"].y = classes.clone()
    data["paper"].train_mask = torch.arange(80) < 40
    data["author"].x = (
        torch.arange(20)[:, None] % 2 * 2.0 + torch.randn(20, 3, generator=seeded) / 4
    )
    authors = torch.from_numpy(draws.integers(10, size=80)) * 2 + classes
    data["paper", "by", "author"].edge_index = torch.stack([torch.arange(80), authors])
    first = qg.GCN(epochs=40).fit(data)
    assert (first.predict() == classes.numpy())[40:].mean() > 0.8
    data["paper"].y[40:] = 1 - data["paper"].y[40:]
    second = qg.GCN(epochs=40).fit(data)
    np.testing.assert_array_equal(first.predict_proba(), second.predict_proba())


def chain(**values) -> Data:
    return Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1], [1, 2]]), **values)


def test_directions_are_named_or_become_features() -> None:
    assert qg.Graph.from_pyg(chain()).notes == ("directions of 2 one-way edges are not used",)
    both = chain()
    both.edge_index = torch.cat([both.edge_index, both.edge_index.flip(0)], dim=1)
    assert not any("direction" in note for note in qg.Graph.from_pyg(both).notes)
    graph = qg.Graph.from_pyg(chain(), direction="features")
    assert "became features" in graph.notes[0]
    came_from = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    goes_to = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(
        np.asarray(graph.features), np.hstack([np.eye(3), came_from, goes_to])
    )
    with pytest.raises(qg.InvalidParameterError, match="ignore, features"):
        qg.Graph.from_pyg(chain(), direction="keep")
    directed = nx.DiGraph([(0, 1), (1, 2)])
    assert "one-way" in qg.Graph.from_networkx(directed, np.eye(3)).notes[0]
    assert qg.Graph.from_networkx(directed.to_undirected(), np.eye(3)).notes == ()


def test_edge_attributes_are_weights_or_named_as_unused() -> None:
    weights = torch.tensor([2.0, 3.0])
    graph = qg.Graph.from_pyg(chain(edge_attr=weights[:, None]))
    assert graph.is_weighted
    assert "edge_attr taken as edge weights" in graph.notes
    assert not qg.Graph.from_pyg(chain(edge_weight=weights), weighted=False).is_weighted
    wide = qg.Graph.from_pyg(chain(edge_attr=torch.ones(2, 3)))
    assert "edge_attr has 3 numbers per edge and is not used" in wide.notes
