"""Every method, given anything: an answer without NaN, or a sentence with the way out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.edge_cases import CORE, OTHER, Problem
from quietgraph.errors import QuietgraphError
from quietgraph.methods import METHODS, NodeClassifier, get_method, load_model
from quietgraph.testing import quick_parameters

pytestmark = pytest.mark.filterwarnings("ignore")
EVERY = CORE | OTHER


def check(name: str, build: Callable[[], Problem], folder: Path) -> str:
    """Raise where a step ends in anything but an answer or a sentence; return how it ended."""
    method = get_method(name)
    try:
        problem = build()
        graph = problem.graph()
        model = method(**quick_parameters(method)).fit(graph, problem.labels, problem.validation)
    except QuietgraphError as error:
        return check_sentence(error)
    check_answers(model.predict_proba(), model)
    assert np.isfinite(model.embeddings_).all()
    try:
        table = model.suspects(columns="evidence")
        assert np.isfinite(table["score"]).all()
        assert all(np.isfinite(value) for value in (model.quality().accuracy,))
    except QuietgraphError as error:
        check_sentence(error)
    check_diagnosis(model)
    loaded = load_model(model.save(folder / "model"))
    np.testing.assert_array_equal(loaded.predict_proba(), model.predict_proba())
    check_diagnosis(loaded)
    if method.is_inductive():
        check_answers(loaded.predict_proba(graph), loaded)
    return "answered"


def check_diagnosis(model: NodeClassifier) -> None:
    try:
        model.diagnose().to_dict()
    except QuietgraphError as error:
        check_sentence(error)


def check_answers(probabilities: np.ndarray[Any, Any], model: NodeClassifier) -> None:
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-6)
    assert probabilities.shape[1] == len(model.classes_)


def check_sentence(error: QuietgraphError) -> str:
    """Raise where a message is not: subject, rule, value. Way out."""
    text = str(error)
    assert "\n" not in text
    assert text.endswith(".")
    assert ". " in text, f"no way out: {text}"
    return text


@pytest.mark.parametrize("name", METHODS)
def test_answer_or_way_out(name: str, tmp_path: Path) -> None:
    for case, build in CORE.items():
        _check_named(name, case, build, tmp_path / case)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("case", OTHER)
def test_answer_or_way_out_in_other_cases(name: str, case: str, tmp_path: Path) -> None:
    check(name, OTHER[case], tmp_path)


@pytest.mark.parametrize("case", OTHER)
def test_the_default_answers_or_names_the_way_out(case: str, tmp_path: Path) -> None:
    check("quiet", OTHER[case], tmp_path)


def _check_named(name: str, case: str, build: Callable[[], Problem], folder: Path) -> None:
    try:
        check(name, build, folder)
    except Exception as error:
        error.add_note(f"{name}: {case}")
        raise
