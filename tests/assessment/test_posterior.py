"""The joint model of labels and probabilities, on plain arrays."""

import numpy as np
import pytest

from quietgraph.annotators.consensus import symmetric
from quietgraph.assessment.posterior import Labels, fit_label_model, fit_matrix, label_posterior, without_noise
from quietgraph.types import FloatArray, IntArray

PAIR = 0.6 * np.eye(4) + 0.4 * np.roll(np.eye(4), -1, axis=1)


def draw(matrix: FloatArray, *, nodes: int = 3000) -> tuple[FloatArray, IntArray, IntArray]:
    """Return calibrated log probabilities, true classes drawn from them, and labels drawn from the noise matrix."""
    draws = np.random.default_rng(0)
    scores = draws.normal(size=(nodes, len(matrix))) * 2.5
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    true = np.array([draws.choice(len(matrix), p=row) for row in p])
    return np.log(p), true, np.array([draws.choice(len(matrix), p=matrix[code]) for code in true])


def labels_of(codes: IntArray) -> Labels:
    return Labels(codes, np.full_like(codes, -1))


def test_the_posterior_is_bayes_rule() -> None:
    logs, _, codes = draw(PAIR, nodes=20)
    found = label_posterior(np.exp(logs), labels_of(codes).likelihood(PAIR))
    for row, label, p in zip(found, codes, np.exp(logs), strict=True):
        joint = [p[c] * PAIR[c, label] for c in range(4)]
        np.testing.assert_allclose(row, np.array(joint) / sum(joint))


def test_verified_labels_are_certain_and_answers_of_annotators_replace_the_noise_matrix() -> None:
    answers = np.array([[np.nan] * 4, [np.nan] * 4, [0.1, 0.2, 0.3, 0.4], [np.nan] * 4])
    labels = Labels(np.array([0, 1, 2, -1]), np.array([-1, 3, -1, -1]), answers)
    np.testing.assert_allclose(labels.likelihood(PAIR), [PAIR[:, 0], [0, 0, 0, 1], answers[2], np.ones(4)])
    assert labels.today.tolist() == [0, 3, 2, -1]


def test_taking_noise_out_equals_its_definition_and_undoes_the_noise() -> None:
    logs, _, _ = draw(PAIR, nodes=12)
    seen = np.exp(logs) @ PAIR
    for row, found in zip(seen, without_noise(seen, PAIR), strict=True):
        true = np.full(4, 0.25)
        for _ in range(10):
            said = [sum(true[c] * PAIR[c, k] for c in range(4)) for k in range(4)]
            true = np.array([true[c] * sum(PAIR[c, k] * row[k] / said[k] for k in range(4)) for c in range(4)])
            true /= true.sum()
        np.testing.assert_allclose(found, true)
    np.testing.assert_allclose(without_noise(seen, PAIR, steps=3000), np.exp(logs), atol=0.05)


@pytest.mark.parametrize("matrix", [np.eye(4), symmetric(4, 0.4), PAIR], ids=["clean", "symmetric", "pair"])
def test_matrix_and_rate_are_found_from_flattened_probabilities(matrix: FloatArray) -> None:
    logs, true, codes = draw(matrix)
    labels = labels_of(codes)
    model = fit_label_model(0.6 * logs, labels, symmetric(4, 0.3), corrected=True)
    posterior = label_posterior(model.probabilities(0.6 * logs), labels.likelihood(model.matrix))
    rate = 1 - posterior[np.arange(len(codes)), codes].mean()
    assert rate == pytest.approx((codes != true).mean(), abs=0.05)
    assert np.abs(model.matrix - matrix).max() < 0.12
    assert model.probabilities(100 * logs).max() < 0.99  # never certain


def test_scores_of_a_method_that_fits_wrong_labels_are_corrected_first() -> None:
    logs, true, codes = draw(PAIR)
    seen = np.log(np.exp(logs) @ PAIR)
    model = fit_label_model(seen, labels_of(codes), 0.9 * PAIR + 0.1 / 4, corrected=False)
    assert model.correction is not None
    before, after = ((rows.argmax(axis=1) == true).mean() for rows in (seen, model.probabilities(seen)))
    assert after > before + 0.01


def test_verified_labels_teach_the_noise_matrix_what_they_were_before() -> None:
    logs, true, codes = draw(PAIR, nodes=400)
    flat = np.full_like(logs, 0.25)
    assert np.abs(fit_matrix(flat, Labels(codes, true), symmetric(4, 0.3), steps=5) - PAIR).max() < 0.15
