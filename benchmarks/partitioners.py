"""METIS, streaming and chance as partitioners: lost edges, processor time, accuracy.

    python benchmarks/partitioners.py pubmed [--seeds 5] [--partitions 4]
    python benchmarks/partitioners.py generated --seeds 3 --nodes 170000 --whole
    python benchmarks/partitioners.py generated --seeds 0    # lost edges alone

PubMed by the protocol of the benchmark with symmetric noise of 40 %; the generated graph has
100,000 nodes (`--nodes`) in 10 classes, 20 labels of each class, 40 % of them
wrong.
"""

import argparse
import time
from functools import partial

import numpy as np
import torch

import quietgraph as qg
from quietgraph.bench.protocol import Run, score
from quietgraph.embed.scale.partitions import cut_nodes
from quietgraph.graph import CSR, block_model

WAYS = ("metis", "streaming", "random")


def cut(adjacency: CSR, partitions: int, way: str) -> tuple[float, float]:
    """Return the fraction of edges between partitions, and the processor seconds of the cut."""
    started = time.process_time()
    owner = cut_nodes(adjacency, partitions, seed=0, partitioner=way)
    seconds = time.process_time() - started
    lost = owner[adjacency.rows] != owner[adjacency.columns.long()]
    return float(lost.float().mean()), seconds


def pubmed_accuracy(seed: int, settings: str) -> float:
    run = Run.parse("pubmed", f"gcl-lr-attention:{settings}", "symmetric:0.4", seed)
    observation, reference = run.observe()
    return score(run.fit(observation), observation, reference)["test_accuracy"]


def generated(seed: int, nodes: int) -> tuple[qg.Graph, np.ndarray, np.ndarray]:
    """Return a graph, labels of which 40 % are wrong, and the true classes."""
    draws = np.random.default_rng(seed)
    drawn = block_model(
        nodes, num_classes=10, num_features=128, homophily=0.5, signal=1.2, generator=draws
    )
    labels = np.full(nodes, -1)
    for code in range(10):
        labels[draws.permutation(np.flatnonzero(drawn.classes == code))[:20]] = code
    known = np.flatnonzero(labels >= 0)
    wrong = draws.permutation(known)[: len(known) * 2 // 5]
    labels[wrong] = (labels[wrong] + draws.integers(1, 10, len(wrong))) % 10
    return drawn.graph, labels, drawn.classes


def generated_accuracy(seed: int, settings: str, *, nodes: int, steps: int | None) -> float:
    graph, labels, classes = generated(seed, nodes)
    pairs = dict(pair.split("=") for pair in settings.split(":"))
    partitions, way = int(pairs["partitions"]), pairs.get("partitioner", "auto")
    model = qg.GCLLRAttention(seed=seed, epochs=steps, partitions=partitions, partitioner=way)
    unknown = labels < 0
    return float((model.fit(graph, labels).predict()[unknown] == classes[unknown]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", choices=("pubmed", "generated"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--whole", action="store_true", help="the whole graph beside them")
    parser.add_argument("--nodes", type=int, default=100_000, help="of the generated graph")
    parser.add_argument("--steps", type=int, help="of the generated graph; the default without it")
    parser.add_argument("--ways", default=",".join(WAYS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    is_real = options.graph == "pubmed"
    adjacency = (qg.load("pubmed").graph if is_real else generated(0, options.nodes)[0]).adjacency
    fit = (
        pubmed_accuracy
        if is_real
        else partial(generated_accuracy, nodes=options.nodes, steps=options.steps)
    )
    settings = {"whole graph": "partitions=1"} if options.whole else {}
    chosen = options.ways.split(",")
    settings |= {way: f"partitions={options.partitions}:partitioner={way}" for way in chosen}
    print("| cut | lost edges % | s of the cut | accuracy % | std | n | s a fit |")
    print("|---|---|---|---|---|---|---|")
    for name, text in settings.items():
        lost, seconds = (0.0, 0.0) if name not in WAYS else cut(adjacency, options.partitions, name)
        started = time.process_time()
        hits = 100 * np.array([fit(seed, text) for seed in range(options.seeds)])
        used = (time.process_time() - started) / max(len(hits), 1)  # the draw of the graph too
        accuracy = "| | | |"
        if len(hits):
            spread = hits.std(ddof=min(1, len(hits) - 1))
            accuracy = f"{hits.mean():.1f} | {spread:.1f} | {len(hits)} | {used:.0f} |"
        print(f"| {name} | {100 * lost:.1f} | {seconds:.2f} | {accuracy}", flush=True)


if __name__ == "__main__":
    main()
