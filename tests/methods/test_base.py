"""What `fit` hands to a method, what it refuses, and what it answers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone, is_classifier

from quietgraph.embed.train import DivergedError, Epoch
from quietgraph.errors import InvalidGraphError, InvalidLabelsError, InvalidParameterError, NotInductiveError
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.gcn import GCN
from quietgraph.methods.low_rank.gcl import GCLLRR
from quietgraph.testing import small_data
from quietgraph.types import UNKNOWN

DATA = small_data()
LABELS = np.where(np.arange(40) < 27, DATA.codes.numpy(), UNKNOWN)


@dataclass(kw_only=True, eq=False, repr=False)
class Looks(NodeClassifier):
    """Keeps what it is handed."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        scores = torch.rand(graph.num_nodes, observed.num_classes)
        return Fitted(scores, scores, notes={"known": float((observed.codes != UNKNOWN).sum())})


def test_a_method_sees_labels_of_training_and_validation_alone() -> None:
    observed = Looks().fit(DATA).observed_
    assert torch.equal(observed.codes == UNKNOWN, DATA.split.test)
    assert torch.equal(observed.train, DATA.split.train)
    assert torch.equal(observed.validation, DATA.split.validation)


def test_without_validation_nodes_a_stratified_fifth_is_held_out() -> None:
    observed = Looks().fit(DATA.graph, LABELS).observed_
    assert int(observed.validation.sum()) == 6
    assert set(observed.codes[observed.validation].tolist()) == {0, 1, 2}
    assert torch.equal(observed.train ^ observed.validation, torch.from_numpy(LABELS >= 0))


def test_classes_that_are_not_seen_have_no_column() -> None:
    data = replace(DATA, codes=torch.where((DATA.codes == 1) & ~DATA.split.test, UNKNOWN, DATA.codes))
    model = Looks().fit(data)
    assert model.classes_.tolist() == ["blue", "red"]
    assert model.predict_proba().shape == (40, 2)
    assert set(model.observed_.codes.tolist()) == {UNKNOWN, 0, 1}


def test_folds_without_validation_nodes_hold_some_out() -> None:
    observed = Looks().fit(DATA).observed_
    fewer = observed.without(observed.validation)
    assert bool(fewer.validation.any())
    assert bool(fewer.train.any())
    assert not bool((fewer.train & fewer.validation).any())
    assert not bool((fewer.codes[observed.validation] != UNKNOWN).any())
    assert torch.equal(observed.without(torch.arange(40) == 0).validation, observed.validation)


@pytest.mark.parametrize("count", [10, 200_000])
def test_the_cost_of_labels_decides_ties_alone(count: int) -> None:
    every = torch.ones(count, dtype=torch.bool)
    observed = Observed(torch.zeros(count, dtype=torch.int64), ~every, every, 2)
    sure = torch.tensor([[9.0, 0.0]]).repeat(count, 1)
    unsure, one_wrong = sure / 90, sure.clone()
    one_wrong[0] = torch.tensor([0.0, 0.1])
    assert observed.score(sure) > observed.score(unsure) > observed.score(one_wrong)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"labels": np.where(LABELS == 0, 0, -1)}, InvalidLabelsError),
        ({"labels": LABELS[:-1]}, InvalidLabelsError),
        ({"labels": LABELS, "validation": LABELS >= 0}, InvalidLabelsError),
        ({"labels": LABELS, "validation": [0, 99]}, InvalidLabelsError),
        ({"labels": LABELS, "sample_weight": np.zeros(40)}, InvalidLabelsError),
        ({"labels": LABELS, "sample_weight": np.full(40, np.nan)}, InvalidLabelsError),
        ({"labels": LABELS, "sample_weight": np.ones(39)}, InvalidLabelsError),
    ],
)
def test_input_that_does_not_fit_is_refused(arguments: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        GCN(epochs=1).fit(DATA.graph, **arguments)


@pytest.mark.parametrize(
    "settings",
    [{"epochs": 0}, {"epochs": 1.5}, {"dropout": 1.0}, {"feature_norm": "l3"}, {"device": "moon"}, {"seed": -1}],
)
def test_parameters_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(settings))):
        GCN(**{"epochs": 1, **settings}).fit(DATA)


def test_a_fit_that_diverges_changes_nothing() -> None:
    model = GCN(epochs=3, hidden=4).fit(DATA.graph, LABELS)
    before, names = model.predict_proba(), model.classes_
    model.set_params(learning_rate=1e38)
    with pytest.raises((DivergedError, InvalidGraphError)):
        model.fit(DATA.graph, np.where(LABELS < 0, None, LABELS + 5))
    np.testing.assert_array_equal(model.predict_proba(), before)
    assert model.classes_ is names


def test_numbers_that_are_not_finite_are_refused() -> None:
    @dataclass(kw_only=True, eq=False, repr=False)
    class Broken(Looks):
        def _fit(self, graph: Graph, observed: Observed) -> Fitted:
            fitted = super()._fit(graph, observed)
            fitted.embeddings[3] = torch.nan
            return fitted

    with pytest.raises(InvalidGraphError, match="not finite"):
        Broken().fit(DATA)


def test_verified_labels_are_predicted_as_verified() -> None:
    verified = torch.arange(40) < 5
    model = Looks().fit(replace(DATA, verified=verified))
    assert (model.predict()[:5] == DATA.classes[DATA.codes[:5]]).all()
    assert (model.predict_proba()[:5].max(axis=1) == 1).all()


def test_other_graphs_must_have_the_features_of_fit() -> None:
    model = GCN(epochs=1, hidden=4).fit(DATA)
    narrow = Graph.from_arrays(np.ones((3, 4)), [[0, 1]])
    with pytest.raises(InvalidGraphError, match="the 9 features of fit, got 4"):
        model.predict(narrow)
    with pytest.raises(NotInductiveError, match="Looks"):
        Looks().fit(DATA).predict(DATA.graph)
    assert model.predict(Graph.from_arrays(np.ones((3, 9)), [[0, 1]])).shape == (3,)


def test_every_epoch_is_told() -> None:
    told: list[Epoch] = []
    GCLLRR(epochs=3, hidden=4, dim=4, encoder="gcn").fit(DATA, on_epoch=told.append)
    assert [(one.number, one.total, one.what) for one in told] == [(n, 3, "learning embeddings") for n in (1, 2, 3)]


def test_it_is_an_estimator_of_scikit_learn() -> None:
    model = GCN(hidden=4, epochs=2)
    assert is_classifier(model)
    assert repr(model) == "GCN(epochs=2, hidden=4)"
    assert clone(model).get_params() == model.get_params()
    public = {name for name in dir(model.fit(DATA)) if not name.startswith("_")}
    assert len(public) < 40


def test_score_counts_nodes_with_a_known_label() -> None:
    model, labels = GCN(epochs=20).fit(DATA), DATA.labels
    labels[::3] = UNKNOWN
    known = labels != UNKNOWN
    assert model.score(DATA.graph, labels) == pytest.approx((model.predict() == labels)[known].mean())
