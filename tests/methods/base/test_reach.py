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


@pytest.mark.parametrize("shape", ["path", "mixed path", "star", "last is the hub"])
def test_long_paths_and_stars_are_one_component(shape: str) -> None:
    size, line = 3_000, np.arange(2_999)
    hub = 0 if shape == "star" else size - 1
    edges = np.stack([line, line + 1])
    if shape == "mixed path":
        edges = np.random.default_rng(0).permutation(size)[edges]
    if "path" not in shape:
        edges = np.stack([np.full(size - 1, hub), np.delete(np.arange(size), hub)])
    graph = Graph.from_arrays(np.ones((size + 1, 1)), edges)  # and one node alone
    labels = torch.full((size + 1,), -1)
    labels[7] = 0
    assert count_unreached(graph.adjacency, labels) == 1


def test_what_is_counted_in_files_is_what_is_counted_in_memory(monkeypatch) -> None:
    edges = np.random.default_rng(0).integers(0, 300, size=(2, 150))
    graph = Graph.from_arrays(np.ones((300, 1)), edges)
    labels = torch.full((300,), -1)
    labels[:9] = 0
    held = count_unreached(graph.adjacency, labels)
    monkeypatch.setattr("quietgraph.embed.scale.large_matrix._MOST_NUMBERS", 0)
    assert count_unreached(graph.adjacency, labels) == held > 0
