"""`assess` from outside: for any method, one posterior, and honest words."""

import json
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import quietgraph as qg
from quietgraph.assessment.folds import cross_fit
from quietgraph.classify.forward_logistic import fit_forward_logistic
from quietgraph.classify.smoothing import smooth_rows
from quietgraph.data.data import Data, as_data
from quietgraph.graph import Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.methods.base import Fitted, NodeClassifier, Observed

CLASSES = np.array(["ash", "elm", "fir", "oak"])


@final
@dataclass(kw_only=True, eq=False, repr=False)
class Smooth(NodeClassifier):
    """Logistic regression on smoothed features: quick, and with a label-free stage."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        rows = smooth_rows(graph, F.normalize(graph.features, dim=1))

        def relearn(labels: Observed) -> Fitted:
            taught = labels.codes >= 0
            weight, bias = fit_forward_logistic(rows[taught], F.one_hot(labels.codes[taught], labels.num_classes))
            return Fitted(rows @ weight + bias, rows)

        return replace(relearn(observed), relearn=relearn)


def make(rate: float, *, pair: bool = False, nodes: int = 500, labelled: int = 350) -> tuple[Data, np.ndarray]:
    """Return a graph whose labels are wrong at a rate, and the true classes."""
    draws = np.random.default_rng(0)
    graph, true = block_model(nodes, num_classes=4, homophily=0.75, generator=draws)
    shift = np.where(draws.random(nodes) < rate, 1 if pair else draws.integers(1, 4, nodes), 0)
    labels = CLASSES[(true + shift) % 4].astype(object)
    labels[draws.permutation(nodes)[labelled:]] = None
    return as_data(graph, labels), true


@pytest.fixture(scope="module", params=[(0.0, False), (0.35, False), (0.35, True)], ids=["clean", "symmetric", "pair"])
def case(request: pytest.FixtureRequest) -> tuple[qg.Data, np.ndarray, object]:
    rate, pair = request.param
    data, true = make(rate, pair=pair)
    return data, true, qg.assess(Smooth().fit(data))


def test_rate_and_accuracy_are_about_right(case) -> None:
    data, true, found = case
    known = data.known.numpy()
    wrong = (data.codes.numpy() != true)[known].mean()
    assert found.noise.rate == pytest.approx(wrong, abs=0.06)
    assert found.noise.low <= wrong <= found.noise.high
    right = (found.predictions.numpy() == true)[~known].mean()
    assert found.accuracy.value == pytest.approx(right, abs=0.08)
    assert found.verdict.level == "trust"
    assert json.loads(json.dumps(found.to_dict()))["noise"]["rate"] == found.noise.rate


def test_suspects_are_wrong_labels_and_all_outputs_agree(case) -> None:
    data, true, found = case
    table, codes = found.suspects(), found.codes.numpy()
    assert table["p_wrong"].is_monotonic_decreasing
    assert len(table) == int(data.known.sum())
    assert (table["is_suspect"] == (table["given"] != table["suggested"])).all()
    np.testing.assert_array_equal(CLASSES[found.predictions.numpy()[table["node"]]], table["suggested"])
    corrected = found.corrected()
    assert corrected[table["node"]].tolist() == table["suggested"].tolist()
    assert all(label is None for label in corrected[codes < 0])
    flagged = table["node"][table["is_suspect"]]
    assert len(flagged) < 20 or (codes != true)[flagged].mean() > 0.75
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    assert np.isnan(found.p_wrong[codes < 0]).all()


def test_the_table_of_mistakes_counts_every_label_once(case) -> None:
    _, _, found = case
    labels, mistakes = int((found.codes >= 0).sum()), found.mistakes()["expected"].sum()
    assert mistakes + np.trace(found.noise.counts) == pytest.approx(labels)
    assert mistakes == pytest.approx(found.noise.rate * labels)
    np.testing.assert_allclose(found.noise.matrix.sum(axis=1), 1)


def test_it_reads_alone_and_says_the_same_again() -> None:
    model = qg.METHODS["gcn"](epochs=15, seed=3).fit(make(0.3, nodes=150, labelled=90)[0])
    before, state, said = model.predict_proba(), torch.random.get_rng_state(), list[int]()
    weights = [value.clone() for value in model.fitted_.network.state_dict().values()]
    first, second = qg.assess(model, progress=lambda epoch: said.append(epoch.number)), qg.assess(model)
    assert said == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(model.predict_proba(), before)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(*pair) for pair in zip(weights, model.fitted_.network.state_dict().values(), strict=True))
    np.testing.assert_array_equal(first.posterior, second.posterior)
    assert first.to_dict() == second.to_dict()
    assert qg.assess(model, seed=9).to_dict() != first.to_dict()


def test_labels_at_random_are_not_trusted_and_nothing_is_flagged() -> None:
    found = qg.assess(Smooth().fit(make(0.75, nodes=600, labelled=400)[0]))
    assert found.verdict.level == "do not trust"
    assert not found.is_suspect.any()
    assert (found.predictions == found.codes)[found.codes >= 0].all()
    assert "wrong" not in " ".join(found.verdict.reasons)


def test_verified_labels_are_certain_and_never_suspects() -> None:
    data, true = make(0.35)
    worst = qg.assess(Smooth().fit(data)).suspects()["node"].to_numpy()[:40].copy()
    codes, verified = data.codes.clone(), torch.zeros_like(data.known)
    codes[worst], verified[worst] = torch.from_numpy(true[worst]), True
    found = qg.assess(Smooth().fit(replace(data, codes=codes, verified=verified, before=data.codes)))
    assert not found.suspects()["node"].isin(worst).any()
    np.testing.assert_array_equal(found.posterior[worst], np.eye(4)[true[worst]])
    assert (found.p_wrong[worst] == 0).all()
    left = (codes.numpy() != true)[data.known.numpy()].mean()
    assert found.noise.rate == pytest.approx(left, abs=0.06)
    # The matrix is of the labels before anybody chose which of them to check.
    assert 1 - np.diag(found.noise.matrix).mean() == pytest.approx(0.35, abs=0.08)


def test_labels_read_off_own_attributes_are_handled_with_care() -> None:
    draws = np.random.default_rng(0)
    graph, true = block_model(600, num_classes=4, homophily=0.6, signal=3.0, generator=draws)
    word, known = draws.random(600) < 0.3, np.arange(600) < 400
    features = np.column_stack([graph.features.numpy(), 8.0 * word])
    labels = np.where(known, np.where(word, 0, true), -1)
    found = qg.assess(Smooth().fit(Graph.from_arrays(features, graph.edge_index.numpy()), labels))
    assert found.verdict.level == "care"
    assert "attributes" in found.verdict.sentence
    assert found.noise.at_least
    assert not qg.assess(Smooth().fit(graph, np.where(known, true, -1))).noise.at_least


def test_folds_rename_classes_that_a_fit_has_shifted() -> None:
    model = Smooth().fit(make(0.0, nodes=200, labelled=120)[0])
    honest, learn = cross_fit(model, seed=0), model.fitted_.relearn
    model.fitted_ = replace(
        model.fitted_, relearn=lambda seen: replace(learn(seen), scores=learn(seen).scores.roll(1, 1))
    )
    torch.testing.assert_close(cross_fit(model, seed=0), honest)


def test_few_labels_are_answered_and_a_model_that_is_not_fitted_is_refused() -> None:
    model = qg.METHODS["gcn"](epochs=3).fit(make(0.0, nodes=60, labelled=8)[0])
    assert qg.assess(model).verdict.level == "do not trust"
    with pytest.raises(Exception, match="not fitted"):
        qg.assess(Smooth())


def test_a_loaded_model_has_no_graph_to_assess(tmp_path) -> None:
    qg.GCN(epochs=2).fit(qg.testing.small_data()).save(tmp_path / "model")
    with pytest.raises(qg.QuietgraphError, match="holds no graph"):
        qg.assess(qg.load_model(tmp_path / "model"))
