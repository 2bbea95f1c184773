"""Consensus of annotators, on plain arrays and through `fit`."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.special import softmax

import quietgraph as qg
from quietgraph.annotators.consensus import find_consensus, run_em, shrunk_matrices
from quietgraph.annotators.quality import annotator_table, disagreement_table
from quietgraph.data.annotations import Annotations
from quietgraph.data.data import Data, as_data
from quietgraph.graph.synthetic import block_model
from quietgraph.types import FloatArray, IntArray

SKILLS = (0.9, 0.75, 0.6, 0.25)  # the last one answers at random


def crowd(*, nodes: int = 500, answers: int = 3, seed: int = 0) -> tuple[Data, IntArray]:
    """Return a graph of which most nodes have answers of several annotators, and the true classes."""
    draws = np.random.default_rng(seed)
    graph, true = block_model(nodes, num_classes=4, homophily=0.75, generator=draws)
    asked = np.repeat(np.arange(nodes - 100), answers)
    who = np.argsort(draws.random((nodes - 100, len(SKILLS))), axis=1)[:, :answers].ravel()
    right = draws.random(len(asked)) < np.array(SKILLS)[who]
    codes = np.where(right, true[asked], (true[asked] + draws.integers(1, 4, len(asked))) % 4)
    given = Annotations(("ada", "bob", "cyd", "dan"), np.array(list("klmn")), nodes, asked, who, codes)
    labels = np.append(given.classes, "")[given.majority().numpy()]
    data = as_data(graph, [label or None for label in labels])
    return replace(data, annotations=given), true


def right_of(codes: torch.Tensor, data: Data, true: IntArray) -> float:
    asked = data.annotations.answered.numpy()
    return float((codes.numpy() == true)[asked].mean())


@pytest.mark.filterwarnings("ignore")  # of crowd-kit
def test_the_consensus_beats_majority_vote_glad_and_dawid_skene() -> None:
    aggregation = pytest.importorskip("crowdkit.aggregation")
    data, true = crowd()
    table = data.annotations.to_frame(np.arange(500)).rename(columns={"node": "task", "annotator": "worker"})
    ours = right_of(find_consensus(data, seed=0).codes, data, true)
    for rival in (
        aggregation.MajorityVote(),
        aggregation.DawidSkene(n_iter=50),
        aggregation.GLAD(n_iter=3, silent=True),
    ):
        found = pd.Series(rival.fit_predict(table))
        classes = [*data.annotations.classes.tolist()]
        theirs = np.mean([classes.index(label) == true[int(node)] for node, label in found.items()])
        assert ours >= theirs + 0.03


def test_probabilities_are_calibrated_and_matrices_near_the_truth() -> None:
    data, true = crowd()
    found = find_consensus(data, seed=0)
    asked = data.annotations.answered.numpy()
    assert found.probabilities[asked].max(axis=1).mean() == pytest.approx(right_of(found.codes, data, true), abs=0.03)
    for matrix, skill in zip(found.matrices, SKILLS, strict=True):
        assert np.diag(matrix).mean() == pytest.approx(skill, abs=0.1)
    assert (found.codes[~asked] == -1).all()
    assert (found.weights[~asked] == 1).all()


def test_verified_labels_are_certain() -> None:
    data, true = crowd()
    truly = np.arange(50)
    codes, verified = data.codes.clone(), torch.zeros(500, dtype=torch.bool)
    codes[truly], verified[truly] = torch.from_numpy(true[truly]), True
    found = find_consensus(replace(data, codes=codes, verified=verified), seed=0)
    np.testing.assert_allclose(found.probabilities[truly], np.eye(4)[true[truly]], atol=1e-12)


def em_slow(readings: Annotations, prior: FloatArray, matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """One step of EM without copying, answer by answer."""
    posterior = softmax(prior, axis=1)
    for node, who, code in zip(readings.nodes, readings.annotators, readings.codes, strict=True):
        posterior[node] *= matrices[who, :, code]
    posterior /= posterior.sum(axis=1, keepdims=True)
    counts = np.zeros_like(matrices)
    for node, who, code in zip(readings.nodes, readings.annotators, readings.codes, strict=True):
        counts[who, :, code] += posterior[node]
    return shrunk_matrices(counts), posterior


def test_a_step_of_em_equals_its_definition() -> None:
    draws = np.random.default_rng(0)
    nodes, who, codes = np.repeat(np.arange(20), 2), np.tile([0, 1], 20), draws.integers(3, size=40)
    readings = Annotations(("a", "b"), np.arange(3), 20, nodes, who, codes)
    prior, start = draws.normal(size=(20, 3)), draws.dirichlet(np.ones(3) * 3, (2, 3))
    found, copying, _, posterior = run_em(readings, np.full(20, -1), prior, start, steps=1)
    np.testing.assert_allclose(found, em_slow(readings, prior, start)[0])
    np.testing.assert_allclose(posterior, em_slow(readings, prior, start)[1])
    assert (copying == 0).all()


def test_an_annotator_who_repeats_the_classifier_is_found() -> None:
    draws = np.random.default_rng(1)
    true = draws.integers(3, size=600)
    classifier = np.where(draws.random(600) < 0.7, true, draws.integers(3, size=600))
    honest = [np.where(draws.random(600) < 0.8, true, draws.integers(3, size=600)) for _ in range(2)]
    codes = np.concatenate([*honest, classifier])
    names, asked, who = ("a", "b", "c"), np.tile(np.arange(600), 3), np.repeat([0, 1, 2], 600)
    readings = Annotations(names, np.arange(3), 600, asked, who, codes)
    prior = np.log(0.85 * np.eye(3)[classifier] + 0.05)
    start = np.tile(0.55 * np.eye(3) + 0.15, (3, 1, 1))
    copying = run_em(readings, np.full(600, -1), prior, start, may_copy=True)[1]
    assert copying[2] > 0.5
    assert copying[:2].max() < 0.3


def test_few_answers_are_drawn_to_what_all_annotators_do() -> None:
    many = 200 * (0.6 * np.eye(3) + 0.4 * np.roll(np.eye(3), 1, axis=1))
    found = shrunk_matrices(np.stack([many, many, np.zeros((3, 3))]))
    np.testing.assert_allclose(found.sum(axis=2), 1)
    np.testing.assert_allclose(found[2], found[0], atol=0.05)


def test_the_table_of_annotators_ranks_them_and_finds_the_random_one() -> None:
    data, true = crowd()
    table = annotator_table(data.annotations, find_consensus(data, seed=0))
    assert table["annotator"].tolist() == ["ada", "bob", "cyd", "dan"]
    assert table["is_random"].tolist() == [False, False, False, True]
    answers = data.annotations
    for row in table.itertuples():
        mine = answers.annotators == answers.names.index(row.annotator)
        exact = (answers.codes == true[answers.nodes])[mine].mean()
        assert row.accuracy_low - 0.02 <= exact <= row.accuracy_high + 0.02
        assert row.answers == mine.sum()


def test_disagreements_are_counted_pair_by_pair() -> None:
    nodes, who, codes = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2]), np.array([0, 1, 1, 1, 0])
    given = Annotations(("a", "b", "c"), np.array(["no", "yes"]), 3, nodes, who, codes)
    table = disagreement_table(given)
    assert table.values.tolist() == [["a", "b", 2, 0.5, "no / yes", 1]]


def test_methods_learn_from_the_consensus_and_are_assessed_by_the_votes() -> None:
    data, true = crowd(nodes=300)
    model = qg.METHODS["gcn"](epochs=40).fit(data)
    asked = data.annotations.answered
    taught = right_of(model.observed_.codes, data, true)
    assert taught > right_of(data.codes, data, true) + 0.05
    found = qg.assess(model)
    assert torch.equal(found.codes[asked], data.codes[asked])
    wrong = 1 - right_of(data.codes, data, true)
    assert found.noise.rate == pytest.approx(wrong, abs=0.07)
    assert right_of(found.predictions, data, true) > taught - 0.03


def test_answers_at_random_are_not_trusted() -> None:
    data, _ = crowd(nodes=300)
    codes = np.random.default_rng(0).integers(4, size=len(data.annotations))
    given = replace(data.annotations, codes=codes)
    found = qg.assess(qg.METHODS["gcn"](epochs=20).fit(replace(data, annotations=given, codes=given.majority())))
    assert found.verdict.level == "do not trust"
