"""Declared parameters: their old names, and values from the command line."""

import warnings

import pytest

import quietgraph as qg
from quietgraph.errors import InvalidParameterError
from quietgraph.params import current_names, parameters, parse_assignments

OLD = {"mending": 1, "caution": 0.2, "biased": False}
NEW = {"correction_rounds": 1, "ensemble_temperature": 0.2, "class_prior_adjustment": False}


def current(model) -> dict:
    return {name: model.get_params()[name] for name in NEW}


def test_the_constructor_takes_old_names_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="of Quiet is now called"):
        assert current(qg.get_method("quiet")(**OLD)) == NEW


def test_set_params_takes_old_names_with_a_warning() -> None:
    model = qg.get_method("quiet")()
    with pytest.warns(FutureWarning, match="of Quiet is now called"):
        assert current(model.set_params(**OLD)) == NEW


def test_assignments_of_the_command_line_take_old_names_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="biased"):
        found = parse_assignments(qg.get_method("quiet"), {"biased": "no"})
    assert found == {"class_prior_adjustment": False}


def test_stored_values_are_read_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert current_names(qg.get_method("quiet"), OLD, warn=False) == NEW


def test_an_old_name_beside_the_new_one_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="Give correction_rounds alone"):
        qg.get_method("quiet")(mending=1, correction_rounds=1)


@pytest.mark.parametrize("name", list(qg.METHODS))
def test_no_old_name_is_in_use_again(name: str) -> None:
    known = parameters(qg.get_method(name))
    old = [each.rule.old_name for each in known.values() if each.rule.old_name]
    assert len(set(old)) == len(old)
    assert not set(old) & set(known)
