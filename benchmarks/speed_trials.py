"""Three ways to go faster that a profile suggests: node order, bfloat16, torch.compile.

    python benchmarks/speed_trials.py [--graphs pubmed,generated] [--threads 2] [--repeats 7]

A trial and the plain way run in turn in one process; the ratio of their medians counts, and above
1 the trial is slower. `order` renumbers the nodes so that neighbours lie near each other in memory,
for a whole training epoch; `bfloat16` propagates half the bytes; `compile` gives the dense part of
a layer, forward and backward, to torch.compile.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from scipy.sparse.csgraph import reverse_cuthill_mckee
from torch import Tensor

from epoch import WIDTH, make_graph, ours
from quietgraph.embed.encoder import leaky
from quietgraph.embed.propagation import Propagation, propagate
from quietgraph.embed.scale.partitions import cut_by_metis, take_features
from quietgraph.graph import CSR, Graph

_PIECES = 64
Way = Callable[[], object]


def renumber(graph: Graph, order: Tensor) -> Graph:
    """Return the graph whose node i is node order[i] of the given one."""
    places = order.numpy()
    adjacency = CSR.from_scipy(graph.adjacency.to_scipy()[places][:, places])
    return replace(graph, features=take_features(graph.features, order), adjacency=adjacency)


def orders(graph: Graph) -> dict[str, tuple[Way, Way]]:
    narrow = reverse_cuthill_mckee(graph.adjacency.to_scipy(), symmetric_mode=True)
    found = {
        "order: reverse Cuthill-McKee": torch.from_numpy(narrow.astype(np.int64)),
        "order: by METIS piece": cut_by_metis(graph.adjacency, _PIECES, 0).argsort(stable=True),
        "order: at random": torch.randperm(graph.num_nodes),
    }
    return {name: (ours(graph), ours(renumber(graph, order))) for name, order in found.items()}


def halves(graph: Graph) -> dict[str, tuple[Way, Way]]:
    operator = Propagation.of(graph).operator()
    half = operator.with_values(operator.values.bfloat16())
    dense, weight = torch.randn(graph.num_nodes, WIDTH), torch.randn(WIDTH, WIDTH)
    short, short_weight = dense.bfloat16(), weight.bfloat16()
    return {
        "bfloat16: propagation": (
            lambda: propagate(operator, dense),
            lambda: propagate(half, short),
        ),
        "bfloat16: dense product": (lambda: dense @ weight, lambda: short @ short_weight),
    }


def compiled(graph: Graph) -> dict[str, tuple[Way, Way]]:
    rows = torch.randn(graph.num_nodes, WIDTH)
    weight, bias, slope = (
        value.requires_grad_()
        for value in (torch.randn(WIDTH, WIDTH) / WIDTH, torch.zeros(WIDTH), torch.full((1,), 0.25))
    )

    def layer(activation: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
        return (activation(rows + bias, slope) @ weight).square().mean()

    def stock(values: Tensor, slope: Tensor) -> Tensor:
        return torch.where(values > 0, values, slope * values)

    whole = torch.compile(lambda: layer(stock))
    return {
        "compile: activation and product": (
            lambda: layer(leaky).backward(),
            lambda: whole().backward(),
        )
    }


def ratio(plain: Way, trial: Way, repeats: int) -> tuple[float, float]:
    """Return the median seconds of the plain way, and those of the trial over them."""
    times: dict[Way, list[float]] = {plain: [], trial: []}
    for _ in range(repeats + 1):
        for way, taken in times.items():
            started = time.perf_counter()
            way()
            taken.append(time.perf_counter() - started)
    base, other = (float(np.median(taken[1:])) for taken in times.values())
    return base, other / base


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", default="pubmed,generated")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| graph | trial | plain s | trial / plain |\n|---|---|---|---|")
    for name in options.graphs.split(","):
        graph = make_graph(name)
        for trials in (orders, halves, compiled):
            for trial, ways in trials(graph).items():
                base, found = ratio(*ways, options.repeats)
                print(f"| {name} | {trial} | {base:.4f} | {found:.2f} |", flush=True)


if __name__ == "__main__":
    main()
