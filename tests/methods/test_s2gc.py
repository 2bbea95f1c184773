import numpy as np
import pytest
import torch

from quietgraph.embed import normalised_adjacency
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.methods.s2gc import S2GC, low_pass


@pytest.fixture
def graph() -> Graph:
    return block_model(60, num_features=7, generator=np.random.default_rng(0)).graph


def test_low_pass_equals_its_definition(graph: Graph) -> None:
    dense = normalised_adjacency(graph).to_dense()
    features = torch.as_tensor(graph.features)
    power, slow = features, 0.2 * features
    for _ in range(5):
        power = dense @ power
        slow = slow + 0.8 / 5 * power
    torch.testing.assert_close(low_pass(graph, graph.features, steps=5, self_weight=0.2), slow)


def test_sparse_features_give_the_same_in_blocks_of_columns(graph: Graph) -> None:
    words = (torch.rand(60, 1100, generator=torch.Generator().manual_seed(0)) < 0.02).float()
    sparse = CSR.from_scipy(words.numpy())
    fast = low_pass(graph, sparse, steps=3, self_weight=0.1)
    torch.testing.assert_close(fast, low_pass(graph, words, steps=3, self_weight=0.1))


def test_weight_decay_is_chosen_on_validation_when_it_is_left_open(graph: Graph) -> None:
    labels = np.arange(60) % 3
    chosen = S2GC(weight_decay=None, epochs=5).fit(graph, labels)
    assert chosen.notes_["weight_decay"] in {1e-6, 1e-5, 1e-4, 1e-3}
    assert S2GC(weight_decay=0.5, epochs=2).fit(graph, labels).notes_ == {"weight_decay": 0.5}


@pytest.mark.parametrize("hidden", [0, 8])
def test_it_answers_for_the_graph_it_knows_as_in_fit(graph: Graph, hidden: int) -> None:
    model = S2GC(epochs=5, hidden=hidden, dropout=0.5).fit(graph, np.arange(60) % 3)
    np.testing.assert_allclose(model.predict_proba(graph), model.predict_proba(), atol=1e-5)
