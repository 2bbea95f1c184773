"""The transforms write what the models say, and compose with PyG's own."""

import numpy as np
import pytest
import torch
import torch_geometric.transforms as T
from torch_geometric.data import Data

from quietgraph.assessment.assess import assess
from quietgraph.errors import InvalidParameterError
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.gcn import GCN
from quietgraph.transforms import AddEmbeddings, FlagSuspects

MODEL = GCN(epochs=60, hidden=16)


def drawn(seed: int = 0) -> Data:
    graph, classes = block_model(300, num_classes=3, num_features=12, generator=np.random.default_rng(seed))
    data = graph.to_pyg()
    data.y = torch.from_numpy(classes.copy())
    data.y[:15] = (data.y[:15] + 1) % 3
    nodes = torch.arange(300)
    data.train_mask, data.val_mask = nodes < 100, (nodes >= 100) & (nodes < 160)
    return data


def test_embeddings_are_those_of_a_fit_on_the_data() -> None:
    found = T.Compose([T.NormalizeFeatures(), AddEmbeddings(MODEL)])(drawn())
    by_hand = GCN(epochs=60, hidden=16).fit(T.NormalizeFeatures()(drawn()))
    np.testing.assert_array_equal(found.embedding.numpy(), by_hand.embed())
    assert not hasattr(MODEL, "fitted_")


def test_a_fitted_model_is_applied_to_other_data() -> None:
    model, other = GCN(epochs=5).fit(drawn()), drawn(seed=1)
    found = AddEmbeddings(model, "x")(drawn(seed=1))
    assert found.x.shape == (300, 12 + 64)
    np.testing.assert_array_equal(found.x[:, 12:].numpy(), model.embed(other))
    with pytest.raises(InvalidParameterError, match="fitted on these data"):
        FlagSuspects(model)(other)


def test_suspects_are_flagged_with_suggestions_and_may_leave_the_training_set() -> None:
    data, model = drawn(), GCN(epochs=60, hidden=16).fit(drawn())
    wanted = assess(model)
    found = FlagSuspects(MODEL)(drawn())
    suspects = found.suspect_mask
    assert int(suspects.sum()) > 5
    assert suspects.tolist() == wanted.is_suspect.tolist()
    assert found.suggested_y[suspects].tolist() == wanted.corrected()[wanted.is_suspect].tolist()
    assert torch.equal(found.suggested_y[~suspects], data.y[~suspects])
    assert torch.isnan(found.p_wrong[160:]).all()
    assert torch.equal(found.train_mask, data.train_mask)
    dropped = FlagSuspects(model, drop=True)(drawn())
    assert torch.equal(dropped.train_mask, data.train_mask & ~suspects)
