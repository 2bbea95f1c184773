"""scikit-learn's own estimator checks over the registry, tags and score."""

import numpy as np
import pytest
from sklearn import exceptions
from sklearn.base import is_classifier
from sklearn.utils import estimator_checks as checks
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

import quietgraph as qg
from quietgraph.testing import quick_parameters, small_problem

# scikit-learn's checks that do not hand over a matrix as X, or ask only for an error.
APPLICABLE = (
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_mixin_order,
    checks.check_parameters_default_constructible,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_estimators_unfitted,
)


# Values are checked where they are set, not in fit: scikit-learn says so, and goes on.
@pytest.mark.filterwarnings("ignore:.*delay parameter validation:UserWarning")
@pytest.mark.parametrize("name", qg.METHODS)
@pytest.mark.parametrize("check", APPLICABLE, ids=lambda check: check.__name__)
def test_checks_of_scikit_learn(name: str, check) -> None:
    check(name, qg.METHODS[name]())


def test_tags_say_classifier_of_something_that_is_no_matrix() -> None:
    tags = get_tags(qg.GCN())
    assert is_classifier(qg.GCN())
    assert tags.classifier_tags.multi_class
    assert not tags.input_tags.two_d_array


def test_not_fitted_is_an_error_of_both_packages() -> None:
    assert issubclass(qg.NotFittedError, exceptions.NotFittedError)
    assert issubclass(qg.NotFittedError, qg.QuietgraphError)


def test_score_is_accuracy_on_known_labels() -> None:
    problem, labels, validation = small_problem()
    model = qg.GCN(**quick_parameters(qg.GCN)).fit(problem.graph, labels, validation)
    check_is_fitted(model)
    held_out = np.where(np.arange(120) < 60, -1, problem.classes)
    hits = model.predict()[60:] == problem.classes[60:]
    assert model.score(problem.graph, held_out) == model.score(None, held_out) == hits.mean()
    assert model.score(problem.graph.to_pyg(), held_out) == pytest.approx(hits.mean())
    weights = np.r_[np.zeros(60), np.arange(60)]
    expected = np.average(hits, weights=np.arange(60))
    assert model.score(None, held_out, sample_weight=weights) == pytest.approx(expected)


def test_score_without_labels_is_refused() -> None:
    problem, labels, validation = small_problem()
    model = qg.GCN(**quick_parameters(qg.GCN)).fit(problem.graph, labels, validation)
    with pytest.raises(qg.InvalidLabelsError, match="needs labels"):
        model.score(problem.graph)
    with pytest.raises(qg.InvalidLabelsError, match="at least one node"):
        model.score(problem.graph, np.full(120, -1))
