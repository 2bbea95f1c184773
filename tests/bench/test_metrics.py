"""Scores of a run against their definitions."""

import math

import numpy as np
import pytest
import torch

from quietgraph.bench.metrics import (
    METRICS,
    accuracy,
    calibration_error,
    describe_metric,
    evaluate,
    macro_f1,
)
from quietgraph.data.splits import Split
from quietgraph.errors import InvalidParameterError


def calibration_error_slow(probabilities: np.ndarray, true: np.ndarray, *, bins: int) -> float:
    error = 0.0
    for b in range(bins):
        members = []
        for row, truth in zip(probabilities, true, strict=True):
            confidence = max(row)
            if b / bins < confidence <= (b + 1) / bins:
                members.append((confidence, list(row).index(confidence) == truth))
        if members:
            gap = np.mean([hit for _, hit in members]) - np.mean([c for c, _ in members])
            error += len(members) / len(true) * abs(gap)
    return error


def macro_f1_slow(predicted: np.ndarray, true: np.ndarray) -> float:
    scores = []
    for code in set(predicted) | set(true):
        hits = sum((predicted == code) & (true == code))
        scores.append(2 * hits / (sum(predicted == code) + sum(true == code)))
    return float(np.mean(scores))


@pytest.mark.parametrize("seed", range(5))
def test_macro_f1_equals_its_definition(seed: int) -> None:
    generator = np.random.default_rng(seed)
    true = generator.integers(0, 4, size=40)
    predicted = generator.integers(0, 6, size=40)  # classes 4 and 5 are never true
    assert macro_f1(predicted, true) == pytest.approx(macro_f1_slow(predicted, true))


def test_macro_f1_takes_text_labels() -> None:
    assert macro_f1(["a", "b", "b"], ["a", "b", "a"]) == pytest.approx(2 / 3)


@pytest.mark.parametrize("bins", [1, 5, 15])
def test_calibration_error_equals_its_definition(bins: int) -> None:
    generator = np.random.default_rng(bins)
    probabilities = generator.dirichlet([0.5, 0.5, 0.5], size=60)
    true = generator.integers(0, 3, size=60)
    expected = calibration_error_slow(probabilities, true, bins=bins)
    assert calibration_error(probabilities, true, bins=bins) == pytest.approx(expected)


def test_sure_and_right_has_no_calibration_error() -> None:
    assert calibration_error(np.eye(3), [0, 1, 2]) == 0


def test_sure_and_wrong_has_the_calibration_error_one() -> None:
    assert calibration_error(np.eye(3), [1, 2, 0]) == 1


def test_scores_of_no_nodes_are_not_a_number() -> None:
    empty = np.empty(0, dtype=int)
    scores = (accuracy(empty, empty), macro_f1(empty, empty))
    assert all(math.isnan(score) for score in scores)
    assert math.isnan(calibration_error(np.empty((0, 3)), empty))


def test_predictions_of_another_length_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"shape \(3,\), got shape \(2,\)"):
        accuracy([0, 1], [0, 1, 2])
    with pytest.raises(InvalidParameterError, match="one row per node"):
        calibration_error(np.eye(3), [0, 1])


def test_a_run_is_scored_on_the_labels_that_each_metric_names() -> None:
    nodes = torch.arange(6)
    split = Split(train=nodes < 3, validation=nodes == 3, test=nodes > 3)
    clean = np.array([0, 1, 1, 0, 0, 1])
    noisy = np.array([0, 1, 0, 1, -1, -1])  # node 2 (train) and node 3 (validation) are wrong
    predicted = np.array([0, 0, 1, 1, 0, 0])
    scores = evaluate(
        predicted, np.eye(2)[predicted], clean_labels=clean, noisy_labels=noisy, split=split
    )
    assert scores == {
        "test_accuracy": 0.5,
        "test_macro_f1": pytest.approx(1 / 3),
        "validation_accuracy": 1.0,
        "test_calibration_error": 0.5,
        "train_accuracy_correct": 0.5,
        "train_accuracy_wrong": 1.0,
    }


def test_every_score_of_a_run_is_described() -> None:
    masks = Split(*torch.eye(3, dtype=torch.bool))
    labels = np.array([0, 1, 0])
    scores = evaluate(
        labels, np.eye(2)[labels], clean_labels=labels, noisy_labels=labels, split=masks
    )
    assert set(scores) | {"seconds_fit", "seconds_processor"} == set(METRICS)


def test_an_unknown_metric_reads_as_a_plain_score() -> None:
    metric = describe_metric("my_score")
    assert (metric.words, metric.higher_is_better, metric.is_fraction) == ("my score", True, False)
