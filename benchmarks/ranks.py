"""A whole fit by one process and by two: memory of each process, and the same predictions.

    python benchmarks/ranks.py [--nodes 210000] [--workers 2] [--method quiet]
    python benchmarks/ranks.py --rows-only --nodes 150000   # embedding and propagation alone
    python benchmarks/ranks.py --numbers --nodes 2000000      # what a process holds of a node

A converted folder of a block model is fitted through the command line: training in partitions,
embedding, classifying, quality, suspects, report. The memory of every process is read from /proc
while it runs: anonymous pages are its own, file pages those of mapped files, which are shared.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import torch

import quietgraph as qg
from quietgraph.classify.calibration import Calibration
from quietgraph.data import labels, splits
from quietgraph.data.load import load
from quietgraph.embed.scale import large_matrix, partitions, streaming
from quietgraph.embed.scale.block_inference import BlockOperator, encode_in_blocks
from quietgraph.embed.scale.checkpoint import Checkpoints, use_checkpoints
from quietgraph.embed.scale.distributed import current_world, join_world
from quietgraph.embed.scale.node_rows import node_rows
from quietgraph.graph import block_model
from quietgraph.graph.io import memory_mapped
from quietgraph.methods.base import reach
from quietgraph.methods.base.task import make_task
from quietgraph.methods.low_rank.classifier_rows import classifier_rows, linear_scores, mean_row
from quietgraph.methods.low_rank.encoder import new_encoder
from quietgraph.report.shared_rows import read_predictions, write_rows

SETTINGS = {"partitions": 8, "partitions_per_step": 2, "epochs": 8, "warm_up": 2}


def make_folder(nodes: int, folder: Path, *, features: int = 128, degree: float = 10.0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    draws = np.random.default_rng(0)
    sizes = {"num_features": features, "mean_degree": degree}
    drawn = block_model(nodes, num_classes=10, **sizes, generator=draws)
    told = np.full(nodes, -1)
    known = draws.permutation(nodes)[: nodes // 100]
    told[known] = drawn.classes[known]
    graph = drawn.graph
    source = folder / "graph.npz"
    np.savez(source, x=graph.features, edge_index=graph.edge_index, y=told)
    quietgraph("convert", str(source), str(folder / "graph"))
    source.unlink()
    return folder / "graph"


def quietgraph(*words: str) -> dict[int, dict[str, float]]:
    """Run a command; return the largest memory of every process below it, in MB."""
    command = [sys.executable, "-m", "quietgraph", *words]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peaks: dict[int, dict[str, float]] = {}
    while running.poll() is None:
        for pid in [running.pid, *_children(running.pid)]:
            for name, size in _memory(pid).items():
                found = peaks.setdefault(pid, {})
                found[name] = max(found.get(name, 0.0), size)
        time.sleep(0.1)
    if running.returncode:
        raise SystemExit(f"failed: {' '.join(command)}")
    return peaks


def _children(pid: int) -> list[int]:
    try:
        return [one.pid for one in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _memory(pid: int) -> dict[str, float]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        ticks = sum(psutil.Process(pid).cpu_times()[:2])
    except (OSError, psutil.Error):
        return {}
    rows = dict(line.split(":", 1) for line in lines)
    sizes = {"own": "RssAnon", "mapped": "RssFile"}
    found = {name: int(rows[key].split()[0]) / 1024 for name, key in sizes.items() if key in rows}
    return {**found, "seconds": ticks}


def measure_rows(nodes: int, folder: Path) -> dict[str, float]:
    """Embed, average over neighbours and score all nodes; return MB beyond those of the graph."""
    draws = np.random.default_rng(0)
    graph = block_model(nodes, num_classes=10, num_features=32, generator=draws).graph
    model = qg.GCLLRAttention(attribute_branch=False)
    encoder = new_encoder(model, graph.num_features, 0)
    peak, ended = {"own": 0.0, "mapped": 0.0}, threading.Event()

    def watch() -> None:
        while not ended.wait(0.02):
            for name, size in _memory(os.getpid()).items():
                peak[name] = max(peak.get(name, 0.0), size)

    before = _memory(os.getpid())
    watcher = threading.Thread(target=watch)
    watcher.start()
    with torch.no_grad(), use_checkpoints(Checkpoints(folder)):
        embeddings = encode_in_blocks(encoder, graph, feature_norm="l2")
        mean = mean_row(embeddings)
        rows = classifier_rows(embeddings, graph, mean, steps=10, centre=True)
        state = {**model._survey(rows), "weight": torch.ones(512, 10), "bias": torch.zeros(10)}
        scores = linear_scores(rows, model._features, state)
        total = float(node_rows(nodes).sum(lambda some: scores[some].double().sum()))
    ended.set()
    watcher.join()
    peak["own"] -= before["own"]
    return {**peak, "sum": total}


class Watch:
    """Own memory of this process, read by another one, so that no computation hides its peak."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self.wanted, self.told = context.Event(), context.Event()
        self.peak = context.Value("d", 0.0)
        context.Process(target=self._read, args=(os.getpid(),), daemon=True).start()
        self.rows: list[dict[str, object]] = []

    @contextmanager
    def step(self, name: str, nodes: int) -> Iterator[None]:
        """Add a row: bytes a node that a step leaves, and that it takes at most."""
        before = _memory(os.getpid())["own"]
        self._tell()
        yield
        held = _memory(os.getpid())["own"] - before
        most = max(held, self._tell() - before)
        sizes = {"held": held * 2**20 / nodes, "most": most * 2**20 / nodes}
        self.rows.append({"step": name, **sizes})

    def _tell(self) -> float:
        """Return the peak since the last call."""
        self.wanted.set()
        self.told.wait()
        self.told.clear()
        return float(self.peak.value)

    def _read(self, pid: int) -> None:
        parent, peak = os.getppid(), 0.0
        while os.getppid() == parent:
            peak = max(peak, _memory(pid).get("own", 0.0))
            if self.wanted.is_set():
                self.wanted.clear()
                self.peak.value, peak = peak, 0.0
                self.told.set()


