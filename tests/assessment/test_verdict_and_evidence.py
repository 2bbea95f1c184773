"""Verdict and evidence, on plain arrays and small graphs."""

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.special import ndtr

from quietgraph.assessment.evidence import attribute_votes, follow_attributes, nearest_votes, neighbour_votes
from quietgraph.assessment.verdict import Estimate, expected_accuracy, find_distrust, permutation_p, verdict_of
from quietgraph.graph import Graph


def test_the_permutation_test_has_the_moments_of_all_permutations() -> None:
    p = np.random.default_rng(0).dirichlet(np.ones(3), 6)
    labels = np.array([0, 1, 2, 2, 1, 0])
    totals = [sum(row[code] for row, code in zip(p, some, strict=True)) for some in permutations(labels)]
    total = p[np.arange(6), labels].sum()
    assert permutation_p(p, labels) == pytest.approx(1 - ndtr((total - np.mean(totals)) / np.std(totals)))


def test_what_cannot_be_told_is_not_trusted() -> None:
    labels = np.arange(30) % 3
    right = np.eye(3)[labels]
    assert "too few" in find_distrust(right[:6], labels[:6])[1]
    assert "same class" in find_distrust(np.tile([0.6, 0.2, 0.2], (30, 1)), labels)[1]
    assert "chance" in find_distrust(np.random.default_rng(0).dirichlet(np.ones(3), 30), labels)[1]
    assert not find_distrust(right, labels)[1]


def test_doubts_make_it_with_care_and_name_the_reason() -> None:
    good, poor = Estimate(0.9, 0.85, 0.95, 0.2), Estimate(0.6, 0.55, 0.65, 0.2)
    assert verdict_of("", 0.0, good, [], ["Fact."]).level == "trust"
    assert verdict_of("", 0.0, poor, [], []).level == "care"
    assert verdict_of("", 0.005, good, [], []).level == "care"
    careful = verdict_of("", 0.0, good, ["The reason."], ["Fact."])
    assert careful.level == "care"
    assert "the reason" in careful.sentence
    assert verdict_of("why.", 0.0, good, ["The reason."], []).level == "do not trust"


def test_expected_accuracy_is_the_mean_largest_probability() -> None:
    found = expected_accuracy(np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]]), 100)
    assert found.value == pytest.approx(0.8)
    assert (found.low, found.high) == (pytest.approx(0.711, abs=1e-3), pytest.approx(0.867, abs=1e-3))  # Wilson
    assert found.chance == pytest.approx(2 / 3 * 0.6 + 1 / 3 * 0.4)


def test_neighbours_vote_by_weight_and_nobody_for_itself() -> None:
    graph = Graph.from_arrays(np.eye(4), np.array([[0, 1], [0, 2], [2, 3]]), weights=[1.0, 3.0, 1.0])
    votes = neighbour_votes(graph.adjacency, torch.tensor([0, 0, 1, -1]), 2)
    torch.testing.assert_close(votes[0], torch.tensor([0.25, 0.75], dtype=torch.float64))
    assert votes[2].tolist() == [1.0, 0.0]
    rows = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    assert nearest_votes(rows, torch.tensor([0, 1, 0]), 2, seed=0)[0].tolist() == [0.5, 0.5]  # of the two others


def test_votes_of_labelled_nodes_do_not_know_their_label() -> None:
    draws = torch.Generator().manual_seed(0)
    codes = torch.randint(2, (200,), generator=draws)
    rows = torch.randn(200, 150, generator=draws)  # enough columns to fit any labels
    agree = (attribute_votes(rows, codes, 2, seed=0).argmax(dim=1) == codes).double().mean()
    assert agree < 0.65


def test_labels_that_only_own_attributes_predict_follow_them() -> None:
    codes = torch.arange(200) % 2
    right = torch.nn.functional.one_hot(codes, 2).double()
    worse = right.clone()
    worse[:40] = right[:40].flip(1)
    assert follow_attributes(right, worse, codes)
    assert not follow_attributes(worse, right, codes)
    assert not follow_attributes(right, right, codes)
