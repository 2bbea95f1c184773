"""The transforms write what the models say, and compose with PyG's own."""

import numpy as np
import pytest
import torch
import torch_geometric.transforms as T

import quietgraph as qg
from quietgraph.testing import small_problem
from quietgraph.transforms import AddEmbeddings, FlagSuspects

MODEL = qg.GCN(epochs=60, hidden=16)


def data():
    problem, _, validation = small_problem()
    drawn = problem.graph.to_pyg()
    drawn.y = torch.from_numpy(problem.classes.copy())
    drawn.train_mask = torch.arange(120) < 30
    drawn.val_mask = torch.from_numpy(validation)
    return drawn


def test_embeddings_of_a_model_that_is_not_fitted_are_those_of_a_fit_on_the_data() -> None:
    found = T.Compose([T.NormalizeFeatures(), AddEmbeddings(MODEL)])(data())
    by_hand = qg.GCN(epochs=60, hidden=16).fit(T.NormalizeFeatures()(data()))
    np.testing.assert_array_equal(found.embedding.numpy(), by_hand.embeddings_)
    assert not hasattr(MODEL, "scores_")


def test_a_fitted_model_is_applied_to_other_data() -> None:
    model = qg.GCN(epochs=5).fit(data())
    other = small_problem(seed=1, num_nodes=150)[0].graph
    found = AddEmbeddings(model, "x")(other.to_pyg())
    assert found.x.shape == (150, 12 + 64)
    np.testing.assert_array_equal(found.x[:, 12:].numpy(), model.embed(other))
    with pytest.raises(qg.InvalidParameterError, match="fitted on this data"):
        FlagSuspects(model)(other.to_pyg())


def larger():
    drawn = qg.block_model(300, num_classes=3, generator=np.random.default_rng(0))
    given = drawn.graph.to_pyg()
    given.y = torch.from_numpy(drawn.classes.copy())
    given.y[:15] = (given.y[:15] + 1) % 3
    nodes = torch.arange(300)
    given.train_mask, given.val_mask = nodes < 100, (nodes >= 100) & (nodes < 160)
    return given


def test_suspects_are_flagged_with_suggestions_and_may_leave_the_training_set() -> None:
    given = larger()
    model = qg.S2GC().fit(given)
    table = model.suspects()
    found = FlagSuspects(qg.S2GC())(larger())
    issues = table[table["is_issue"]]
    assert len(issues) > 5
    assert sorted(issues["node"]) == found.suspect_mask.nonzero().squeeze(1).tolist()
    assert found.suggested_y[list(issues["node"])].tolist() == list(issues["suggested"])
    assert torch.equal(found.suggested_y[~found.suspect_mask], found.y[~found.suspect_mask])
    assert torch.isnan(found.p_wrong[160:]).all()
    assert torch.equal(found.train_mask, given.train_mask)
    dropped = FlagSuspects(model, drop=True)(larger())
    assert not (dropped.train_mask & dropped.suspect_mask).any()
