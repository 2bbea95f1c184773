"""TEDGCN: the network at depth 0, and a depth that is learned or held."""

import numpy as np
import torch

from quietgraph.graph.synthetic import block_model
from quietgraph.methods.tedgcn import TEDGCN, DepthNetwork
from quietgraph.testing import small_data

DATA = small_data()


def test_depth_zero_is_a_perceptron() -> None:
    graph = block_model(30, num_features=6, generator=np.random.default_rng(0)).graph
    network = DepthNetwork(6, 3, TEDGCN(hidden=5, feature_norm="none"), depth=0.0).eval()
    hidden = (graph.features @ network.weight + network.bias).relu()
    scores, embeddings = network(graph)
    torch.testing.assert_close(embeddings, hidden, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(scores, network.head(hidden), atol=1e-5, rtol=1e-4)


def test_a_step_of_zero_holds_the_depth_and_another_moves_it() -> None:
    held, moved = (TEDGCN(initial_depth=3.0, depth_step=step, epochs=5).fit(DATA).fitted_ for step in (0.0, 0.01))
    assert held.notes["depth"] == 3.0
    assert moved.notes["depth"] != 3.0


def test_the_depth_stays_where_its_powers_are_numbers() -> None:
    notes = TEDGCN(initial_depth=-5.0, depth_step=50.0, epochs=6).fit(DATA).fitted_.notes
    assert -5.0 <= notes["depth"] <= 20.0


def test_the_start_of_the_best_trial_is_taken() -> None:
    assert TEDGCN(epochs=10).fit(DATA).fitted_.notes["initial_depth"] in {-1.0, 1.0, 7.0}
