"""Processor time and memory of a fit against the size of the graph, with equal epochs.

python benchmarks/scale.py sizes [--sizes 10000,100000,1000000] [--epochs 2] [--threads 1]
"""

import argparse
import resource
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import quietgraph as qg
from quietgraph.callbacks import Epoch
from quietgraph.embed.scale.block_inference import encode_in_blocks
from quietgraph.embed.scale.partitions import count_partitions
from quietgraph.graph import LabelledGraph, block_model
from quietgraph.methods.low_rank.encoder import new_encoder
from quietgraph.methods.quiet.quiet import Quiet

FEATURES, DEGREE, CLASSES = 128, 10, 10


def make_graph(num_nodes: int) -> LabelledGraph:
    return block_model(
        num_nodes,
        num_classes=CLASSES,
        num_features=FEATURES,
        mean_degree=DEGREE,
        generator=np.random.default_rng(0),
    )


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def without_warm_up(method: str) -> Callable[..., qg.NodeClassifier]:
    """Return an estimator whose steps have all losses from the first one on, at every size."""
    if method != "quiet":
        return partial(qg.get_method(method), warm_up=0)
    usual = Quiet._low_rank
    Quiet._low_rank = lambda self, seed: replace(usual(self, seed), warm_up=0)  # type: ignore[method-assign]
    return Quiet


def measure_fit(num_nodes: int, epochs: int, partitions: int, method: str) -> dict[str, float]:
    """One whole fit: training, embeddings, classifiers; 1 % of the labels are given."""
    drawn = make_graph(num_nodes)
    labels = np.full(num_nodes, -1)
    known = np.random.default_rng(1).permutation(num_nodes)[: max(200, num_nodes // 100)]
    labels[known] = drawn.classes[known]
    steps = (epochs + 1) * count_partitions(num_nodes, partitions)
    model = without_warm_up(method)(epochs=steps, partitions=partitions)
    ends: list[float] = []  # of the epochs of the encoder, in processor seconds

    def note(epoch: Epoch) -> None:
        if epoch.what == "learning embeddings":
            ends.append(time.process_time())

    started = time.process_time()
    model.fit(drawn.graph, labels, callbacks=[note])
    total, unknown = time.process_time() - started, labels < 0
    again = time.process_time()
    encode_in_blocks(new_encoder(qg.GCLLRR(), FEATURES, 0), drawn.graph, feature_norm="l2")
    encoding = time.process_time() - again
    return {
        "nodes": num_nodes,
        "method": method,
        "partitions": count_partitions(num_nodes, partitions),
        "seconds_epoch": float(np.median(np.diff(ends))),
        "entries": 2 * drawn.graph.num_edges + num_nodes,
        "seconds_encoding": encoding,
        "seconds_fit": total,
        "seconds_rest": started + total - ends[-1],
        "peak_mb": peak_mb(),
        "accuracy": float((model.predict()[unknown] == drawn.classes[unknown]).mean()),
    }


def show_sizes(options: argparse.Namespace, measure: Callable[..., Any]) -> None:
    """Print a line for each size and method, and the exponents of time in size."""
    print(
        "| method | nodes | partitions | s an epoch | ns an entry and epoch | "
        "ns an entry to embed | fit s | after training s | peak MB | right % |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows: dict[str, list[Any]] = {method: [] for method in options.methods.split(",")}
    for size in options.sizes.split(","):
        for method, found in rows.items():
            tail = (size, str(options.epochs), str(options.partitions), method)
            row = measure("fit", *tail, options=options)
            found.append(row)
            print(
                f"| `{method}` | {row['nodes']:,} | {row['partitions']} | "
                f"{row['seconds_epoch']:.2f} | {1e9 * row['seconds_epoch'] / row['entries']:.0f} | "
                f"{1e9 * row['seconds_encoding'] / row['entries']:.0f} | "
                f"{row['seconds_fit']:.1f} | {row['seconds_rest']:.1f} | {row['peak_mb']:.0f} | "
                f"{100 * row['accuracy']:.1f} |",
                flush=True,
            )
    if "," in options.sizes:
        show_exponents(rows)


def show_exponents(rows: dict[str, list[Any]]) -> None:
    """Print the exponent of processor time in size, of all sizes and of the last two."""
    print("\n| method | of an epoch | last two sizes | of the fit | last two sizes |")
    print("|---|---|---|---|---|")
    for method, found in rows.items():
        words = []
        for name in ("seconds_epoch", "seconds_fit"):
            logs = np.log([[row["nodes"], row[name]] for row in found])
            last = np.diff(logs[-2:], axis=0)[0]
            words += [f"{np.polyfit(*logs.T, 1)[0]:.2f}", f"{last[1] / last[0]:.2f}"]
        print(f"| `{method}` | {' | '.join(words)} |")