def use_small_blocks() -> None:
    """Make blocks as small beside this graph as they are beside one of many millions of nodes."""
    memory_mapped._SMALL = 0  # larger folders are not read whole when they are opened
    labels._AT_ONCE = memory_mapped._AT_ONCE = partitions._AT_ONCE = splits._AT_ONCE = 2**14
    streaming._MOST_ROWS, reach._ENTRIES, large_matrix._MOST_NUMBERS = 2**12, 2**14, 0


def measure_numbers(nodes: int, folder: Path) -> list[dict[str, object]]:
    """Do what a fit does with numbers per node, without training and rows; return bytes a node."""
    watch, world = Watch(), current_world()
    use_small_blocks()
    few = pa.table({"node": np.arange(2**14), "predicted": ["a"] * 2**14})
    pq.write_table(few, pa.BufferOutputStream())  # what Arrow takes once is not per node
    model = qg.GCLLRAttention()
    with use_checkpoints(Checkpoints(folder)):
        with watch.step("graph, ids and labels read", nodes):
            observed = load(folder / "graph")
        with watch.step("labels as a method takes them", nodes):
            model.task_, model.classes_ = make_task(observed, 0)
        with watch.step("graph cut in partitions", nodes):
            plan = partitions.make_plan(
                observed.graph, 64, per_step=2, world=world, seed=0, partitioner="streaming"
            )
        with watch.step("degrees", nodes):
            operator = BlockOperator(observed.graph.adjacency)
        model.scores_ = node_rows(nodes).fill(
            "s", lambda rows: torch.rand(len(range(nodes)[rows]), 10)
        )
        model.embeddings_ = model.scores_.numpy()
        model.calibration_ = Calibration()
        known = observed.known.nonzero().squeeze(1)
        with watch.step("labels hidden for folds", nodes):
            model._fold_learner = lambda: lambda task: torch.rand(len(task.asked), 10)
            model._out_of_fold(model.task_.on(known))
        with watch.step("nodes that no label reaches", nodes):
            reach.count_unreached(observed.graph.adjacency, model.task_.labels)
        with watch.step("predictions with ids written", nodes):
            write_rows(model, observed.node_ids, folder)
    del plan, operator
    return watch.rows


