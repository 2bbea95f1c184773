"""The joint model of labels and probabilities, on plain arrays."""

import numpy as np
import pytest

from quietgraph.annotators.consensus import symmetric
from quietgraph.assessment.posterior import (
    Labels,
    fit_label_model,
    fit_matrix,
    label_posterior,
    sharpen,
    without_noise,
)
from quietgraph.types import FloatArray, IntArray

PAIR = 0.6 * np.eye(4) + 0.4 * np.roll(np.eye(4), -1, axis=1)


def draw(matrix: FloatArray, *, nodes: int = 3000, seed: int = 0) -> tuple[FloatArray, IntArray, IntArray]:
    """Return calibrated log probabilities, true classes drawn from them, and labels drawn from the noise matrix."""
    draws = np.random.default_rng(seed)
    scores = draws.normal(size=(nodes, len(matrix))) * 2.5
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    true = np.array([draws.choice(len(matrix), p=row) for row in p])
    return np.log(p), true, np.array([draws.choice(len(matrix), p=matrix[code]) for code in true])


def labels_of(codes: IntArray) -> Labels:
    return Labels(codes, np.full_like(codes, -1))


def label_posterior_slow(p: FloatArray, y: IntArray, matrix: FloatArray) -> FloatArray:
    found = np.zeros_like(p)
    for i, row in enumerate(p):
        for c, value in enumerate(row):
            found[i, c] = value * matrix[c, y[i]]
        found[i] /= sum(found[i])
    return found


def test_the_posterior_is_bayes_rule() -> None:
    logs, _, labels = draw(PAIR, nodes=20)
    known = labels_of(labels)
    found = label_posterior(np.exp(logs), known.likelihood(PAIR))
    np.testing.assert_allclose(found, label_posterior_slow(np.exp(logs), labels, PAIR), atol=1e-12)


def test_verified_labels_are_certain_and_answers_of_annotators_replace_the_noise_matrix() -> None:
    answers = np.array([[np.nan] * 4, [np.nan] * 4, [0.1, 0.2, 0.3, 0.4]])
    labels = Labels(np.array([0, 1, 2]), np.array([-1, 3, -1]), answers)
    found = labels.likelihood(PAIR)
    np.testing.assert_allclose(found, [PAIR[:, 0], [0, 0, 0, 1], answers[2]])
    assert labels.today.tolist() == [0, 3, 2]


def test_nothing_is_known_of_a_label_before_review_that_was_not_there() -> None:
    labels = Labels(np.array([-1]), np.array([-1]))
    np.testing.assert_array_equal(labels.likelihood(PAIR), np.ones((1, 4)))


def without_noise_slow(p: FloatArray, matrix: FloatArray, steps: int) -> FloatArray:
    rows = []
    for row in p:
        true = np.full(len(row), 1 / len(row))
        for _ in range(steps):
            said = [sum(true[c] * matrix[c, k] for c in range(len(row))) for k in range(len(row))]
            true = np.array(
                [true[c] * sum(matrix[c, k] * row[k] / said[k] for k in range(len(row))) for c in range(len(row))]
            )
            true /= true.sum()
        rows.append(true)
    return np.array(rows)


def test_taking_noise_out_equals_its_definition_and_undoes_the_noise() -> None:
    logs, _, _ = draw(PAIR, nodes=12)
    seen = np.exp(logs) @ PAIR
    np.testing.assert_allclose(without_noise(seen, PAIR), without_noise_slow(seen, PAIR, 10))
    np.testing.assert_allclose(without_noise(seen, PAIR, steps=3000), np.exp(logs), atol=0.05)


def test_sharpening_keeps_the_order_and_is_never_certain() -> None:
    logs, _, _ = draw(PAIR, nodes=50)
    sharp = sharpen(logs, 0.1)
    np.testing.assert_allclose(sharp.sum(axis=1), 1)
    assert (sharp.argmax(axis=1) == logs.argmax(axis=1)).all()
    assert sharp.max() < 0.99


@pytest.mark.parametrize("matrix", [np.eye(4), symmetric(4, 0.4), PAIR], ids=["clean", "symmetric", "pair"])
def test_matrix_and_rate_are_found_from_flattened_probabilities(matrix: FloatArray) -> None:
    logs, true, codes = draw(matrix)
    labels = labels_of(codes)
    model = fit_label_model(0.6 * logs, labels, symmetric(4, 0.3), corrected=True)
    posterior = label_posterior(model.probabilities(0.6 * logs), labels.likelihood(model.matrix))
    rate = 1 - posterior[np.arange(len(codes)), codes].mean()
    assert rate == pytest.approx((codes != true).mean(), abs=0.05)
    assert np.abs(model.matrix - matrix).max() < 0.12


def test_scores_of_a_method_that_fits_wrong_labels_are_corrected_first() -> None:
    logs, true, codes = draw(PAIR)
    seen = np.log(np.exp(logs) @ PAIR)
    start = 0.9 * PAIR + 0.1 / 4
    model = fit_label_model(seen, labels_of(codes), start, corrected=False)
    assert model.correction is not None
    accuracy = [(rows.argmax(axis=1) == true).mean() for rows in (seen, model.probabilities(seen))]
    assert accuracy[1] > accuracy[0] + 0.01


def test_verified_labels_teach_the_noise_matrix_what_they_were_before() -> None:
    logs, true, codes = draw(PAIR, nodes=400)
    flat = np.full_like(logs, 0.25)
    reviewed = Labels(codes, true)
    assert np.abs(fit_matrix(flat, reviewed, symmetric(4, 0.3), steps=5) - PAIR).max() < 0.15
