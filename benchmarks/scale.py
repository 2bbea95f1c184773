"""Time and memory of fits against the size of the graph, on one machine.

    python benchmarks/scale.py sizes [--sizes 10000,100000,1000000] [--epochs 2] [--threads 2]
    python benchmarks/scale.py floor                # an epoch at 100,000 nodes beside the floor
    python benchmarks/scale.py ranks                # two gloo ranks beside one process
    python benchmarks/scale.py accuracy             # partitions against the whole graph, real data
    python benchmarks/scale.py command              # whole `quietgraph fit`, from a folder
    python benchmarks/scale.py cluster              # arithmetic for 100 million nodes

Everything is measured in a process of its own; ratios come from one run of this file.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import quietgraph as qg
from quietgraph.embed import Schedule
from quietgraph.embed.adam import Adam
from quietgraph.embed.contrast import train_embeddings
from quietgraph.embed.contrast_trainer import ContrastTrainer
from quietgraph.embed.scale.distributed import ALONE, World, join_world
from quietgraph.embed.scale.partitions import make_plan
from quietgraph.methods.low_rank.contrast import LowRankContrast
from quietgraph.methods.low_rank.encoder import contrast_settings, new_encoder
from scale_accuracy import measure_accuracy, show_accuracy
from scale_arithmetic import Cluster, show_cluster
from scale_command import show_command
from scale_sizes import FEATURES, make_graph, measure_fit, peak_mb, show_sizes

DEGREE = 10


def measure_floor(num_nodes: int, way: str, partitions: int) -> dict[str, float]:
    """An epoch of training, or three bare passes of the encoder (as in benchmarks/epoch.py)."""
    import epoch as single  # noqa: PLC0415  (the file beside this one)

    graph = make_graph(num_nodes).graph
    run: Callable[[], None]
    if way == "floor":
        run = single.floor(graph)
    elif partitions == 1:
        run = single.ours(graph)
    else:
        run = _epoch_in_partitions(graph, partitions)
    run()
    times = []
    for _ in range(3):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return {"seconds": float(np.median(times)), "peak_mb": peak_mb()}


def _epoch_in_partitions(graph: qg.Graph, partitions: int) -> Callable[[], None]:
    model = _model(partitions)
    encoder = new_encoder(model, graph.num_features, 0)
    plan = make_plan(graph, partitions, seed=0)
    trainer = ContrastTrainer(graph, encoder, contrast_settings(model), plan, model.feature_norm)
    optimiser = Adam([{"params": encoder.parameters()}], learning_rate=1e-3)

    def epoch() -> None:
        for step in range(plan.steps):
            optimiser.zero_grad()
            trainer.losses(step)["loss"].backward()
            optimiser.step()

    return epoch


def show_floor(options: argparse.Namespace) -> None:
    size = options.sizes.split(",")[-1]
    rows = {"floor": _alone("floor", size, "floor", "1", options=options)}
    for partitions in ("1", "2", "4"):
        rows[f"ours, partitions {partitions}"] = _alone(
            "floor", size, "ours", partitions, options=options
        )
    base = rows["floor"]["seconds"]
    print(f"{int(size):,} nodes\n\n| way | s an epoch | times the floor | peak MB |")
    print("|---|---|---|---|")
    for name, row in rows.items():
        ratio = row["seconds"] / base
        print(f"| {name} | {row['seconds']:.2f} | {ratio:.2f} | {row['peak_mb']:.0f} |")


def _model(partitions: int, epochs: int = 2) -> LowRankContrast:
    model = qg.get_method("gcl-lr-attention")(epochs=epochs, warm_up=0, partitions=partitions)
    assert isinstance(model, LowRankContrast)
    return model


def measure_ranks(num_nodes: int, partitions: int, epochs: int, world: World) -> dict[str, float]:
    """Training alone, of pairs of partitions, by the processes of this world."""
    graph = make_graph(num_nodes).graph
    model = _model(partitions, epochs + 1)
    encoder = new_encoder(model, graph.num_features, 0)
    plan = make_plan(graph, partitions, per_step=2, world=world, seed=0)
    history = train_embeddings(
        graph,
        encoder,
        contrast_settings(model),
        Schedule(epochs + 1, 1e-3, 1e-5),
        plan=plan,
        feature_norm="l2",
    )
    seconds = np.diff([record["seconds"] for record in history])
    return {"seconds": float(np.median(seconds)), "loss": history[-1]["loss"], "peak_mb": peak_mb()}


def show_ranks(options: argparse.Namespace) -> None:
    size = options.sizes.split(",")[-1]
    tail = [size, "4", str(options.epochs)]
    rows = {
        f"1 process, {options.threads} threads": _alone("ranks", *tail, options=options),
        f"2 gloo ranks, {options.threads // 2} thread each": _alone(
            "ranks", *tail, options=replace_threads(options), ranks=2
        ),
    }
    base = next(iter(rows.values()))
    print(f"{int(size):,} nodes, 4 partitions, 2 in a step\n")
    print("| way | s an epoch | times one process | last loss | peak MB a process |")
    print("|---|---|---|---|---|")
    for name, row in rows.items():
        print(
            f"| {name} | {row['seconds']:.2f} | {row['seconds'] / base['seconds']:.2f} | "
            f"{row['loss']:.6f} | {row['peak_mb']:.0f} |"
        )


def replace_threads(options: argparse.Namespace) -> argparse.Namespace:
    return argparse.Namespace(**{**vars(options), "threads": max(1, options.threads // 2)})


def measure_one(kind: str, arguments: list[str]) -> dict[str, float] | None:
    if kind == "fit":
        return measure_fit(*map(int, arguments[:3]), arguments[3])
    if kind == "floor":
        return measure_floor(int(arguments[0]), arguments[1], int(arguments[2]))
    if kind == "accuracy":
        name, seed, variant, noise, sample = arguments
        return measure_accuracy(name, int(seed), variant, noise, int(sample))
    size, partitions, epochs = map(int, arguments)
    if "RANK" not in os.environ:
        return measure_ranks(size, partitions, epochs, ALONE)
    with join_world() as world:
        found = measure_ranks(size, partitions, epochs, world)
        return found if world.is_first else None


def _alone(kind: str, *arguments: str, options: argparse.Namespace, ranks: int = 1) -> Any:
    """Return what `measure_one` gives in a process of its own, or in several ranks."""
    command = [sys.executable]
    if ranks > 1:
        command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [__file__, "--threads", str(options.threads), "one", kind, *arguments]
    threads = {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **threads}
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(found[-1])


SHOWS = {
    "sizes": lambda options: show_sizes(options, _alone),
    "floor": show_floor,
    "ranks": show_ranks,
    "accuracy": lambda options: show_accuracy(options, _alone),
    "command": show_command,
    "cluster": show_cluster,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=[*SHOWS, "one"])
    parser.add_argument("arguments", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", help="nodes; floor and ranks take the last one")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--partitions", type=int, default=0, help="of sizes; 0 chooses by size")
    parser.add_argument("--datasets", default="pubmed,coauthor-cs")
    parser.add_argument("--counts", type=int, default=4, help="partitions of accuracy")
    parser.add_argument("--seeds", default="5", help="5 is 0-4")
    parser.add_argument("--ways", default="metis", help="of accuracy: metis, streaming, -blocks")
    parser.add_argument("--noise", default="symmetric:0.4")
    parser.add_argument(
        "--methods", default="gcl-lr-attention,quiet", help="of sizes, command, accuracy"
    )
    parser.add_argument("--set", action="append", help="of command: parameters of the methods")
    parser.add_argument("--sample", type=int, default=5000, help="of accuracy, for quiet")
    parser.add_argument("--features", type=int, default=FEATURES, help="of command")
    parser.add_argument("--degree", type=float, default=DEGREE, help="of command")
    parser.add_argument("--labels", type=int, help="of command; one node in a hundred without it")
    parser.add_argument("--folder", help="of command: where graphs and runs are kept")
    parser.add_argument("--epoch-ns", type=float, default=Cluster.epoch_ns)
    parser.add_argument("--encode-ns", type=float, default=Cluster.encode_ns)
    options = parser.parse_args()
    if options.command == "one":
        torch.set_num_threads(options.threads)
        found = measure_one(options.arguments[0], options.arguments[1:])
        if found is not None:
            print(json.dumps(found))
        return
    every = "10000,100000,1000000" if options.command == "sizes" else "100000"
    options.sizes = options.sizes or every
    SHOWS[options.command](options)


if __name__ == "__main__":
    main()
