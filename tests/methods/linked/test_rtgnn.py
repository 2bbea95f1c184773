import numpy as np
import pytest
import torch

from quietgraph.data.observation import observe
from quietgraph.graph import block_model
from quietgraph.methods.base.task import make_task
from quietgraph.methods.linked import rtgnn
from quietgraph.methods.linked.edge_predictor import LinkedGraph, new_pairs
from quietgraph.methods.linked.rtgnn import RTGNN, _Trainer, incoming_weights


def test_the_clean_set_is_cleaner_than_the_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = block_model(300, num_classes=3, signal=2.0, generator=np.random.default_rng(0))
    draws = np.random.default_rng(1)
    wrong = draws.random(300) < 0.4
    given = np.where(wrong, (drawn.classes + draws.integers(1, 3, 300)) % 3, drawn.classes)
    labels = np.where(np.arange(300) < 150, given, -1)
    validation = np.arange(300) % 3 == 0
    kinds, govern = [], rtgnn.select_labels
    monkeypatch.setattr(
        rtgnn, "select_labels", lambda *a, **k: kinds.append(govern(*a, **k)) or kinds[-1]
    )
    model = RTGNN(epochs=100, hidden=32, candidates=20, learning_rate=0.01)
    model.fit(drawn.graph, labels, validation)
    trained = (labels >= 0) & ~validation
    clean = kinds[-1].clean.numpy()
    precision = 1 - wrong[trained][clean].mean()
    assert precision > 1 - 0.4 + 0.1


def test_incoming_weights_sum_to_one_for_the_wanted_nodes() -> None:
    graph = block_model(20, num_features=4, generator=np.random.default_rng(0)).graph
    pairs = new_pairs(graph, torch.zeros(19, dtype=torch.int64), torch.arange(1, 20))
    rows = torch.randn(20, 3, generator=torch.Generator().manual_seed(0))
    linked = LinkedGraph.of(graph, pairs, 0.05).link(rows)
    wanted = torch.arange(20) < 5
    weights = incoming_weights(linked, wanted).to_dense()
    torch.testing.assert_close(weights.sum(dim=1), wanted.float())
    assert not weights.diagonal().any()


@pytest.mark.parametrize("published", [False, True])
def test_an_unlabelled_node_receives_from_the_labelled_nodes_that_list_it(published: bool) -> None:
    drawn = block_model(120, num_classes=3, generator=np.random.default_rng(0))
    task = make_task(observe(drawn.graph, np.where(np.arange(120) < 30, drawn.classes, -1)), 0)[0]
    method = RTGNN(candidates=2, links_to_labelled=published)
    pairs = _Trainer(method, task).graph.pairs
    senders = pairs.columns.long()
    assert bool((task.train[pairs.rows] != task.train[senders]).all())
    assert bool(task.train[pairs.rows].any()) == published
    # Two of each sender, less those that are edges already.
    assert int(torch.bincount(senders).max()) == 2


def test_one_labelled_node_per_class_is_enough() -> None:
    drawn = block_model(60, num_classes=3, generator=np.random.default_rng(0))
    labels = np.full(60, -1)
    for code in range(3):
        labels[np.flatnonzero(drawn.classes == code)[:2]] = code
    assert np.isfinite(RTGNN(epochs=3).fit(drawn.graph, labels).predict_proba()).all()
