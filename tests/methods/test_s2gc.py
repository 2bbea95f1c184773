import numpy as np
import pytest
import torch

from quietgraph.embed.operator import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.s2gc import S2GC, low_pass


@pytest.fixture
def graph() -> Graph:
    return block_model(60, num_features=7, generator=np.random.default_rng(0)).graph


def test_low_pass_equals_its_definition(graph: Graph) -> None:
    dense, power = normalised_adjacency(graph).to_dense(), graph.features
    slow = 0.2 * power
    for _ in range(5):
        power = dense @ power
        slow = slow + 0.8 / 5 * power
    torch.testing.assert_close(low_pass(graph, norm="none", steps=5, self_weight=0.2), slow)


def test_sparse_features_give_the_same_in_blocks_of_columns(graph: Graph) -> None:
    words = (torch.rand(60, 1100, generator=torch.Generator().manual_seed(0)) < 0.02).float()
    sparse = Graph.from_arrays(words.numpy(), graph.edge_index)
    assert not isinstance(sparse.features, torch.Tensor)
    found = low_pass(sparse, norm="none", steps=3, self_weight=0.1)
    torch.testing.assert_close(found, low_pass(graph.with_features(words), norm="none", steps=3, self_weight=0.1))


def test_weight_decay_is_chosen_by_validation_when_it_is_left_open(graph: Graph) -> None:
    labels = np.arange(60) % 3
    chosen = S2GC(weight_decay=None, epochs=5).fit(graph, labels)
    decays = [1e-6, 1e-5, 1e-4, 1e-3]
    assert chosen.fitted_.notes["weight_decay"] in decays
    best = max(record["score"] for record in chosen.fitted_.history)
    assert chosen.observed_.score(chosen.fitted_.scores) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("hidden", [0, 8])
def test_it_answers_for_the_graph_of_fit_as_in_fit(graph: Graph, hidden: int) -> None:
    fitted = S2GC(epochs=5, hidden=hidden, dropout=0.5).fit(graph, np.arange(60) % 3).fitted_
    with torch.no_grad():
        torch.testing.assert_close(fitted.network(graph), (fitted.scores, fitted.embeddings))


def test_a_label_of_weight_zero_does_not_count(graph: Graph) -> None:
    labels, weights = np.arange(60) % 3, np.ones(60)
    weights[5], validation = 0, np.arange(60) >= 40
    other = np.where(np.arange(60) == 5, 0, labels)
    found = [S2GC().fit(graph, given, validation, sample_weight=weights).fitted_.scores for given in (labels, other)]
    assert torch.equal(*found)
