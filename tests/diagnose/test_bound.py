from types import ModuleType

import pytest
import torch

from quietgraph.diagnose import BoundSettings, bound_terms
from quietgraph.errors import InvalidLabelsError, InvalidParameterError

RIGHT = torch.tensor([0, 0, 0, 1, 1, 1])
LABELS = torch.tensor([0, 1, -1, 1, 1, -1])
ROWS = torch.eye(2)[RIGHT]  # K_LL has the eigenvalue 2 twice, K the eigenvalue 3 twice


def test_terms_of_a_worked_example() -> None:
    settings = BoundSettings(steps=(1,), learning_rate=0.25)
    terms = bound_terms(ROWS, LABELS, reference=RIGHT, settings=settings)
    # One step halves the right labels: 4 ones, each halved and squared.
    assert float(terms.signal_loss[0]) == pytest.approx(4 * 0.25)
    # The noise (-1, 1) on node 1 has half its energy in the range of K_LL; one step fits half.
    assert float(terms.noise_loss[0]) == pytest.approx(2 * 0.5 * 0.25)


def test_test_loss_of_a_worked_example() -> None:
    settings = BoundSettings(steps=(1,), learning_rate=0.25)
    terms = bound_terms(ROWS, LABELS, reference=RIGHT, settings=settings)
    # Outputs after one step: 0.25 * (1, 1) for class 0, 0.25 * (0, 2) for class 1.
    assert terms.test_loss is not None
    expected = ((0.75**2 + 0.25**2) + 0.5**2) / 2
    assert float(terms.test_loss[0]) == pytest.approx(expected)


def test_the_bound_is_the_sum_that_the_theorem_prints() -> None:
    settings = BoundSettings(constant=3.0, failure=0.1)
    terms = bound_terms(ROWS, LABELS, reference=RIGHT, settings=settings)
    losses = 2 / 4 * (terms.signal_loss + terms.noise_loss)
    slack = terms.complexity.value + float(torch.tensor(10.0).log()) / 2
    torch.testing.assert_close(terms.upper_bound, 3 * (losses + slack), rtol=1e-6, atol=1e-6)


def test_the_best_step_has_the_smallest_bound() -> None:
    terms = bound_terms(ROWS, LABELS, reference=RIGHT)
    index = terms.steps.tolist().index(terms.best_step)
    assert float(terms.upper_bound[index]) == float(terms.upper_bound.min())


def test_without_a_reference_the_given_labels_count_as_right() -> None:
    terms = bound_terms(ROWS, LABELS)
    assert terms.test_loss is None
    assert not bool(terms.noise_loss.any())


def test_the_default_learning_rate_is_just_below_its_limit() -> None:
    assert bound_terms(ROWS, LABELS).learning_rate == pytest.approx(0.99 / 3)


def test_raw_scale_and_learning_rate_cancel() -> None:
    settings = BoundSettings(scale="raw")
    once, twice = (
        bound_terms(factor * ROWS, LABELS, reference=RIGHT, settings=settings)
        for factor in (1.0, 2.0)
    )
    torch.testing.assert_close(once.signal_loss, twice.signal_loss)
    assert once.complexity.rank <= twice.complexity.rank


@pytest.mark.parametrize("rate", [0.0, -1.0, 0.34])
def test_a_learning_rate_outside_the_theorem_is_refused(rate: float) -> None:
    with pytest.raises(InvalidParameterError, match="learning_rate must lie between"):
        bound_terms(ROWS, LABELS, settings=BoundSettings(learning_rate=rate))


@pytest.mark.parametrize("wrong", [{"steps": (0,)}, {"constant": 0.0}, {"failure": 0.0}])
def test_settings_outside_their_range_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(wrong))):
        BoundSettings(**wrong)  # type: ignore[arg-type]


def test_a_mask_over_all_nodes_is_refused() -> None:
    with pytest.raises(InvalidLabelsError, match="labelled and unlabelled"):
        bound_terms(ROWS, RIGHT)


def test_labelled_nodes_without_a_label_are_refused() -> None:
    labelled = torch.tensor([True, True, True, False, False, False])
    with pytest.raises(InvalidLabelsError, match="known on every labelled node"):
        bound_terms(ROWS, LABELS, labelled=labelled)


def test_the_bound_with_a_constant_fitted_elsewhere_is_violated_as_docs_say(
    study: ModuleType,
) -> None:
    fitted, fresh = study.bound_ratios(range(200)), study.bound_ratios(range(1000, 1200))
    constants = [float(fitted.worst.max()), float(fitted.worst.quantile(0.95)), 1.0]
    assert constants == pytest.approx([29.94, 1.42, 1.0], rel=0.01)
    violated = [int((fresh.worst > constant).sum()) for constant in constants]
    assert violated == pytest.approx([0, 11, 20], abs=2)


def test_with_twice_as_many_labels_as_dimensions_the_default_constant_is_enough(
    study: ModuleType,
) -> None:
    ratios = study.bound_ratios(range(1000, 1200))
    assert float(ratios.worst[ratios.labels_per_dim >= 2].max()) < 1
