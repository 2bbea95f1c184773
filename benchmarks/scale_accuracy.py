"""Accuracy of partitions and blocks against the whole graph, on real data.

    python benchmarks/scale.py accuracy [--methods gcl-lr-attention,quiet] [--datasets pubmed]
        [--seeds 9200-9204] [--ways metis,streaming,metis-blocks] [--noise symmetric:0.4]

Every seed is a draw of the benchmark's protocol (split, noise, first weights), the same for all
ways; differences are paired. With `blocks` candidates of `quiet` learn from labelled and
`--sample` drawn nodes and scores are computed in blocks, as above 50,000 nodes.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np

from quietgraph.bench.protocol import Run, score
from quietgraph.embed.scale import node_sample
from quietgraph.methods.quiet import features as quiet_features

WHOLE = "whole graph"


def seed_list(text: str) -> list[int]:
    """Return the seeds of `5` (0-4), `9200-9204` or `3,4`."""
    if "-" in text:
        first, last = map(int, text.split("-"))
        return list(range(first, last + 1))
    return list(map(int, text.split(","))) if "," in text else list(range(int(text)))


def variant(method: str, way: str, partitions: int) -> str:
    """Return the method with the parameters of a way."""
    if way == WHOLE:
        return f"{method}:partitions=1"
    return f"{method}:partitions={partitions}:partitioner={way.removesuffix('-blocks')}"


def show_accuracy(options: argparse.Namespace, measure: Callable[..., dict[str, float]]) -> None:
    """Print a line for each dataset, method and way; seeds that are done stand on stderr."""
    print("| dataset | method | cut | accuracy % | std | difference | its std | n | processor s |")
    print("|---|---|---|---|---|---|---|---|---|")
    ways = [WHOLE, *options.ways.split(",")]
    for name in options.datasets.split(","):
        for method in options.methods.split(","):
            runs: dict[str, list[dict[str, float]]] = {
                way: [] for way in ways if method == "quiet" or not way.endswith("-blocks")
            }
            for seed in seed_list(options.seeds):
                for way, found in runs.items():
                    sample = str(options.sample if way.endswith("-blocks") else 0)
                    words = (variant(method, way, options.counts), options.noise, sample)
                    found.append(measure("accuracy", name, str(seed), *words, options=options))
                    print(name, method, way, seed, found[-1], file=sys.stderr, flush=True)
            _show(name, method, runs)


def _show(name: str, method: str, runs: dict[str, list[dict[str, float]]]) -> None:
    whole: np.ndarray | None = None
    for way, found in runs.items():
        hits = 100 * np.array([one["accuracy"] for one in found])
        whole = hits if whole is None else whole
        off = hits - whole
        free = min(1, len(hits) - 1)
        beside = " | " if way == WHOLE else f"{off.mean():+.2f} | {off.std(ddof=free):.2f}"
        seconds = np.mean([one["seconds"] for one in found])
        print(
            f"| {name} | `{method}` | {way} | {hits.mean():.1f} | {hits.std(ddof=free):.1f} | "
            f"{beside} | {len(hits)} | {seconds:.0f} |",
            flush=True,
        )


def measure_accuracy(
    name: str, seed: int, variant: str, noise: str, sample: int
) -> dict[str, float]:
    """Return test accuracy and processor seconds of one fit."""
    if sample:  # as in a large graph
        node_sample.MOST_NODES, quiet_features._WHOLE_UP_TO = sample, sample
    run = Run.parse(name, variant, noise, seed)
    observation, reference = run.observe()
    started = time.process_time()
    model = run.fit(observation)
    seconds = time.process_time() - started
    return {
        "accuracy": score(model, observation, reference)["test_accuracy"],
        "seconds": seconds,
    }
