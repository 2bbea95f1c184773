"""Consensus of annotators, on plain arrays and through `fit`."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import softmax

import quietgraph as qg
from quietgraph.annotators.consensus import Consensus, find_consensus, run_em, shrunk_matrices
from quietgraph.annotators.quality import annotator_table, disagreement_table
from quietgraph.data.annotations import Annotations
from quietgraph.data.data import Data, as_data
from quietgraph.graph.synthetic import block_model
from quietgraph.types import IntArray

SKILLS = (0.9, 0.75, 0.6, 0.25)  # the last one answers at random


def crowd(*, nodes: int = 400) -> tuple[Data, IntArray]:
    """Return a graph of which most nodes have answers of several annotators, and the true classes."""
    draws = np.random.default_rng(0)
    graph, true = block_model(nodes, num_classes=4, homophily=0.75, generator=draws)
    asked = np.repeat(np.arange(nodes - 100), 3)
    who = np.argsort(draws.random((nodes - 100, len(SKILLS))), axis=1)[:, :3].ravel()
    right = draws.random(len(asked)) < np.array(SKILLS)[who]
    codes = np.where(right, true[asked], (true[asked] + draws.integers(1, 4, len(asked))) % 4)
    given = Annotations(("ada", "bob", "cyd", "dan"), np.array(list("klmn")), nodes, asked, who, codes)
    labels = np.append(given.classes, "")[given.majority().numpy()]
    data = as_data(graph, [label or None for label in labels])
    return replace(data, annotations=given), true


def right_of(codes: torch.Tensor, data: Data, true: IntArray) -> float:
    asked = data.annotations.answered.numpy()
    return float((codes.numpy() == true)[asked].mean())


@pytest.fixture(scope="module")
def case() -> tuple[Data, IntArray, Consensus]:
    data, true = crowd()
    return data, true, find_consensus(data, seed=0)


@pytest.mark.filterwarnings("ignore")  # of crowd-kit
def test_the_consensus_beats_majority_vote_glad_and_dawid_skene(case) -> None:
    aggregation = pytest.importorskip("crowdkit.aggregation")
    (data, true, ours), classes = case, case[0].annotations.classes.tolist()
    table = data.annotations.to_frame(np.arange(400)).rename(columns={"node": "task", "annotator": "worker"})
    rivals = (aggregation.MajorityVote(), aggregation.DawidSkene(n_iter=20), aggregation.GLAD(n_iter=1, silent=True))
    for rival in rivals:
        theirs = np.mean([classes.index(label) == true[int(node)] for node, label in rival.fit_predict(table).items()])
        assert right_of(ours.codes, data, true) >= theirs + 0.03


def test_probabilities_are_calibrated_and_matrices_near_the_truth(case) -> None:
    data, true, found = case
    asked = data.annotations.answered.numpy()
    assert found.probabilities[asked].max(axis=1).mean() == pytest.approx(right_of(found.codes, data, true), abs=0.03)
    np.testing.assert_allclose(found.matrices.diagonal(axis1=1, axis2=2).mean(axis=1), SKILLS, atol=0.1)
    assert (found.codes[~asked] == -1).all()
    assert (found.weights[~asked] == 1).all()


def test_verified_labels_are_certain(case) -> None:
    (data, true, _), truly = case, np.arange(50)
    codes, verified = data.codes.clone(), torch.zeros_like(data.known)
    codes[truly], verified[truly] = torch.from_numpy(true[truly]), True
    found = find_consensus(replace(data, codes=codes, verified=verified), seed=0)
    np.testing.assert_allclose(found.probabilities[truly], np.eye(4)[true[truly]], atol=1e-12)


def test_a_step_of_em_equals_its_definition() -> None:
    draws = np.random.default_rng(0)
    nodes, who, codes = np.repeat(np.arange(20), 2), np.tile([0, 1], 20), draws.integers(3, size=40)
    given = Annotations(("a", "b"), np.arange(3), 20, nodes, who, codes)
    prior, start = draws.normal(size=(20, 3)), draws.dirichlet(np.ones(3) * 3, (2, 3))
    matrices, copying, _, posterior = run_em(given, np.full(20, -1), prior, start, steps=1)
    slow, counts = softmax(prior, axis=1), np.zeros_like(start)
    for node, one, code in zip(nodes, who, codes, strict=True):
        slow[node] *= start[one, :, code]
    slow /= slow.sum(axis=1, keepdims=True)
    for node, one, code in zip(nodes, who, codes, strict=True):
        counts[one, :, code] += slow[node]
    np.testing.assert_allclose(posterior, slow)
    np.testing.assert_allclose(matrices, shrunk_matrices(counts))
    assert (copying == 0).all()


def test_an_annotator_who_repeats_the_classifier_is_found() -> None:
    draws = np.random.default_rng(1)
    true = draws.integers(3, size=600)
    answers = [np.where(draws.random(600) < skill, true, draws.integers(3, size=600)) for skill in (0.7, 0.8, 0.8)]
    who, asked = np.repeat([0, 1, 2], 600), np.tile(np.arange(600), 3)
    given = Annotations(("a", "b", "c"), np.arange(3), 600, asked, who, np.concatenate(answers))
    prior, start = np.log(0.85 * np.eye(3)[answers[0]] + 0.05), np.tile(0.55 * np.eye(3) + 0.15, (3, 1, 1))
    copying = run_em(given, np.full(600, -1), prior, start, may_copy=True)[1]
    assert copying[0] > 0.5
    assert copying[1:].max() < 0.3


def test_few_answers_are_drawn_to_what_all_annotators_do() -> None:
    many = 200 * (0.6 * np.eye(3) + 0.4 * np.roll(np.eye(3), 1, axis=1))
    found = shrunk_matrices(np.stack([many, many, np.zeros((3, 3))]))
    np.testing.assert_allclose(found.sum(axis=2), 1)
    np.testing.assert_allclose(found[2], found[0], atol=0.05)


def test_the_table_of_annotators_ranks_them_and_finds_the_random_one(case) -> None:
    data, true, found = case
    table = annotator_table(data.annotations, found)
    assert table["annotator"].tolist() == ["ada", "bob", "cyd", "dan"]
    assert table["is_random"].tolist() == [False, False, False, True]
    answers = data.annotations
    for row in table.itertuples():
        mine = answers.annotators == answers.names.index(row.annotator)
        assert row.answers == mine.sum()
        exact = (answers.codes == true[answers.nodes])[mine].mean()
        assert row.accuracy_low - 0.02 <= exact <= row.accuracy_high + 0.02


def test_disagreements_are_counted_pair_by_pair() -> None:
    nodes, who, codes = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2]), np.array([0, 1, 1, 1, 0])
    given = Annotations(("a", "b", "c"), np.array(["no", "yes"]), 3, nodes, who, codes)
    assert disagreement_table(given).values.tolist() == [["a", "b", 2, 0.5, "no / yes", 1]]


def test_methods_learn_from_the_consensus_and_are_assessed_by_the_votes() -> None:
    data, true = crowd(nodes=250)
    model = qg.METHODS["gcn"](epochs=40).fit(data)
    votes, asked = right_of(data.codes, data, true), data.annotations.answered
    assert right_of(model.observed_.codes, data, true) > votes + 0.05
    found = qg.assess(model)
    assert torch.equal(found.codes[asked], data.codes[asked])
    assert found.noise.rate == pytest.approx(1 - votes, abs=0.07)
    assert right_of(found.predictions, data, true) > votes + 0.05


def test_answers_at_random_are_not_trusted() -> None:
    data, _ = crowd(nodes=180)
    codes = np.random.default_rng(0).integers(4, size=len(data.annotations))
    given = replace(data.annotations, codes=codes)
    found = qg.assess(qg.METHODS["gcn"](epochs=20).fit(replace(data, annotations=given, codes=given.majority())))
    assert found.verdict.level == "do not trust"
