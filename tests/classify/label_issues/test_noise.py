from types import ModuleType

import pytest
import torch

from quietgraph.diagnose import estimate_noise
from quietgraph.errors import InvalidLabelsError


def sure_of(right: torch.Tensor, num_classes: int) -> torch.Tensor:
    return 0.9 * torch.eye(num_classes)[right] + 0.1 / num_classes


def test_labels_that_agree_with_sure_predictions_have_no_noise() -> None:
    right = torch.arange(300) % 3
    found = estimate_noise(sure_of(right, 3), right)
    assert found.rate < 0.005
    torch.testing.assert_close(found.transition, torch.eye(3).double(), atol=0.01, rtol=0)


def test_a_perfect_model_shows_the_flipped_share(study: ModuleType) -> None:
    right = torch.arange(3000) % 3
    labels = study.flip(right, study.symmetric(0.3, 3), torch.Generator().manual_seed(0))
    found = estimate_noise(sure_of(right, 3), labels)
    wrong = float((labels != right).double().mean())
    # Ties in surety are cut by position, so a part of the nodes may be the anchors.
    assert abs(found.rate - wrong) < 3 * found.standard_error


def test_pair_noise_keeps_its_direction(study: ModuleType) -> None:
    right = torch.arange(3000) % 3
    labels = study.flip(right, study.pair(0.3, 3), torch.Generator().manual_seed(0))
    found = estimate_noise(sure_of(right, 3), labels)
    torch.testing.assert_close(found.transition, study.pair(0.3, 3).double(), atol=0.06, rtol=0)


def test_rows_of_the_transition_matrix_sum_to_one(study: ModuleType) -> None:
    case = study.noise_case(200, study.symmetric(0.4, 4), distance=3.0, seed=7)
    sums = estimate_noise(case.probabilities, case.labels).transition.sum(1)
    torch.testing.assert_close(sums, torch.ones(4).double())


def test_nodes_without_a_label_are_left_out() -> None:
    right = torch.arange(60) % 3
    labels = torch.cat([right, torch.full((40,), -1)])
    probabilities = torch.cat([sure_of(right, 3), torch.full((40, 3), float("nan"))])
    assert estimate_noise(probabilities, labels).num_nodes == 60


def test_a_class_that_is_never_predicted_gets_the_symmetric_row() -> None:
    right = torch.arange(100) % 2
    found = estimate_noise(sure_of(right, 3), right)
    assert float(found.transition[2, 2]) == pytest.approx(float(found.transition[2].max()))


@pytest.mark.parametrize(("nodes", "rate", "matrix"), [(140, 0.08, 0.16), (640, 0.04, 0.09)])
def test_the_error_of_the_estimate_stays_within_what_docs_say(
    study: ModuleType, nodes: int, rate: float, matrix: float
) -> None:
    rate_error, matrix_error = study.noise_errors(nodes, 7, range(2))["anchors"]
    assert rate_error < rate
    assert matrix_error < matrix


def test_anchors_beat_confident_counting_on_the_same_predictions(study: ModuleType) -> None:
    errors = study.noise_errors(640, 7, range(5, 7))
    for ours, theirs in zip(errors["anchors"], errors["confident counts"], strict=True):
        assert ours < theirs


@pytest.mark.parametrize(
    ("probabilities", "labels", "words"),
    [
        (torch.ones(3), torch.zeros(3).long(), "shape"),
        (torch.ones(3, 2), torch.zeros(4).long(), "one entry per row"),
        (torch.ones(3, 2), torch.tensor([0, 1, 2]), "between -1 and 1"),
        (torch.ones(3, 2), torch.full((3,), -1), "at least one node"),
        (torch.full((3, 2), float("nan")), torch.zeros(3).long(), "finite"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    probabilities: torch.Tensor, labels: torch.Tensor, words: str
) -> None:
    with pytest.raises(InvalidLabelsError, match=words):
        estimate_noise(probabilities, labels)
