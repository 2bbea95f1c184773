"""The statement of quality: what chance gives, what it says, and that it can be stored."""

import json

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.classify.quality import (
    BeforeReview,
    Quality,
    assess_quality,
    permutation_p,
    wilson_interval,
)


def statement(probabilities: torch.Tensor, labels: torch.Tensor) -> Quality:
    return assess_quality(probabilities, probabilities, labels, generator=np.random.default_rng(0))


def test_the_permutation_test_equals_permuting() -> None:
    draws = np.random.default_rng(0)
    probabilities = draws.dirichlet(np.ones(3), 40)
    labels = draws.integers(3, size=40)
    sums = [probabilities[np.arange(40), draws.permutation(labels)].sum() for _ in range(4000)]
    slow = np.mean(sums >= probabilities[np.arange(40), labels].sum())
    assert abs(permutation_p(probabilities, labels) - slow) < 0.03


def test_the_interval_of_a_fraction_is_wilsons() -> None:
    low, high = wilson_interval(8, 10)
    assert (round(low, 3), round(high, 3)) == (0.49, 0.943)


def test_right_predictions_are_trusted() -> None:
    labels = torch.arange(120) % 3
    found = statement(0.9 * torch.eye(3).double()[labels] + 0.1 / 3, labels)
    assert found.verdict == "trust"
    assert found.chance == pytest.approx(1 / 3)
    assert not found.advice


def test_one_class_for_all_and_few_labels_are_not_trusted() -> None:
    labels = torch.arange(120) % 3
    same = statement(torch.tensor([0.5, 0.3, 0.2]).double().repeat(120, 1), labels)
    assert (same.verdict, same.one_class) == ("do not trust", True)
    few = statement(torch.eye(3).double()[labels[:6]], labels[:6])
    assert few.verdict == "do not trust"
    assert "too few" in few.sentences[0]
    assert "Label more nodes" in few.advice[-1]


def test_a_statement_survives_json() -> None:
    labels = torch.arange(120) % 3
    found = statement(0.9 * torch.eye(3).double()[labels] + 0.1 / 3, labels)
    assert Quality.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def noise_graph(seed: int) -> tuple[qg.Graph, np.ndarray]:
    draws = np.random.default_rng(seed)
    graph = qg.Graph.from_arrays(
        draws.standard_normal((300, 16)).astype(np.float32), draws.integers(300, size=(2, 900))
    )
    return graph, np.where(np.arange(300) < 240, draws.integers(3, size=300), -1)


def test_pure_noise_is_not_trusted_and_no_label_is_called_wrong() -> None:
    graph, labels = noise_graph(0)
    model = qg.get_method("s2gc")().fit(graph, labels)
    assert model.quality().verdict == "do not trust"
    table = model.suspects()
    assert not table["is_issue"].any()
    assert table.attrs["notice"].startswith("Do not trust")


def test_on_pure_noise_no_accuracy_is_claimed_and_no_prediction_is_sure() -> None:
    graph, labels = noise_graph(0)
    model = qg.get_method("s2gc")().fit(graph, labels)
    found = model.quality()
    assert found.estimated_accuracy < 0.5
    assert not any("Estimated label noise" in sentence for sentence in found.sentences)
    assert "estimated wrong labels" not in found._repr_html_()
    assert model.predict_proba().max(axis=1).mean() < 0.5
    assert all(answer is None for answer in model.predict(abstain=0.9))


@pytest.mark.parametrize(
    ("homophily", "signal", "shuffled", "verdicts"),
    [
        (0.9, 2.0, False, ["trust"]),
        (0.05, 3.5, False, ["trust", "with care"]),
        (0.9, 2.0, True, ["do not trust"]),
    ],
    ids=["clean", "heterophilous", "shuffled"],
)
def test_the_verdict_follows_the_signal(
    homophily: float, signal: float, shuffled: bool, verdicts: list[str]
) -> None:
    draws = np.random.default_rng(1)
    settings = {"num_features": 16, "homophily": homophily, "signal": signal}
    drawn = qg.block_model(300, num_classes=3, generator=draws, **settings)
    classes = draws.permutation(drawn.classes) if shuffled else drawn.classes
    labels = np.where(np.arange(300) < 200, classes, -1)
    assert qg.get_method("s2gc")().fit(drawn.graph, labels).quality().verdict in verdicts


def test_nodes_that_no_label_reaches_are_counted() -> None:
    draws = np.random.default_rng(0)
    drawn = qg.block_model(120, num_classes=3, num_features=8, generator=draws)
    rows, columns = drawn.graph.edge_index.numpy()
    kept = (rows < 100) == (columns < 100)
    graph = qg.Graph.from_arrays(
        np.asarray(drawn.graph.features), np.vstack([rows[kept], columns[kept]])
    )
    labels = np.where(np.arange(120) < 60, drawn.classes, -1)
    found = qg.get_method("s2gc")().fit(graph, labels).quality()
    assert found.unreached >= 20
    words = "whose predictions rest on own attributes alone."
    assert any(f"to {found.unreached} nodes, {words}" in sentence for sentence in found.sentences)


def test_abstaining_answers_only_where_it_is_sure() -> None:
    draws = np.random.default_rng(0)
    drawn = qg.block_model(200, num_classes=3, num_features=8, signal=0.5, generator=draws)
    labels = np.where(np.arange(200) < 100, drawn.classes, -1)
    model = qg.get_method("s2gc")().fit(drawn.graph, labels)
    answers, sure = model.predict(abstain=0.8), model.predict_proba().max(axis=1) >= 0.8
    assert [answer is not None for answer in answers] == sure.tolist()
    assert (answers[sure] == model.predict()[sure]).all()


def test_what_a_review_has_settled_is_no_longer_wrong() -> None:
    labels = torch.tensor([0, 1, 1, 0, -1, 1, 0, 1, 1, 0, 1])
    before = BeforeReview(labels, settled=1.5, expected=0.8)
    rate, (low, high) = before.today(0.4, (0.1, 0.6), count=8)
    assert (rate, low, high) == pytest.approx((2.5 / 8, 0.0, 4.5 / 8))
    rate, (low, high) = before.today(0.2, (0.1, 0.21), count=8)  # less than the posterior expects
    assert (rate, low, high) == pytest.approx((0.8 / 8, 0.0, 0.8 / 8))
