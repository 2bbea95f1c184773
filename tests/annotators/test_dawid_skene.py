"""Consensus by EM: equal to its definition in loops, and right where others are not."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

from quietgraph.annotators.answer_model import local_matrices, shrunk_matrices
from quietgraph.annotators.dawid_skene import dawid_skene, prior_weight
from quietgraph.data.annotation_tables import read_annotations
from quietgraph.data.annotations import Annotations


def crowd(
    accuracies: list[float], nodes: int = 150, classes: int = 3, seed: int = 0
) -> tuple[Annotations, np.ndarray]:
    draws = np.random.default_rng(seed)
    true = draws.integers(classes, size=nodes)
    wrong = (true[:, None] + draws.integers(1, classes, size=(nodes, len(accuracies)))) % classes
    right = draws.random((nodes, len(accuracies))) < accuracies
    matrix = np.where(right, true[:, None], wrong).astype(float)
    matrix[draws.random(matrix.shape) < 0.3] = np.nan
    return read_annotations(matrix, range(nodes), range(classes)), true


def slow_twin(answers: Annotations, log_prior: np.ndarray, steps: int) -> np.ndarray:
    """EM as Dawid and Skene print it, node by node, with the matrices of `shrunk_matrices`."""
    nodes, classes = log_prior.shape
    given = list(zip(answers.nodes, answers.annotators, answers.labels, strict=True))
    belief = np.full((nodes, classes), 1e-2)
    for node, _, label in given:
        belief[node, label] += 1
    belief *= softmax(log_prior, axis=1)
    belief /= belief.sum(axis=1, keepdims=True)
    for _ in range(steps):
        counts = np.zeros((len(answers.names), classes, classes))
        for node, who, label in given:
            for true in range(classes):
                counts[who, true, label] += belief[node, true]
        matrices = shrunk_matrices(counts)
        after = np.exp(log_prior)
        for node, who, label in given:
            after[node] *= matrices[who, :, label]
        belief = after / after.sum(axis=1, keepdims=True)
    return belief


def test_em_equals_its_definition() -> None:
    answers, _ = crowd([0.9, 0.6, 0.5], nodes=40)
    log_prior = np.log(np.random.default_rng(1).dirichlet(np.ones(3), size=40))
    fit = dawid_skene(answers, log_prior)
    np.testing.assert_allclose(fit.posterior, slow_twin(answers, log_prior, fit.steps), atol=1e-9)


def test_a_good_annotator_outvotes_two_bad_ones() -> None:
    answers, true = crowd([0.95, 0.4, 0.4], nodes=400)
    found = dawid_skene(answers).posterior.argmax(axis=1)
    majority = answers.majority().numpy()
    known = majority >= 0
    assert (found == true)[known].mean() > (majority == true)[known].mean() + 0.1


def test_an_annotator_with_two_answers_has_about_the_matrix_of_the_others() -> None:
    counts = np.array([[[80.0, 20.0], [20.0, 80.0]]] * 3 + [[[1.0, 0.0], [0.0, 1.0]]])
    matrices = shrunk_matrices(counts)
    assert matrices[3] == pytest.approx(matrices[0], abs=0.1)
    assert (matrices[3] < 0.95).all()


def test_prototypes_get_matrices_of_their_own_only_where_the_counts_differ() -> None:
    right, wrong = np.array([[45.0, 5.0], [5.0, 45.0]]), np.array([[20.0, 30.0], [30.0, 20.0]])
    same, other = np.stack([[right, right], [right, wrong]])
    pooled = np.stack([same.sum(axis=0), other.sum(axis=0)])
    matrices = pooled / pooled.sum(axis=2, keepdims=True)
    local = local_matrices(np.stack([same, other]), matrices)
    assert np.array_equal(local[0, 0], local[0, 1])
    assert local[1, 0, 0, 0] > local[1, 1, 0, 0] + 0.2


def test_an_annotator_who_repeats_the_classifier_tells_nothing_of_its_own() -> None:
    draws = np.random.default_rng(0)
    answers, true = crowd([0.7, 0.8, 0.7, 0.8], nodes=600)
    said = np.where(draws.random(600) < 0.7, true, (true + 1) % 3)  # the classifier, 70 % right
    copied = answers.annotators == 2
    labels = np.where(copied, said[answers.nodes], answers.labels)
    ranks = np.where(np.arange(3) == labels[:, None], 0, 3)
    both = Annotations(
        answers.names,
        answers.classes,
        600,
        answers.nodes,
        answers.annotators,
        labels,
        answers.confidences,
        ranks,
    )
    chances = np.where(np.arange(3) == said[:, None], 0.7, 0.15)
    independent = dawid_skene(both, np.log(chances))
    aware = dawid_skene(both, np.log(chances), classifier=chances)
    others = aware.copying[[0, 1, 3]]
    assert aware.copying[2] > 2 * others.max()
    hits = [(fit.posterior.argmax(axis=1) == true).mean() for fit in (independent, aware)]
    assert hits[1] > hits[0]


def test_second_choices_and_confidences_are_used() -> None:
    draws = np.random.default_rng(0)
    true = draws.integers(4, size=800)
    right = draws.random(800) < 0.6
    first = np.where(right, true, (true + draws.integers(1, 4, size=800)) % 4)
    doubts = ~right | (draws.random(800) < 0.3)
    second = np.where(right, (true + draws.integers(1, 4, size=800)) % 4, true)
    table = pd.DataFrame({"node": range(800), "annotator": "llm", "label": first})
    ranking = [[a, b] if doubt else [a] for a, b, doubt in zip(first, second, doubts, strict=True)]
    hints = {"nothing": {}, "confidence": {"confidence": 0.9 - 0.3 * doubts}}
    hints["ranking"] = {"ranking": pd.Series(ranking)}
    log_prior = np.log(np.where(np.arange(4) == true[:, None], 0.35, 0.65 / 3))
    accuracy = {}
    for name, columns in hints.items():
        answers = read_annotations(table.assign(**columns), range(800), range(4))
        log_prior[::4][np.arange(4) != true[::4, None]] = -50  # a quarter is certain
        accuracy[name] = (dawid_skene(answers, log_prior).posterior.argmax(axis=1) == true).mean()
    assert min(accuracy["ranking"], accuracy["confidence"]) > accuracy["nothing"] + 0.03


def test_the_weight_of_a_prior_that_says_nothing_is_zero() -> None:
    answers, true = crowd([0.9, 0.9, 0.9], nodes=300)
    found = dawid_skene(answers)
    noise = np.log(np.random.default_rng(0).dirichlet(np.ones(3), size=300))
    said = np.where(np.random.default_rng(1).random(300) < 0.8, true, (true + 1) % 3)
    good = np.log(np.where(np.arange(3) == said[:, None], 0.8, 0.1))
    assert prior_weight(found.evidence, noise) <= 0.125
    assert prior_weight(found.evidence, good) == pytest.approx(1, abs=0.3)


def test_a_few_checked_answers_that_are_wrong_do_not_turn_all_others_over() -> None:
    draws = np.random.default_rng(0)
    first = draws.integers(4, size=200)
    ranking = [[label, (label + 1) % 4] for label in first]
    table = pd.DataFrame({"node": range(200), "annotator": "llm", "ranking": pd.Series(ranking)})
    answers = read_annotations(table, range(200), range(4))
    checked, log_prior = np.arange(200) < 4, np.zeros((200, 4))
    log_prior[:4] = -50.0
    log_prior[np.arange(4), (first[:4] + 1) % 4] = 0.0  # the second choice was right four times
    anchors = 100 * np.where(np.eye(4), 0.8, 0.2 / 3)[None] / 4
    fit = dawid_skene(answers, log_prior, trusted=checked, anchors=anchors)
    assert (fit.posterior.argmax(axis=1) == first)[4:].mean() > 0.9
