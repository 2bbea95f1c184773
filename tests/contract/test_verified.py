"""Labels that a person has verified: methods that correct or weigh labels take them as certain."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from quietgraph.data.observation import Observation, observe
from quietgraph.methods import METHODS, get_method
from quietgraph.testing import quick_parameters, small_problem

# Methods that correct, select or weigh labels, with settings at which they do so early.
CORRECTING: dict[str, dict[str, Any]] = {
    "quiet": {},
    "unionnet": {"epochs": 20, "warm_up": 0},
    "rtgnn": {"epochs": 12},
    "jo-src": {"epochs": 20, "predict_from": "probe"},
    "sel-cl": {},
    "cgnn": {"epochs": 30, "clean_from": 5, "agreement": 0.5},
    "crgnn": {"epochs": 40},
}


@pytest.fixture(scope="module")
def observed() -> Observation:
    problem, labels, validation = small_problem()
    draws = np.random.default_rng(0)
    wrong = draws.random(120) < 0.4
    noisy = np.where((labels >= 0) & wrong, (labels + 1) % 3, labels)
    return observe(problem.graph, noisy, validation)


def scores(name: str, observed: Observation) -> torch.Tensor:
    method = get_method(name)
    settings = quick_parameters(method) | CORRECTING.get(name, {})
    return method(**settings).fit(observed).scores_


@pytest.mark.parametrize("name", sorted(METHODS))
def test_verification_changes_the_fit_of_methods_that_correct_labels_and_of_no_other(
    name: str, observed: Observation
) -> None:
    certain = replace(observed, verified=observed.known)
    same = torch.equal(scores(name, observed), scores(name, certain))
    assert same == (name not in CORRECTING)
