"""Methods that take partitions: they still learn, and their inference in blocks is exact."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.methods import s2gc
from quietgraph.methods.base.supervised_partitions import forward_in_blocks
from quietgraph.methods.graphcl import graphcl
from quietgraph.methods.low_rank import encoder as low_rank
from quietgraph.methods.low_rank import large_features
from quietgraph.methods.sugrl import sugrl
from quietgraph.testing import small_problem

QUICK = {
    "gcl-lrr": {"epochs": 20, "warm_up": 5, "hidden": 32, "dim": 24, "prototypes": 4},
    "gcl-lr-attention": {"epochs": 20, "warm_up": 5, "hidden": 32, "dim": 24, "prototypes": 4},
    "gcn": {"epochs": 60},
    "sugrl": {"epochs": 40, "hidden": 32, "dim": 24},
    "graphcl": {"epochs": 60, "dim": 32, "feature_norm": "l2"},
}


def fit(name: str, **parameters):
    problem, labels, validation = small_problem(num_nodes=300)
    model = qg.get_method(name)(**QUICK.get(name, {}) | parameters)
    return model.fit(problem.graph, labels, validation), problem


def hits(model, problem) -> float:
    return (model.predict()[60:] == problem.classes[60:]).mean()


@pytest.mark.parametrize("name", QUICK)
def test_a_method_trained_in_partitions_learns_as_well(name: str) -> None:
    whole, problem = fit(name, partitions=1)
    several, _ = fit(name, partitions=3)
    assert not np.array_equal(whole.scores_, several.scores_)
    assert hits(several, problem) > hits(whole, problem) - 0.1
    again, _ = fit(name, partitions=3)
    np.testing.assert_array_equal(several.scores_, again.scores_)


@pytest.mark.parametrize("name", QUICK)
def test_one_partition_is_the_whole_graph(name: str) -> None:
    np.testing.assert_array_equal(fit(name)[0].scores_, fit(name, partitions=1)[0].scores_)


@pytest.mark.parametrize("name", ["gcl-lrr", "gcl-lr-attention"])
@pytest.mark.parametrize("changes", [{}, {"smoothing": 3}, {"smoothing": 0}, {"centre": False}])
def test_classifying_in_blocks_changes_nothing(name: str, changes, monkeypatch) -> None:
    whole, problem = fit(name, **changes)
    monkeypatch.setattr(large_features, "LARGE", 0)
    monkeypatch.setattr(low_rank, "WHOLE_UP_TO", 0)
    monkeypatch.setattr("quietgraph.embed.scale.node_rows.BLOCK", 64)
    blocks, _ = fit(name, **changes)
    # Sums in another order round differently, and the ridge solution magnifies that.
    torch.testing.assert_close(blocks.scores_, whole.scores_, atol=1e-2, rtol=1e-2)
    again = blocks.predict_proba(problem.graph)
    np.testing.assert_allclose(again, blocks.predict_proba(), atol=1e-4)
    assert blocks.state_.keys() == whole.state_.keys()


def test_a_gcn_in_blocks_gives_the_scores_of_the_whole_graph() -> None:
    model, problem = fit("gcn", partitions=3)
    scores = torch.from_numpy(model.predict_proba(problem.graph))  # by the usual way
    torch.testing.assert_close(
        scores, torch.from_numpy(model.predict_proba()), atol=1e-5, rtol=1e-4
    )
    module = model._module(problem.graph.num_features, 3)
    module.load_state_dict({k: v for k, v in model.state_.items() if k != "num_features"})
    embeddings, again = forward_in_blocks(module, problem.graph, feature_norm=model.feature_norm)
    torch.testing.assert_close(again, model.scores_)
    torch.testing.assert_close(embeddings, torch.from_numpy(model.embeddings_))


@pytest.mark.parametrize(("name", "module"), [("sugrl", sugrl), ("graphcl", graphcl)])
def test_embeddings_in_blocks_are_those_of_the_whole_graph(name, module, monkeypatch) -> None:
    model, problem = fit(name)
    monkeypatch.setattr(module, "WHOLE_UP_TO", 0)
    np.testing.assert_allclose(model.embed(problem.graph), model.embeddings_, atol=1e-5)


def test_s2gc_in_narrow_blocks_of_columns_changes_nothing(monkeypatch) -> None:
    whole, _ = fit("s2gc")
    monkeypatch.setattr(s2gc, "_ENTRIES", 300 * 5)
    narrow, _ = fit("s2gc")
    np.testing.assert_allclose(narrow.embeddings_, whole.embeddings_, atol=1e-6)


def test_partitions_chosen_by_size_leave_the_key_of_the_embeddings_alone() -> None:
    plain = qg.get_method("gcl-lrr")()
    assert "partitions" not in plain.first_stage_parameters()
    assert plain.set_params(partitions=4).first_stage_parameters()["partitions"] == 4


def test_training_in_partitions_takes_as_many_steps_as_on_the_whole_graph() -> None:
    problem, labels, validation = small_problem()
    model = qg.get_method("gcl-lrr")(epochs=10, warm_up=6, hidden=8, dim=8, partitions=4)
    model.fit(problem.graph, labels, validation)
    assert len(model.history_) == 3  # of four steps each
    # Warm-up counts steps too: the seventh one, in the second epoch, is the first with prototypes.
    assert ["prototypes" in record for record in model.history_] == [False, True, True]
