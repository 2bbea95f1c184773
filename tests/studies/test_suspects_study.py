"""The study of suspects: its measures, its contenders, and that it goes on where it was."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from paths import ROOT
from quietgraph.bench.protocol import Run

SCRIPT = ROOT / "studies" / "suspects_study.py"


@pytest.fixture(scope="module")
def study() -> ModuleType:
    pytest.importorskip("cleanlab", reason="cleanlab is not installed")
    spec = importlib.util.spec_from_file_location("suspects_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["suspects_study"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def evidence(study: ModuleType) -> Any:
    """Return 120 nodes whose labels are wrong where class 1 was taken for class 0."""
    draws = np.random.default_rng(0)
    right = np.repeat([0, 1, 2], 40)
    wrong = (right == 1) & (draws.random(120) < 0.4)
    given = np.where(wrong, 0, right)
    foretold = np.array([[0.9, 0.05, 0.05], [0.45, 0.5, 0.05], [0.1, 0.1, 0.8]])[right]
    chances = foretold + 0.05 * draws.random((120, 3))
    chances /= chances.sum(axis=1, keepdims=True)
    shares = np.eye(3)[right]
    votes = (shares, shares * np.nan, chances)
    return study.Evidence(given, wrong, chances, *votes, given * 0.1, wrong)


def test_a_perfect_order_measures_1(study: ModuleType) -> None:
    found = evidence(study)
    perfect = study.measure(found, (found.wrong.astype(float), found.wrong))
    assert perfect["auroc"] == perfect["average_precision"] == perfect["list_f1"] == 1
    assert perfect["precision_20"] == min(1, found.wrong.sum() / 20)


def test_self_confidence_is_cleanlabs_default(study: ModuleType) -> None:
    found = evidence(study)
    ours, theirs = (study.judge_gcn(found, name)[0] for name in ("self-confidence", "cleanlab"))
    np.testing.assert_allclose(ours, theirs)


def test_the_filter_puts_what_it_accuses_first(study: ModuleType) -> None:
    score, listed = study.judge_gcn(evidence(study), "cleanlab-filter")
    assert listed.any()
    assert score[listed].min() >= score[~listed].max()


@pytest.mark.parametrize(
    "name", ["suspects", "margin", "confidence", "likely", "votes", "opinions"]
)
def test_every_score_of_ours_judges_every_node(study: ModuleType, name: str) -> None:
    score, listed = study.judge_ours(evidence(study), name)
    assert score.shape == listed.shape == (120,)
    assert np.isfinite(score).all()


def test_what_a_fit_gave_is_not_made_twice(
    study: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[str] = []

    def gather(_: Run, plan: str) -> Any:
        fits.append(plan)
        return evidence(study)

    monkeypatch.setattr(study, "gather", gather)
    run = Run.parse("sbm", "gcl-lrr", "symmetric:0.4", 0)
    first = study.study(run, ["margin", "repeated:likely"], tmp_path)
    again = study.study(run, ["margin", "likely", "repeated:votes"], tmp_path)
    assert fits == ["once", "repeated"]
    assert first["margin"] == again["margin"]


def test_a_row_that_was_cut_off_is_no_row(study: ModuleType, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('[["sbm", "none", 0], {"auroc": 1.0}]\n[["sbm", "none", 1], {"au')
    assert study._read(rows) == {("sbm", "none", 0): {"auroc": 1.0}}
