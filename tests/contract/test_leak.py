"""No method can see a label of a test node: other ones change no prediction, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from quietgraph.bench.protocol import score
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods import METHODS, NodeClassifier, get_method
from quietgraph.testing import quick_parameters

NOISE = "symmetric:0.3+attribute:0.2"
SEED = 0


def problem(*, is_permuted: bool) -> tuple[Observation, Reference]:
    """A small graph; permuted, its test nodes have each other's classes."""
    dataset, reference = load_benchmark("sbm", seed=SEED)
    if not is_permuted:
        return dataset, reference
    test = dataset.split.test.nonzero().squeeze(1)
    order = torch.randperm(len(test), generator=torch.Generator().manual_seed(1))
    labels = reference.codes.clone()
    labels[test] = labels[test[order]]
    assert (labels != reference.codes).sum() > len(test) / 2
    shown = torch.where(dataset.split.labelled, labels, -1)
    return replace(dataset, codes=shown), replace(reference, codes=labels)


def observed(noise: str, *, is_permuted: bool) -> Observation:
    return apply_noise(problem(is_permuted=is_permuted)[0], parse_noise(noise), seed=SEED)


def fitted(name: str, *, is_permuted: bool) -> NodeClassifier:
    method = get_method(name)
    model = method(**quick_parameters(method), seed=SEED)
    return model.fit(observed(NOISE, is_permuted=is_permuted))


@pytest.mark.parametrize("name", METHODS)
def test_labels_of_test_nodes_change_no_prediction(name: str) -> None:
    honest, permuted = (fitted(name, is_permuted=p) for p in (False, True))
    np.testing.assert_array_equal(honest.predict_proba(), permuted.predict_proba())
    np.testing.assert_array_equal(honest.predict(), permuted.predict())


@pytest.mark.parametrize(
    "noise",
    [
        "similarity:0.4",
        "none",
        "symmetric:0.4",
        "asymmetric:0.4+exact-count",
        "random:0.4",
        "instance:0.4",
        "cluster:0.4",
        "degree:0.4",
        "attribute:0.4",
        "attribute:0.4+train-val",
        "symmetric:0.4+clean-validation",
    ],
)
def test_labels_of_test_nodes_change_nothing_that_a_method_is_given(noise: str) -> None:
    honest, permuted = (observed(noise, is_permuted=p) for p in (False, True))
    assert torch.equal(honest.codes, permuted.codes)
    assert honest.graph.fingerprint == permuted.graph.fingerprint
    assert (honest.codes[honest.split.test] == -1).all()


def test_the_test_would_notice_a_leak() -> None:
    """The score does read the clean labels, so they did change."""
    accuracies = []
    for is_permuted in (False, True):
        observation, reference = problem(is_permuted=is_permuted)
        model = get_method("gcn")(epochs=40).fit(observation)
        metrics = score(model, observation, reference)
        accuracies.append((metrics["test_accuracy"], metrics["validation_accuracy"]))
    (honest, same), (permuted, still_same) = accuracies
    assert honest > permuted + 0.1
    assert same == still_same
