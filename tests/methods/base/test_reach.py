"""Nodes that no labelled node reaches, found block by block."""

import numpy as np
import pytest
import scipy.sparse
import torch
from scipy.sparse.csgraph import connected_components

from quietgraph.graph import Graph
from quietgraph.methods.base import reach
from quietgraph.methods.base.reach import count_unreached


@pytest.mark.parametrize("entries", [1, 5, 2**24])
def test_blocks_of_rows_count_what_the_whole_graph_counts(
    entries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "_ENTRIES", entries)
    draws = np.random.default_rng(0)
    edges = draws.integers(0, 60, size=(2, 35))
    graph = Graph.from_arrays(np.ones((60, 1)), edges)
    labels = torch.full((60,), -1)
    labels[draws.permutation(60)[:6]] = 0

    joined = scipy.sparse.coo_matrix((np.ones(35), edges), shape=(60, 60))
    component = connected_components(joined, directed=False)[1]
    reached = np.isin(component, component[(labels >= 0).numpy()])
    assert count_unreached(graph.adjacency, labels) == int((~reached).sum())
