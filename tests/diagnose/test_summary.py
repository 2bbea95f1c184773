"""All diagnostics of an embedding, of a model, and against the truth of a dataset."""

import json

import numpy as np
import pytest
import torch

from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.diagnostics.bound import bound_terms
from quietgraph.diagnostics.kernel import attended_embeddings
from quietgraph.diagnostics.projection import label_projection
from quietgraph.diagnostics.summary import diagnose, diagnose_benchmark, noise_everywhere
from quietgraph.errors import InvalidLabelsError, InvalidParameterError
from quietgraph.methods.gcn import GCN


@pytest.fixture(scope="module")
def sbm():
    return load_benchmark("sbm")


def test_a_model_gives_its_embeddings_and_its_training_labels(sbm) -> None:
    model = GCN(epochs=5).fit(sbm[0])
    found, observed = diagnose(model), model.observed_
    by_hand = diagnose(model.embed(), observed.codes.numpy(), labelled=observed.train)
    assert found.to_dict() == by_hand.to_dict()
    assert found.bound.num_labelled == 80
    assert found.noise is None


def test_numbers_are_those_of_the_parts_and_survive_json(sbm) -> None:
    data, truth = sbm
    rows = data.graph.features
    found = diagnose_benchmark(data, truth, rows, "symmetric:0.4", seed=1)
    labels = noise_everywhere(data, truth, "symmetric:0.4", seed=1)
    terms = {"labels": labels, "labelled": data.split.train, "reference": truth.codes}
    torch.testing.assert_close(found.bound.upper_bound, bound_terms(rows, **terms).upper_bound)
    attended = bound_terms(attended_embeddings(rows), **terms, scale="raw")
    torch.testing.assert_close(found.attended_bound.upper_bound, attended.upper_bound)
    torch.testing.assert_close(found.signal.scores, label_projection(rows, truth.codes).scores)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["bound"]["upper_bound"] == found.bound.upper_bound.tolist()
    assert plain["noise"]["by_class"] == found.noise.by_class.tolist()
    assert plain["signal"]["rank_holding_80"] == found.signal.rank_holding(0.8)
    columns, table = found.table()
    assert {len(row) for row in table} == {len(columns)}


@pytest.mark.parametrize("noise", ["symmetric:0.4", "annotator:0.3"])
def test_noise_on_all_nodes_is_on_training_nodes_what_a_fit_sees(sbm, noise: str) -> None:
    data, truth = sbm
    everywhere = noise_everywhere(data, truth, noise, seed=1)
    seen = apply_noise(data, truth, noise, seed=1)
    assert torch.equal(everywhere[seen.known], seen.codes[seen.known])
    assert (everywhere >= 0).all()
    wrong = (everywhere != truth.codes)[~seen.known].double().mean()
    assert float(wrong) == pytest.approx(0.4 if noise == "symmetric:0.4" else 0, abs=0.06)


@pytest.mark.parametrize(
    ("embeddings", "words"),
    [
        (torch.ones(3), "got torch.float32 of shape"),
        (np.ones((3, 2), dtype=int), "floating-point"),
        (torch.tensor([[1.0], [float("nan")], [1.0]]), "finite"),
        (torch.zeros(3, 2), "zero everywhere"),
    ],
)
def test_what_is_no_embedding_is_refused(embeddings: object, words: str) -> None:
    with pytest.raises(InvalidParameterError, match=words):
        diagnose(embeddings, [0, 1, -1])


def test_labels_are_needed_and_must_fit() -> None:
    with pytest.raises(InvalidLabelsError, match=r"diagnose\(embeddings, labels\)"):
        diagnose(torch.ones(3, 2))
    with pytest.raises(InvalidLabelsError, match=r"one class code per node \(3\)"):
        diagnose(torch.rand(3, 2), [0, 1, -1], reference=[0, 1])
