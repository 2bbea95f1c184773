import numpy as np
import torch
import torch.nn.functional as F

from quietgraph.embed.scale.distributed import World
from quietgraph.embed.scale.node_rows import NodeRows
from quietgraph.graph import Graph
from quietgraph.methods.quiet import neighbour_rows as module
from quietgraph.methods.quiet.neighbour_rows import neighbour_rows

EDGES = np.array([[0, 0, 1, 2, 3], [1, 2, 2, 3, 4]])


def graph_of(rows: torch.Tensor) -> Graph:
    return Graph.from_arrays(rows.numpy(), EDGES)


def neighbour_rows_slow(rows: torch.Tensor) -> torch.Tensor:
    neighbours = {node: [] for node in range(len(rows))}
    for one, other in EDGES.T.tolist():
        neighbours[one].append(other)
        neighbours[other].append(one)

    def mean(of: torch.Tensor) -> torch.Tensor:
        means = [
            of[found].mean(dim=0) if found else torch.zeros(of.shape[1])
            for found in neighbours.values()
        ]
        return torch.stack(means)

    first = mean(rows)
    return torch.cat([F.normalize(each, dim=1) for each in (first, mean(first))], dim=1)


def test_rows_of_neighbours_equal_their_definition() -> None:
    rows = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))  # the last is isolated
    torch.testing.assert_close(neighbour_rows(graph_of(rows), rows), neighbour_rows_slow(rows))


def test_a_node_does_not_see_itself_among_its_neighbours() -> None:
    rows = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    changed = rows.clone()
    changed[0] = 7.0
    before, after = (neighbour_rows(graph_of(rows), each)[0, :3] for each in (rows, changed))
    torch.testing.assert_close(before, after)


def test_several_processes_compute_the_same_digits_in_ranges_of_rows(monkeypatch) -> None:
    rows = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    graph = Graph.from_arrays(rows.numpy(), EDGES, weights=np.array([1.0, 0.3, 2.0, 1.0, 0.7]))
    whole = neighbour_rows(graph, rows)
    monkeypatch.setattr(module, "current_world", lambda: World(0, 2))
    monkeypatch.setattr(module, "node_rows", lambda count: NodeRows(count, block=4))
    assert torch.equal(neighbour_rows(graph, rows, in_blocks=True), whole)
    assert torch.equal(neighbour_rows(graph, rows), whole)
