"""What a fitted model says about labels is computed once and then only read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

import quietgraph as qg
from quietgraph.classify.label_issues import noise
from quietgraph.data.observation import observe
from quietgraph.graph.io.corrections import Corrections, LabelDecision
from quietgraph.methods.base import assessment
from quietgraph.testing import small_problem


def test_noise_is_estimated_once_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    data, labels, _ = small_problem()
    sizes = []

    def counted(probabilities, observed):
        sizes.append(len(observed))
        return noise.estimate_noise(probabilities, observed)

    for place in (assessment, qg.diagnose.summary):
        monkeypatch.setattr(place, "estimate_noise", counted)
    model = qg.GCN(epochs=5, hidden=8).fit(data.graph, labels)
    sizes.clear()  # the fit calibrates on its validation labels
    model.quality()
    tables = [model.suspects(), model.suspects(columns="evidence")]
    found = model.diagnose().noise_estimate
    assert sizes == [data.graph.num_nodes]
    assert found is not None
    assert model.quality().noise_rate == found.rate
    assert len(tables[0]) == len(tables[1])
    model.fit(data.graph, labels).quality()
    assert sizes.count(data.graph.num_nodes) == 2  # a new fit, a new estimate


def wrong_labels() -> tuple[qg.Observation, np.ndarray]:
    """Return a graph with 200 labels, 30 % of them wrong, and the right ones."""
    draws = np.random.default_rng(3)
    drawn = qg.block_model(400, num_classes=4, homophily=0.85, signal=1.5, generator=draws)
    wrong = draws.random(400) < 0.3
    labels = np.where(wrong, (drawn.classes + 1 + draws.integers(3, size=400)) % 4, drawn.classes)
    return observe(drawn.graph, np.where(np.arange(400) < 200, labels, -1)), drawn.classes


@pytest.mark.parametrize("source", ["first table", "corrected table"])
def test_after_a_review_the_estimate_is_that_of_the_labels_that_are_left(source: str) -> None:
    observed, truth = wrong_labels()
    first = qg.S2GC().fit(observed).suspects()
    decided = {
        str(node): LabelDecision(
            str(node),
            "keep" if observed.codes[node] == truth[node] else "other",
            str(truth[node]),
            observed=str(observed.codes[node].item()),
        )
        for node in first["node"].head(25)
    }
    if source == "corrected table":  # the decisions alone know what the labels were
        nodes = [int(node) for node in decided]
        codes = observed.codes.clone()
        codes[nodes] = torch.from_numpy(truth[nodes])
        observed = replace(observed, codes=codes)
    fixed = observed.correct(Corrections(Path("fix.csv"), decided))
    left = int((fixed.codes.numpy() != truth)[fixed.known.numpy()].sum())
    model = qg.S2GC().fit(fixed)
    found = model.quality()
    assert 15 < left < 50
    assert found.noise_rate * 200 == pytest.approx(left, rel=0.3)
    low, high = found.noise_interval
    assert low * 200 <= left <= high * 200
    table = model.suspects()
    flagged = table["node"][table["is_issue"]].to_numpy()
    assert len(flagged) > 5
    assert (fixed.codes.numpy() != truth)[flagged].mean() > 0.8


def test_labels_before_a_review_are_saved_with_the_model(tmp_path: Path) -> None:
    observed, _ = wrong_labels()
    decided = {"0": LabelDecision("0", "other", str((int(observed.codes[0]) + 1) % 4))}
    model = qg.S2GC().fit(observed.correct(Corrections(Path("fix.csv"), decided)))
    before = model.quality().noise_rate
    loaded = qg.load_model(model.save(tmp_path / "model"))
    assert loaded.task_.noisy_labels().tolist() == observed.codes.tolist()
    assert loaded.quality().noise_rate == before
    pd.testing.assert_frame_equal(loaded.suspects(), model.suspects())


def test_heterophily_is_named_only_where_chance_does_not_explain_it() -> None:
    ring = np.arange(60)
    graph = qg.Graph.from_arrays(np.ones((60, 1), np.float32), np.stack([ring, (ring + 1) % 60]))
    drawn = torch.from_numpy(np.random.default_rng(0).integers(2, size=60))
    (hint,) = assessment._hints(graph, torch.from_numpy(ring % 2))
    assert "try tedgcn" in hint
    assert assessment._hints(graph, drawn) == []
