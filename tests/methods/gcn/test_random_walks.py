import numpy as np
import torch

from quietgraph.graph import CSR, Graph
from quietgraph.methods.gcn.random_walks import walk_supports


def supports(graph: Graph, starts: list[int], *, size: int = 10, length: int = 4) -> CSR:
    return walk_supports(
        graph.adjacency,
        torch.tensor(starts),
        walks=200,
        length=length,
        size=size,
        generator=torch.Generator().manual_seed(0),
    )


def path(num_nodes: int, weights: list[float] | None = None) -> Graph:
    edges = [list(range(num_nodes - 1)), list(range(1, num_nodes))]
    return Graph.from_arrays(np.eye(num_nodes), edges, weights=weights)


def test_walks_reach_no_further_than_their_length() -> None:
    found = supports(path(8), [0, 4], length=2)
    assert found.columns[found.rows == 0].tolist() == [1, 2]
    assert found.columns[found.rows == 1].tolist() == [2, 3, 5, 6]


def test_a_start_is_not_its_own_support() -> None:
    found = supports(path(5), [2])
    assert 2 not in found.columns.tolist()


def test_the_most_visited_nodes_stay() -> None:
    everyone, few = supports(path(8), [0]), supports(path(8), [0], size=2)
    order = everyone.values.argsort(descending=True)[:2]
    assert sorted(few.columns.tolist()) == sorted(everyone.columns[order].tolist())


def test_a_node_without_edges_has_no_support() -> None:
    graph = Graph.from_arrays(np.eye(4), [[0, 1], [1, 2]])
    found = supports(graph, [3, 0])
    assert found.row_counts.tolist() == [0, 2]


def test_a_graph_without_edges_has_no_supports() -> None:
    graph = Graph.from_arrays(np.eye(3), np.empty((2, 0), dtype=np.int64))
    assert supports(graph, [0, 2]).num_entries == 0


def test_steps_follow_heavy_edges_more_often() -> None:
    found = supports(path(3, weights=[9.0, 1.0]), [1], length=1)
    left, right = found.values.tolist()
    assert 0.8 < left / (left + right) < 0.97
