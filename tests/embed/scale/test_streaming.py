"""Streaming clusters: room is kept, each pass improves, and blocks agree with a slow twin."""

import numpy as np
import torch

from quietgraph.embed.scale import large_matrix
from quietgraph.embed.scale.streaming import cut_by_streaming
from quietgraph.graph import CSR, block_model


def make_adjacency(num_nodes: int = 600) -> CSR:
    draws = np.random.default_rng(0)
    return block_model(num_nodes, num_features=4, homophily=0.95, generator=draws).graph.adjacency


def cut_fraction(adjacency: CSR, owner: torch.Tensor) -> float:
    return float((owner[adjacency.rows] != owner[adjacency.columns.long()]).float().mean())


def one_by_one(adjacency: CSR, count: int) -> np.ndarray:
    """One pass, a node at a time: the most neighbours, counted by the room that is left."""
    nodes = adjacency.shape[0]
    owner = np.arange(nodes) * count // nodes
    room = int(np.ceil(1.1 * nodes / count))
    for node in range(nodes):
        start, stop = adjacency.row_pointer[node : node + 2].tolist()
        near = np.bincount(owner[adjacency.columns[start:stop].numpy()], minlength=count)
        sizes = np.bincount(owner, minlength=count)
        sizes[owner[node]] -= 1
        score = near * (1 - sizes / room)
        best = max(range(count), key=lambda one: (score[one], one == owner[node], one))
        if best != owner[node] and score[best] > 0 and sizes[best] < room:
            owner[node] = best
    return owner


def test_blocks_of_one_row_are_the_greedy_rule(monkeypatch) -> None:
    monkeypatch.setattr("quietgraph.embed.scale.streaming._MOST_ROWS", 1)
    adjacency = make_adjacency(80)
    found = cut_by_streaming(adjacency, 5, passes=1)
    assert found.tolist() == one_by_one(adjacency, 5).tolist()


def test_no_cluster_is_larger_than_its_room_and_passes_lose_fewer_edges() -> None:
    adjacency = make_adjacency()
    ranges, once, often = (cut_by_streaming(adjacency, 12, passes=n) for n in (0, 1, 10))
    assert torch.bincount(often, minlength=12).max() <= np.ceil(1.1 * 600 / 12)
    lost = [cut_fraction(adjacency, owner) for owner in (ranges, once, often)]
    assert lost[0] > lost[1] > lost[2]


def test_isolated_nodes_stay_where_they_are() -> None:
    nothing = torch.zeros(0, dtype=torch.int32)
    empty = CSR(torch.zeros(11, dtype=torch.int32), nothing, torch.zeros(0), (10, 10))
    assert cut_by_streaming(empty, 5).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_numbers_of_very_many_nodes_live_in_a_file(monkeypatch) -> None:
    adjacency = make_adjacency()
    held = cut_by_streaming(adjacency, 6)
    monkeypatch.setattr(large_matrix, "_MOST_NUMBERS", 0)
    mapped = cut_by_streaming(adjacency, 6)
    assert torch.equal(mapped, held)
    assert isinstance(large_matrix.empty_numbers(5, "int32"), np.memmap)
    assert mapped.data_ptr() % 4096 == 0
