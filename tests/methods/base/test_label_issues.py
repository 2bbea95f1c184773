"""What a fitted model says about labels is computed once and then only read."""

import numpy as np
import pytest
import torch

import quietgraph as qg
from quietgraph.classify.label_issues import noise
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


def test_heterophily_is_named_only_where_chance_does_not_explain_it() -> None:
    ring = np.arange(60)
    graph = qg.Graph.from_arrays(np.ones((60, 1), np.float32), np.stack([ring, (ring + 1) % 60]))
    drawn = torch.from_numpy(np.random.default_rng(0).integers(2, size=60))
    (hint,) = assessment._hints(graph, torch.from_numpy(ring % 2))
    assert "try tedgcn" in hint
    assert assessment._hints(graph, drawn) == []