def show_numbers(options: argparse.Namespace) -> None:
    print("| step | bytes a node left | bytes a node at most |\n|---|---|---|")
    folder = options.folder
    if not (folder / "graph").exists():
        make_folder(options.nodes, folder, features=4, degree=4.0)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={options.workers}", __file__, "--numbers", "--inside"]
    command += ["--nodes", str(options.nodes), "--folder", str(folder)]
    # Freed memory goes back at once, so that what is held is what is needed.
    own = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=own)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    held = 0.0
    for steps in zip(*found, strict=True):  # of the process that holds most
        left, most = (max(one[name] for one in steps) for name in ("held", "most"))
        print(f"| {steps[0]['step']} | {left:.1f} | {held + most:.1f} |", flush=True)
        held += left


def show_rows(options: argparse.Namespace) -> None:
    print("| processes | process | own MB | mapped MB | processor s | sum of scores |")
    print("|---|---|---|---|---|---|")
    folder = options.folder
    for count in (1, options.workers):
        command = [sys.executable]
        if count > 1:
            command += ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={count}"]
        command += [__file__, "--rows-only", "--inside", "--nodes", str(options.nodes)]
        command += ["--folder", str(folder)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for number, one in enumerate(found):
            print(
                f"| {count} | {number} | {one['own']:.0f} | {one['mapped']:.0f} | "
                f"{one['seconds']:.0f} | {one['sum']:.6g} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=210_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--method", default="gcl-lr-attention", help="of the whole fit")
    parser.add_argument("--folder", type=Path, help="where to work; a temporary one without it")
    parser.add_argument("--rows-only", action="store_true")
    parser.add_argument("--numbers", action="store_true", help="what is held of each node")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = options.folder or Path(tempfile.mkdtemp(prefix="quietgraph-ranks-"))
    if options.inside:
        torch.set_num_threads(1)
        measure = measure_numbers if options.numbers else measure_rows
        with join_world() if "RANK" in os.environ else nullcontext():
            print(json.dumps(measure(options.nodes, options.folder)), flush=True)
    elif options.numbers:
        show_numbers(options)
    elif options.rows_only:
        show_rows(options)
    else:
        show_fit(options)


def show_fit(options: argparse.Namespace) -> None:
    folder, graph = options.folder, options.folder / "graph"
    graph = graph if graph.exists() else make_folder(options.nodes, folder)
    words = ["fit", str(graph), "--method", options.method, "--threads", "1"]
    known = [name for name in SETTINGS if hasattr(qg.get_method(options.method), name)]
    words += [word for name in known for word in ("--set", f"{name}={SETTINGS[name]}")]
    words += ["--set", "partitioner=streaming", "--overwrite"]
    print("| processes | process | own MB | mapped MB | processor s |\n|---|---|---|---|---|")
    for count in (1, options.workers):
        more = ["--workers", str(count)] if count > 1 else []
        peaks = quietgraph(*words, "--out", str(folder / f"run-{count}"), *more)
        busiest = sorted(peaks.values(), key=lambda one: -one["seconds"])[:count]
        for number, one in enumerate(busiest):
            print(
                f"| {count} | {number} | {one['own']:.0f} | {one['mapped']:.0f} | "
                f"{one['seconds']:.0f} |",
                flush=True,
            )
    one, several = (read_predictions(folder / f"run-{n}") for n in (1, options.workers))
    columns = [name for name in one.columns if name.startswith("p_")]
    off = np.abs(one[columns].to_numpy() - several[columns].to_numpy()).max()
    same = (one["predicted"].to_numpy() == several["predicted"].to_numpy()).mean()
    print(f"\nsame class: {same:.6f} of {len(one):,} nodes; probabilities differ by {off:.1e}")


if __name__ == "__main__":
    main()
