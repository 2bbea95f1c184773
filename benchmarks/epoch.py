"""Seconds and peak memory of one training epoch of GCL-LRR, beside a floor and two rivals.

    python benchmarks/epoch.py [--threads 2] [--repeats 5] [--graphs cora,pubmed,generated]
    python benchmarks/epoch.py --by-turns ours,floor --threads 1 --graphs cora,pubmed
    python benchmarks/epoch.py --by-turns ours,pyg,bgrl,ggd,s2gc --threads 1 --graphs cora,pubmed

With --by-turns the ways alternate in one process and processor time is compared, which other jobs
on the machine change least. BGRL, GGD and S2GC are those of `epoch_rivals.py`.

Side by side in one run, each in a process of its own, because machines are noisy:
  ours     one epoch of `gcl-lrr` (two views, contrast, prototypes, truncated norm, Adam)
  floor    three forward-backward passes of the bare encoder on the same CSR operator
  pyg      the same method written with PyG's GCNConv(x, edge_index)
  dense    the paper written out: dense adjacency, N x N similarities and eigenvalues of K
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from epoch_rivals import bgrl, ggd, s2gc
from quietgraph.data.load import load
from quietgraph.embed import (
    ContrastSettings,
    GCNEncoder,
    Propagation,
    View,
    ViewRates,
    info_nce,
    normalise_rows,
    prototype_loss,
    truncated_nuclear_norm,
)
from quietgraph.embed.adam import Adam
from quietgraph.embed.clusters import lloyd_step, start_clusters
from quietgraph.embed.contrast_trainer import ContrastTrainer
from quietgraph.embed.scale.partitions import make_plan
from quietgraph.graph import CSR, Graph, block_model
from quietgraph.rng import torch_generator

WIDTH, ANCHORS, RANK = 256, 700, 52
SETTINGS = ContrastSettings(
    temperature=0.5,
    intra_view=False,
    anchors=ANCHORS,
    prototype_weight=0.5,
    prototype_counts=(20, 50),
    prototype_temperature=0.3,
    rank_weight=1.0,
    rank_ratio=0.2,
    rank_scale="mean",
    warm_up=0,
    first_view=ViewRates(0.2, 0.3),
    second_view=ViewRates(0.4, 0.4),
)


def make_graph(name: str) -> Graph:
    if name == "generated" or name.isdecimal():
        draws, nodes = np.random.default_rng(0), int(name) if name.isdecimal() else 200_000
        return block_model(nodes, num_features=128, mean_degree=10, generator=draws).graph
    return load(name).graph


def ours(graph: Graph) -> Callable[[], None]:
    encoder = GCNEncoder(graph.num_features, WIDTH, WIDTH, generator=torch_generator(0, "init"))
    trainer = ContrastTrainer(graph, encoder, SETTINGS, make_plan(graph, 1, seed=0), "l2")
    optimiser = Adam([{"params": encoder.parameters()}], learning_rate=1e-3)  # as in training

    def epoch() -> None:
        optimiser.zero_grad()
        trainer.losses(0)["loss"].backward()
        optimiser.step()

    return epoch


def floor(graph: Graph) -> Callable[[], None]:
    features = normalise_rows(graph.features, "l2")
    encoder = GCNEncoder(graph.num_features, WIDTH, WIDTH, generator=torch_generator(0, "init"))
    view = View(Propagation.of(graph).operator())
    gradient = torch.randn(graph.num_nodes, WIDTH, generator=torch_generator(0, "gradient"))

    def epoch() -> None:
        for _ in range(3):
            encoder(features, view).backward(gradient)

    return epoch


def pyg(graph: Graph) -> Callable[[], None]:
    from torch_geometric.nn import GCNConv  # noqa: PLC0415

    features = normalise_rows(graph.features, "l2")
    dense = features.to_dense() if isinstance(features, CSR) else features

    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = GCNConv(dense.shape[1], WIDTH), GCNConv(WIDTH, WIDTH)
            self.act = nn.PReLU()

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return self.second(self.act(self.first(x, edge_index)), edge_index)

    torch.manual_seed(0)
    encoder, draws = Encoder(), torch_generator(0, "views")
    edges = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    whole = torch.cat([edges, edges.flip(0)], dim=1)
    clusters: list = []

    def view(drop: float, mask: float) -> Tensor:
        kept = edges[:, torch.rand(edges.shape[1], generator=draws) >= drop]
        columns = (torch.rand(dense.shape[1], generator=draws) >= mask).float()
        return encoder(dense * columns, torch.cat([kept, kept.flip(0)], dim=1))

    def loss() -> Tensor:
        return _shared_loss(view(0.2, 0.3), view(0.4, 0.4), encoder(dense, whole), clusters, draws)

    return _stepper(encoder, loss)


def _shared_loss(
    first: Tensor, second: Tensor, whole: Tensor, clusters: list, draws: torch.Generator
) -> Tensor:
    picks = torch.randperm(len(first), generator=draws)[:ANCHORS]
    total = info_nce(first[picks], second[picks], temperature=0.5, intra_view=False)
    unit = F.normalize(whole, dim=1)
    fixed = unit.detach()
    if not clusters:
        clusters[:] = [start_clusters(fixed, count, generator=draws) for count in (20, 50)]
    clusters[:] = [lloyd_step(fixed, one, generator=draws) for one in clusters]
    for one in clusters:
        for seen in (first, second):
            near = F.normalize(seen[picks], dim=1)
            own = one.assignments[picks]
            total = total + 0.125 * prototype_loss(near, one.prototypes, own, temperature=0.3)
    return total + truncated_nuclear_norm(unit, RANK) / len(unit)


def dense(graph: Graph) -> Callable[[], None]:
    features = normalise_rows(graph.features, "l2")
    inputs = features.to_dense() if isinstance(features, CSR) else features
    adjacency = graph.adjacency.to_dense()
    draws = torch_generator(0, "views")
    encoder = nn.ParameterList(
        [nn.Parameter(torch.randn(a, WIDTH) / a**0.5) for a in (inputs.shape[1], WIDTH)]
    )

    def encode(x: Tensor, a: Tensor) -> Tensor:
        full = a + torch.eye(len(a))
        scale = full.sum(1).rsqrt()
        norm = scale[:, None] * full * scale
        return norm @ ((norm @ (x @ encoder[0])).relu() @ encoder[1])

    def view(drop: float, mask: float) -> Tensor:
        kept = torch.triu(torch.rand(adjacency.shape, generator=draws) >= drop, 1).float()
        columns = (torch.rand(inputs.shape[1], generator=draws) >= mask).float()
        return encode(inputs * columns, adjacency * (kept + kept.T))

    def loss() -> Tensor:
        first, second, whole = view(0.2, 0.3), view(0.4, 0.4), encode(inputs, adjacency)
        total = info_nce(first, second, temperature=0.5, intra_view=False, block_size=len(first))
        unit = F.normalize(whole, dim=1)
        start = start_clusters(unit.detach(), 20, generator=draws)  # afresh, as the paper says
        total = total + prototype_loss(unit, start.prototypes, start.assignments, temperature=0.3)
        values = torch.linalg.eigvalsh(unit @ unit.T)
        return total + values[: len(values) - RANK].sum() / len(unit)

    return _stepper(encoder, loss)


def _stepper(module: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], None]:
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-3)

    def epoch() -> None:
        optimiser.zero_grad(set_to_none=True)
        loss().backward()
        optimiser.step()

    return epoch


WAYS = {
    "ours": ours,
    "floor": floor,
    "pyg": pyg,
    "dense": dense,
    "bgrl": bgrl,
    "ggd": ggd,
    "s2gc": s2gc,
}


def measure(way: str, name: str, threads: int, repeats: int) -> dict[str, float]:
    torch.set_num_threads(threads)
    graph = make_graph(name)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    epoch = WAYS[way](graph)
    epoch()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        epoch()
        times.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": float(np.median(times)), "extra_mb": (peak - before) / 1024}


def show_by_turns(options: argparse.Namespace) -> None:
    """Print the median processor time of an epoch of each way, run by turns in one process."""
    torch.set_num_threads(options.threads)
    print("| graph | way | processor ms an epoch | times the last one |")
    print("|---|---|---|---|")
    names = options.by_turns.split(",")
    for name in options.graphs.split(","):
        graph = make_graph(name)
        ways = {way: WAYS[way](graph) for way in names}
        times: dict[str, list[float]] = {way: [] for way in ways}
        for turn in range(options.repeats + 1):
            for way, epoch in ways.items():
                started = time.process_time()
                epoch()
                if turn:  # the first one builds what is kept
                    times[way].append(time.process_time() - started)
        medians = {way: 1000 * float(np.median(taken)) for way, taken in times.items()}
        for way, taken in medians.items():
            ratio = taken / medians[names[-1]]
            print(f"| {name} | {way} | {taken:.0f} | {ratio:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--graphs", default="cora,pubmed,generated")
    parser.add_argument("--by-turns", metavar="WAYS", help="compare processor time of these ways")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "GRAPH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one, options.threads, options.repeats)))
        return
    if options.by_turns:
        show_by_turns(options)
        return
    print("| graph | way | seconds per epoch | times ours | extra memory MB |")
    print("|---|---|---|---|---|")
    for graph in options.graphs.split(","):
        rows = {}
        for way in ("ours", "floor", "pyg", "dense"):
            if way == "dense" and graph != "cora":
                continue  # N x N does not fit
            rows[way] = _in_own_process(way, graph, options)
        base = rows["ours"]["seconds"]
        for way, row in rows.items():
            ratio = row["seconds"] / base
            print(
                f"| {graph} | {way} | {row['seconds']:.3f} | {ratio:.2f} | {row['extra_mb']:.0f} |"
            )


def _in_own_process(way: str, graph: str, options: argparse.Namespace) -> dict[str, float]:
    command = [sys.executable, __file__, "--one", way, graph]
    command += ["--threads", str(options.threads), "--repeats", str(options.repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
