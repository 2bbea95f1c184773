"""The probe that all contrastive methods share, and what the cache keeps of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from quietgraph.classify import accuracy, centre_rows, fit_linear, mean_direction
from quietgraph.data.observation import observe
from quietgraph.methods import EmbeddingCache, use_cache
from quietgraph.methods.base.contrastive import PROBES, fit_probe, probe_scores
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Task, make_task
from quietgraph.methods.grace.ariel import ARIEL
from quietgraph.methods.grace.sfa import SFA
from quietgraph.methods.graphcl.graphcl import GraphCL
from quietgraph.methods.sugrl.sugrl import SUGRL
from quietgraph.testing import quick_parameters, small_problem

METHODS = [ARIEL, GraphCL, SFA, SUGRL]


def _task_and_embeddings() -> tuple[Task, Tensor, Any]:
    problem, labels, validation = small_problem()
    task, _ = make_task(observe(problem.graph, labels, validation), seed=0)
    draws = torch.Generator().manual_seed(0)
    classes = torch.from_numpy(problem.classes)
    embeddings = torch.eye(3, 8)[classes] + 0.4 * torch.randn(120, 8, generator=draws)
    return task, embeddings, classes


@pytest.mark.parametrize("kind", PROBES)
def test_a_probe_finds_classes_that_embeddings_separate(kind: str) -> None:
    task, embeddings, classes = _task_and_embeddings()
    scores = fit_probe(kind, embeddings, task).scores
    assert accuracy(scores, classes, task.labels == -1) > 0.8


@pytest.mark.parametrize("kind", PROBES)
def test_a_fitted_probe_repeats_its_scores_from_its_state(kind: str) -> None:
    task, embeddings, _ = _task_and_embeddings()
    decision = fit_probe(kind, embeddings, task)
    again = probe_scores(kind, embeddings, task.graph, decision.state)
    torch.testing.assert_close(again, decision.scores)


@pytest.mark.parametrize("kind", PROBES)
def test_a_probe_leaves_global_random_state_alone_and_does_not_depend_on_it(kind: str) -> None:
    task, embeddings, _ = _task_and_embeddings()
    torch.manual_seed(1)
    first, state = fit_probe(kind, embeddings, task).scores, torch.get_rng_state()
    torch.manual_seed(2)
    second = fit_probe(kind, embeddings, task).scores
    assert torch.equal(first, second)
    torch.manual_seed(1)
    assert torch.equal(state, torch.get_rng_state())


def test_the_transductive_probe_is_the_papers_linear_classifier() -> None:
    task, embeddings, _ = _task_and_embeddings()
    rows = centre_rows(embeddings, mean_direction(embeddings))
    masks = {"train": task.train, "validation": task.validation}
    twin = fit_linear(rows, task.labels, num_classes=3, **masks)
    torch.testing.assert_close(
        fit_probe("transductive", embeddings, task).scores, twin.scores(rows)
    )


@pytest.mark.parametrize("kind", PROBES)
def test_the_scale_of_single_embeddings_does_not_matter(kind: str) -> None:
    task, embeddings, _ = _task_and_embeddings()
    scales = torch.linspace(0.1, 10, 120)[:, None]
    first, second = (
        fit_probe(kind, rows, task).scores for rows in (embeddings, scales * embeddings)
    )
    assert (first.argmax(dim=1) == second.argmax(dim=1)).float().mean() > 0.98


@pytest.mark.parametrize("method", METHODS)
def test_one_cached_embedding_serves_all_probes_and_all_label_noise(
    method: type[NodeClassifier], tmp_path: Path
) -> None:
    problem, labels, validation = small_problem()
    wrong = np.where(labels >= 0, (labels + 1) % 3, -1)
    embeddings = []
    with use_cache(EmbeddingCache(tmp_path)):
        for classifier, given in (("inductive", labels), ("gcn", labels), ("ridge", wrong)):
            model = method(classifier=classifier, **quick_parameters(method))
            embeddings.append(model.fit(problem.graph, given, validation).embeddings_)
    assert len(list(tmp_path.iterdir())) == 1
    assert all(np.array_equal(found, embeddings[0]) for found in embeddings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classifier", PROBES)
def test_predictions_from_a_cached_embedding_are_those_without_a_cache(
    method: type[NodeClassifier], classifier: str, tmp_path: Path
) -> None:
    problem, labels, validation = small_problem()
    model = method(classifier=classifier, **quick_parameters(method))
    plain = model.fit(problem.graph, labels, validation).predict_proba()
    with use_cache(EmbeddingCache(tmp_path)):
        for _ in range(2):
            cached = model.fit(problem.graph, labels, validation).predict_proba()
            np.testing.assert_array_equal(cached, plain)


@pytest.mark.parametrize("method", METHODS)
def test_every_probe_answers_for_a_graph_not_seen_in_fit(method: type[NodeClassifier]) -> None:
    problem, labels, validation = small_problem()
    grown = small_problem(seed=1, num_nodes=150)[0].graph
    for classifier in PROBES:
        model = method(classifier=classifier, **quick_parameters(method))
        model.fit(problem.graph, labels, validation)
        np.testing.assert_allclose(
            model.predict_proba(problem.graph), model.predict_proba(), atol=1e-4
        )
        assert np.isfinite(model.predict_proba(grown)).all()


@pytest.mark.parametrize("method", METHODS)
def test_presets_are_parameters(method: type[NodeClassifier]) -> None:
    for preset in method.presets.values():
        method(**preset)
