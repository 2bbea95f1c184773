"""What validation labels say of candidates, against one candidate at a time."""

from dataclasses import replace

import pytest
import torch

from quietgraph.classify.class_prior import mean_margin
from quietgraph.methods.base.task import Task
from quietgraph.methods.quiet import evaluation as module
from quietgraph.methods.quiet.candidates import Candidate, Layer, Pool, stacked_scores
from quietgraph.methods.quiet.evaluation import Evaluation


def _problem() -> tuple[Pool, dict[str, torch.Tensor], Task]:
    draws = torch.Generator().manual_seed(0)
    features = {kind: torch.randn(30, width, generator=draws) for kind, width in SIZES.items()}

    def candidate(kind: str, hidden: Layer | None = None) -> Candidate:
        width = SIZES[kind] if hidden is None else len(hidden.bias)
        weight, bias = torch.randn(width, 4, generator=draws), torch.randn(4, generator=draws)
        return Candidate(kind, weight, bias, hidden=hidden)

    layer = Layer(torch.randn(6, 5, generator=draws), torch.randn(5, generator=draws))
    pool = {
        "first": candidate("own"),
        "hidden": candidate("own", layer),
        "other": candidate("wide"),
        "second": candidate("own"),
    }
    labels = torch.randint(4, (30,), generator=draws)
    train, validation = torch.arange(30) < 5, (torch.arange(30) >= 5) & (torch.arange(30) < 17)
    return pool, features, Task(None, labels, train, validation, 4, 0)  # type: ignore[arg-type]


SIZES = {"own": 6, "wide": 9}


def test_stacked_scores_are_those_of_each_candidate() -> None:
    pool, features, _ = _problem()
    found = {
        name: scores.T
        for names, stacked in stacked_scores(pool, features)
        for name, scores in zip(names, stacked, strict=True)
    }
    assert found.keys() == pool.keys()
    for name, each in pool.items():
        torch.testing.assert_close(found[name], each.scores(features))


def test_accuracies_and_margins_are_those_of_each_candidate() -> None:
    pool, features, task = _problem()
    found = Evaluation(features, task)
    accuracies, margins = found.accuracies(pool), found.margins(pool)
    for name, each in pool.items():
        scores = each.scores(features)
        hits = (scores.argmax(dim=1) == task.labels)[task.validation].float().mean()
        assert accuracies[name] == pytest.approx(float(hits))
        torch.testing.assert_close(margins[name], mean_margin(scores))


def test_a_candidate_is_scored_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, features, task = _problem()
    scored: list[str] = []

    def spy(given: Pool, rows: dict[str, torch.Tensor]):
        scored.extend(given)
        return stacked_scores(given, rows)

    monkeypatch.setattr(module, "stacked_scores", spy)
    found = Evaluation(features, task)
    few = {name: pool[name] for name in ("first", "other")}
    assert found.accuracies(few).keys() == few.keys()
    assert found.accuracies(pool).keys() == pool.keys()
    assert sorted(scored) == sorted(pool)


def test_margins_of_a_fold_are_those_of_validation_nodes_where_they_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, features, task = _problem()
    fold = replace(task, is_fold=True)
    for enough in (12, 13):
        monkeypatch.setattr(module, "_ENOUGH", enough)
        nodes = task.validation if enough == 12 else slice(None)
        for name, margin in Evaluation(features, fold).margins(pool).items():
            torch.testing.assert_close(margin, mean_margin(pool[name].scores(features)[nodes]))
