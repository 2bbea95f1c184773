"""Partitions: every node in one, subgraphs as cut by hand, training part by part and by several processes."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from quietgraph.embed.contrast import Contrast, train_contrast
from quietgraph.embed.encoder import Encoder
from quietgraph.embed.partitions import induced_graph, partition_nodes
from quietgraph.embed.train import Schedule
from quietgraph.graph import CSR, Graph
from quietgraph.graph.synthetic import block_model
from quietgraph.rng import torch_generator


def graph_of(nodes: int, *, sparse: bool = False) -> Graph:
    graph = block_model(nodes, num_features=16, generator=np.random.default_rng(0)).graph
    return Graph(CSR.from_scipy(graph.features), graph.adjacency) if sparse else graph


@pytest.mark.parametrize("with_metis", [True, False])
def test_every_node_is_in_one_partition(with_metis: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if with_metis:
        pytest.importorskip("pymetis")
    else:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    graph = graph_of(2000)
    parts = partition_nodes(graph, seed=0, multiple_of=2, whole_up_to=700)
    assert len(parts) == 4
    assert torch.equal(torch.cat(parts).sort().values, torch.arange(2000))
    assert all(torch.equal(part, part.sort().values) for part in parts)
    assert max(map(len, parts)) < 1.3 * min(map(len, parts))
    again = partition_nodes(graph, seed=0, multiple_of=2, whole_up_to=700)
    assert all(torch.equal(first, second) for first, second in zip(parts, again, strict=True))
    kept = sum(induced_graph(graph, part).num_edges for part in parts) / graph.num_edges
    assert kept > (0.3 if with_metis else 0.2)  # by chance a quarter


def test_a_small_graph_is_one_partition() -> None:
    graph = graph_of(100)
    (part,) = partition_nodes(graph, seed=0)
    assert induced_graph(graph, part) is graph


@pytest.mark.parametrize("sparse", [True, False])
def test_the_induced_graph_is_the_submatrix(sparse: bool) -> None:
    graph = graph_of(60, sparse=sparse)
    nodes = torch.tensor([0, 3, 4, 17, 18, 40, 41, 42, 59])
    inside = induced_graph(graph, nodes)
    assert torch.equal(inside.adjacency.to_dense(), graph.adjacency.to_dense()[nodes][:, nodes])
    features, taken = (each.to_dense() if isinstance(each, CSR) else each for each in (graph.features, inside.features))
    assert torch.equal(taken, features[nodes])


def test_training_in_parts_lowers_the_loss() -> None:
    encoder = Encoder(16, 24, 16, generator=torch_generator(0, "encoder"))
    how = Contrast(anchors=200, warm_up=5)
    history = train_contrast(graph_of(900), encoder, how, Schedule(60, 3e-3), seed=0, whole_up_to=300)
    assert len(history) == 20  # as many steps as on the whole graph, three an epoch
    assert history[-1]["contrast"] < history[0]["contrast"] - 0.15
    assert {"prototypes", "rank"} <= set(history[-1])


SCRIPT = """
import sys, torch, numpy as np
from quietgraph.embed.contrast import Contrast, train_contrast
from quietgraph.embed.distributed import process_group
from quietgraph.embed.encoder import Encoder
from quietgraph.embed.train import Schedule
from quietgraph.graph.synthetic import block_model
from quietgraph.rng import torch_generator
torch.set_num_threads(1)
graph = block_model(1200, num_features=16, generator=np.random.default_rng(0)).graph
encoder = Encoder(16, 24, 16, generator=torch_generator(0, "encoder"))
with process_group() as rank:
    how = Contrast(anchors=200, warm_up=5)
    history = train_contrast(graph, encoder, how, Schedule(60, 3e-3), seed=0, whole_up_to=300)
    torch.save([*encoder.state_dict().values(), torch.tensor(history[-1]["contrast"])], f"{sys.argv[1]}{rank}")
"""


@pytest.mark.slow
def test_two_processes_train_one_encoder(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node"]
    for count in (1, 2):
        surroundings = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run(
            [*command, str(count), str(script), str(tmp_path / f"of-{count}-")], check=True, env=surroundings
        )
    alone, first, second = (torch.load(tmp_path / name) for name in ("of-1-0", "of-2-0", "of-2-1"))
    for own, other in zip(first[:-1], second[:-1], strict=True):
        assert torch.equal(own, other)
    assert not torch.equal(first[0], alone[0])
    assert max(float(alone[-1]), float(first[-1]), float(second[-1])) < 4.75
