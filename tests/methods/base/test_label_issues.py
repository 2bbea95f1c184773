"""What a fitted model says about labels is computed once and then only read."""

import pytest

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
