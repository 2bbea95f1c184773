"""`quiet` in blocks of rows, from a sample of nodes and in partitions, beside the whole graph."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.classify import smoothing
from quietgraph.embed.scale import node_sample
from quietgraph.methods.base.assessment import asked_nodes
from quietgraph.methods.base.cache import share_first_stage
from quietgraph.methods.low_rank import classifier_rows, contrast, encoder, large_features
from quietgraph.methods.quiet import features, node_features
from quietgraph.methods.quiet.features import base_rows, prepare_features
from quietgraph.methods.quiet.node_features import NodeFeatures


@pytest.fixture
def blocks(monkeypatch: pytest.MonkeyPatch):
    """Return what lets every graph be worked on as a large one, learning from so many nodes."""

    def work_in_blocks(sample: int) -> None:
        for module in (smoothing, encoder):
            monkeypatch.setattr(module, "WHOLE_UP_TO", 0)
        monkeypatch.setattr(large_features, "LARGE", 0)
        monkeypatch.setattr("quietgraph.embed.scale.node_rows.BLOCK", 64)
        monkeypatch.setattr("quietgraph.embed.scale.hops._MOST_COLUMNS", 16)
        monkeypatch.setattr(smoothing, "_LARGE_COLUMNS", 10_000)
        monkeypatch.setattr(node_sample, "MOST_NODES", sample)
        monkeypatch.setattr(features, "_WHOLE_UP_TO", 0)

    return work_in_blocks


def drawn(sparse: bool = False):
    draws = np.random.default_rng(0)
    found = qg.block_model(
        400, num_classes=3, num_features=80 if sparse else 20, signal=1.0, generator=draws
    )
    graph = found.graph
    if sparse:
        kept = draws.random((400, 80)) < 0.1
        graph = qg.Graph.from_arrays(np.abs(graph.features.numpy()) * kept, graph.edge_index)
    labels = np.where(draws.random(400) < 0.4, found.classes, -1)
    wrong = (labels >= 0) & (draws.random(400) < 0.2)
    labels[wrong] = (labels[wrong] + 1) % 3
    return graph, labels, found.classes


@pytest.mark.parametrize("sparse", [False, True])
def test_blocks_give_the_answers_of_the_whole_graph(blocks, sparse: bool) -> None:
    graph, labels, _ = drawn(sparse)
    whole = qg.Quiet(epochs=5).fit(graph, labels)
    blocks(10_000)
    again = qg.Quiet(epochs=5).fit(drawn(sparse)[0], labels)
    np.testing.assert_array_equal(again.predict(), whole.predict())
    torch.testing.assert_close(again.scores_, whole.scores_, atol=1e-4, rtol=1e-4)
    assert again.notes_.keys() == whole.notes_.keys()
    assert sparse or any("perceptron" in name for name in whole.notes_)
    pairs = zip(again.suspects().iloc[:20].node, whole.suspects().iloc[:20].node, strict=True)
    assert sum(one == other for one, other in pairs) >= 18


def test_a_sample_of_the_nodes_is_enough_to_learn_from(blocks) -> None:
    graph, labels, classes = drawn()
    whole = qg.Quiet(epochs=5).fit(graph, labels)
    blocks(100)
    again = qg.Quiet(epochs=5).fit(drawn()[0], labels)
    hits = [float((model.predict() == classes).mean()) for model in (whole, again)]
    assert hits[1] > hits[0] - 0.03
    assert len(again.suspects()) == (labels >= 0).sum()
    np.testing.assert_allclose(again.predict_proba(graph), again.predict_proba(), atol=1e-4)


@pytest.mark.parametrize("method", ["quiet", "gcl-lrr", "gcl-lr-attention"])
def test_folds_of_a_large_graph_score_labelled_and_drawn_nodes_alone(
    blocks, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    graph, labels, _ = drawn()
    blocks(10_000)
    monkeypatch.setattr("quietgraph.methods.low_rank.attribute_branch.WHOLE_UP_TO", 0)
    monkeypatch.setattr(node_features, "sample_nodes", lambda size, *_, **__: torch.arange(size))
    monkeypatch.setattr(features, "sample_nodes", lambda size, *_, **__: torch.arange(size))
    every = qg.get_method(method)(epochs=5).fit(graph, labels)
    every.quality()
    monkeypatch.setattr(node_sample, "MOST_NODES", 100)
    some = qg.get_method(method)(epochs=5).fit(drawn()[0], labels)
    learner, sizes = some._fold_learner(), []

    def fold(task):
        scores = learner(task)
        sizes.append(len(scores))
        return scores

    monkeypatch.setattr(type(some), "_fold_learner", lambda _: fold)
    some.quality()
    known = labels >= 0
    assert sizes == [len(asked_nodes(some.task_))] * 5
    assert known.sum() < sizes[0] < 400
    assert not some.out_of_fold_[~known].any()
    # Margins of a sample scale the scores a little otherwise; their order stays but for near ties.
    np.testing.assert_allclose(some.out_of_fold_, every.out_of_fold_, atol=0.05)
    same = some.out_of_fold_.argmax(axis=1) == every.out_of_fold_.argmax(axis=1)
    top = np.sort(every.out_of_fold_, axis=1)
    assert same[known & (top[:, -1] - top[:, -2] > 0.02)].all()


def test_candidates_of_a_large_graph_learn_from_labelled_and_drawn_nodes(
    blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, labels, _ = drawn()
    blocks(100)
    model = qg.Quiet(epochs=2).fit(graph, labels)
    base = base_rows(torch.from_numpy(model.embeddings_), graph, model.state_)
    made = NodeFeatures(base, graph, model.state_)
    rows, task = made.to_learn_from(model.task_)
    known = model.task_.train | model.task_.validation
    assert int((task.train | task.validation).sum()) == int(known.sum())
    assert len(task.labels) == len(rows["wide"]) < int(known.sum()) + 100
    assert torch.equal(task.labels, model.task_.labels[rows.nodes])
    assert torch.equal(rows["own"], made.rows(slice(None))["own"][rows.nodes])
    assert rows.random_views().shape[1:] == rows["propagated"].shape
    monkeypatch.setattr(node_features, "_MOST_LABELS", 30)
    fewer = made.to_learn_from(model.task_)[1]
    assert 30 <= int((fewer.train | fewer.validation).sum()) < int(known.sum())


def test_a_model_of_a_small_graph_answers_for_a_large_one_and_the_reverse(
    blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, labels, _ = drawn(sparse=True)
    small = qg.Quiet(epochs=5).fit(graph, labels)
    monkeypatch.undo()
    blocks(100)
    monkeypatch.setattr(smoothing, "_LARGE_COLUMNS", 30)  # attributes are projected
    again = drawn(sparse=True)[0]
    np.testing.assert_allclose(small.predict_proba(again), small.predict_proba(), atol=1e-3)
    large = qg.Quiet(epochs=5).fit(again, labels)
    assert len(large.state_["own_mean"]) == 30
    monkeypatch.undo()
    same = large.predict_proba(drawn(sparse=True)[0])
    np.testing.assert_allclose(same, large.predict_proba(), atol=1e-3)


def test_quiet_trains_in_partitions() -> None:
    graph, labels, classes = drawn()
    whole, several = (qg.Quiet(epochs=12, partitions=count).fit(graph, labels) for count in (1, 3))
    assert not np.array_equal(whole.embeddings_, several.embeddings_)
    hits = [float((model.predict() == classes).mean()) for model in (whole, several)]
    assert hits[1] > hits[0] - 0.05
    assert "partitions" not in qg.Quiet().first_stage_parameters()
    assert several.first_stage_parameters()["partitions"] == 3


def test_statistics_are_those_of_a_sample(blocks) -> None:
    graph = drawn()[0]
    embeddings = torch.randn(400, 8, generator=torch.Generator().manual_seed(0))
    whole = prepare_features(embeddings, graph, 0)[0]
    blocks(10_000)
    every = prepare_features(embeddings, drawn()[0], 0)[0]
    for name, value in whole.items():
        torch.testing.assert_close(every[name], value, atol=1e-4, rtol=1e-4)
    blocks(300)
    some = prepare_features(embeddings, drawn()[0], 0)[0]
    torch.testing.assert_close(some["own_mean"], whole["own_mean"], atol=0.05, rtol=0.1)
    assert not torch.equal(some["own_mean"], whole["own_mean"])


@pytest.mark.parametrize("method", ["quiet", "gcl-lr-attention"])
def test_folds_in_a_shared_block_go_on_from_the_rows_of_the_fit(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    graph, labels, _ = drawn()
    alone = qg.get_method(method)(epochs=5).fit(graph, labels)
    made = []

    def count(*given, **named):
        made.append(1)
        return classifier_rows.classifier_rows(*given, **named)

    for module in (contrast, features):
        monkeypatch.setattr(module, "classifier_rows", count)
    with share_first_stage():
        model = qg.get_method(method)(epochs=5).fit(drawn()[0], labels)
        other = qg.get_method("gcn")(epochs=2).fit(graph, labels)  # has no first stage
        model.quality()
        assert len(made) == 1
        assert other.quality().sentences
        again = qg.get_method(method)(epochs=3).fit(drawn()[0], labels)
        model.out_of_fold_ = None
        model.quality()  # the kept stage is that of another fit
        assert len(made) == 3
        assert again.quality().sentences
    np.testing.assert_array_equal(model.suspects(), alone.suspects())
