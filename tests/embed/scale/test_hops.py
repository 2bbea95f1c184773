"""Rows averaged over neighbourhoods: by one process in columns, by several in rows."""

import numpy as np
import pytest
import torch

from quietgraph.embed.scale import node_rows
from quietgraph.embed.scale.hops import _mix_by_rows, mix_hops
from quietgraph.graph import Graph

WEIGHTS = [0.3, 0.1, 0.4, 0.2]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_and_columns_give_the_same_digits(symmetric, scaled, weighted, monkeypatch) -> None:
    draws = np.random.default_rng(0)
    edges, weights = draws.integers(90, size=(2, 300)), draws.integers(1, 9, size=300)
    graph = Graph.from_arrays(np.ones((90, 1)), edges, weights=weights if weighted else None)
    rows = torch.from_numpy(draws.normal(size=(90, 70)).astype(np.float32))
    scale = torch.from_numpy(draws.random(90).astype(np.float32)) if scaled else None
    monkeypatch.setattr(node_rows, "BLOCK", 17)
    found = _mix_by_rows(graph.adjacency, rows, WEIGHTS, symmetric=symmetric, scale=scale)
    expected = mix_hops(graph.adjacency, rows, WEIGHTS, symmetric=symmetric, scale=scale)
    assert torch.equal(found, expected)
