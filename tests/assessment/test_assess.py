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
        torch.rand(1)  # whoever draws from the global stream must not change the caller's

        def relearn(labels: Observed) -> Fitted:
            taught = labels.codes >= 0
            weight, bias = fit_forward_logistic(rows[taught], F.one_hot(labels.codes[taught], labels.num_classes))
            return Fitted(rows @ weight + bias, rows)

        return replace(relearn(observed), relearn=relearn)


def make(
    rate: float, *, pair: bool = False, nodes: int = 600, labelled: int = 400, seed: int = 0
) -> tuple[Data, np.ndarray]:
    """Return a graph whose labels are wrong at a rate, and the true classes."""
    draws = np.random.default_rng(seed)
    graph, true = block_model(nodes, num_classes=4, homophily=0.75, generator=draws)
    wrong = draws.random(nodes) < rate
    shift = 1 if pair else draws.integers(1, 4, nodes)
    codes = np.where(wrong, (true + shift) % 4, true)
    labels = CLASSES[codes].astype(object)
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


def test_suspects_are_wrong_labels_and_all_outputs_agree(case) -> None:
    data, true, found = case
    table, codes = found.suspects(), found.codes.numpy()
    assert table["p_wrong"].is_monotonic_decreasing
    assert len(table) == int(data.known.sum())
    flagged = table[table["is_suspect"]]
    assert (flagged["given"] != flagged["suggested"]).all()
    others = table[~table["is_suspect"]]
    assert (others["given"] == others["suggested"]).all()
    np.testing.assert_array_equal(CLASSES[found.predictions.numpy()[table["node"]]], table["suggested"])
    corrected = found.corrected()
    assert all(corrected[node] == label for node, label in zip(table["node"], table["suggested"], strict=True))
    assert all(label is None for label in corrected[codes < 0])
    assert len(flagged) < 20 or (codes != true)[flagged["node"]].mean() > 0.75
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    assert np.isnan(found.p_wrong[codes < 0]).all()


def test_the_table_of_mistakes_counts_every_label_once(case) -> None:
    _, _, found = case
    right = np.trace(found.noise.counts)
    assert found.mistakes()["expected"].sum() + right == pytest.approx((found.codes >= 0).sum())
    assert found.mistakes()["expected"].sum() == pytest.approx(found.noise.rate * int((found.codes >= 0).sum()))
    np.testing.assert_allclose(found.noise.matrix.sum(axis=1), 1)


def test_its_summary_is_json(case) -> None:
    assert json.loads(json.dumps(case[2].to_dict()))["classes"] == CLASSES.tolist()


def test_it_reads_alone_and_says_the_same_again() -> None:
    model = qg.METHODS["gcn"](epochs=20, seed=3).fit(make(0.3, nodes=200, labelled=120)[0])
    before, state = model.predict_proba(), torch.random.get_rng_state()
    weights = [value.clone() for value in model.fitted_.network.state_dict().values()]
    first, second = qg.assess(model), qg.assess(model)
    np.testing.assert_array_equal(model.predict_proba(), before)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(*pair) for pair in zip(weights, model.fitted_.network.state_dict().values(), strict=True))
    np.testing.assert_array_equal(first.posterior, second.posterior)
    assert first.to_dict() == second.to_dict()
    assert qg.assess(model, seed=9).to_dict() != first.to_dict()


def test_a_model_that_is_not_fitted_is_refused() -> None:
    with pytest.raises(Exception, match="not fitted"):
        qg.assess(Smooth())


def test_labels_at_random_are_not_trusted_and_nothing_is_flagged() -> None:
    data, _ = make(0.75)
    found = qg.assess(Smooth().fit(data))
    assert found.verdict.level == "do not trust"
    assert not found.is_suspect.any()
    assert (found.predictions == found.codes)[found.codes >= 0].all()
    assert "wrong" not in " ".join(found.verdict.reasons)


def test_verified_labels_are_certain_and_never_suspects() -> None:
    data, true = make(0.35)
    worst = qg.assess(Smooth().fit(data)).suspects()["node"].to_numpy()[:40].copy()
    codes, verified = data.codes.clone(), torch.zeros(600, dtype=torch.bool)
    codes[worst] = torch.from_numpy(true[worst])
    verified[worst] = True
    reviewed = replace(data, codes=codes, verified=verified, before=data.codes)
    found = qg.assess(Smooth().fit(reviewed))
    assert not found.suspects()["node"].isin(worst).any()
    np.testing.assert_array_equal(found.posterior[worst], np.eye(4)[true[worst]])
    assert (found.p_wrong[worst] == 0).all()
    left = (codes.numpy() != true)[data.known.numpy()].mean()
    assert found.noise.rate == pytest.approx(left, abs=0.06)
    # The matrix is of the labels before anybody chose which of them to check.
    assert 1 - np.diag(found.noise.matrix).mean() == pytest.approx(0.35, abs=0.08)


def test_labels_read_off_own_attributes_are_handled_with_care() -> None:
    draws = np.random.default_rng(0)
    graph, true = block_model(800, num_classes=4, homophily=0.6, signal=3.0, generator=draws)
    word = draws.random(800) < 0.3
    codes = np.where(word, 0, true)
    features = np.column_stack([graph.features.numpy(), 8.0 * word])
    labels = np.where(np.arange(800) < 500, codes, -1)
    found = qg.assess(Smooth().fit(Graph.from_arrays(features, graph.edge_index.numpy()), labels))
    assert found.verdict.level == "care"
    assert "attributes" in found.verdict.sentence
    assert found.noise.at_least
    right = qg.assess(Smooth().fit(graph, np.where(np.arange(800) < 500, true, -1)))
    assert not right.noise.at_least


def test_folds_rename_classes_that_a_fit_has_shifted() -> None:
    data, _ = make(0.0, nodes=200, labelled=120)
    model = Smooth().fit(data)
    honest, learn = cross_fit(model, seed=0), model.fitted_.relearn
    assert learn is not None
    shifted = replace(
        learn(model.observed_), relearn=lambda seen: replace(learn(seen), scores=learn(seen).scores.roll(1, 1))
    )
    model.fitted_ = replace(model.fitted_, relearn=shifted.relearn)
    torch.testing.assert_close(cross_fit(model, seed=0), honest)


def test_few_labels_are_answered_not_refused() -> None:
    data, _ = make(0.0, nodes=60, labelled=8)
    model = qg.METHODS["gcn"](epochs=3).fit(data)
    assert qg.assess(model).verdict.level == "do not trust"


def test_progress_is_told_after_every_fold() -> None:
    said: list[str] = []
    qg.assess(Smooth().fit(make(0.1, nodes=120, labelled=80)[0]), progress=lambda epoch: said.append(str(epoch.number)))
    assert said == list("12345")
