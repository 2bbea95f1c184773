"""Whole runs of `quietgraph fit` on a converted folder: processor time and peak memory.

    python benchmarks/scale.py command --sizes 1000000 [--methods gcl-lr-attention,quiet]

Training, embedding, classifying, suspects and report are all in the figures. A third of the given
labels is wrong. The graph is written once as `.npz` and converted by `quietgraph convert`; with
`--folder` it is kept there and used again.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from quietgraph.graph import LabelledGraph, block_model

CLASSES, WRONG = 10, 0.3


def show_command(options: argparse.Namespace) -> None:
    """Print one line for each method, beside the first one."""
    size = int(options.sizes.split(",")[-1])
    print("| method | processor s | times the first | wall s | own MB | peak MB | test accuracy |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory(prefix="quietgraph-scale-") as scratch:
        folder = Path(options.folder or scratch) / str(size)
        classes, labels = _convert(size, options, folder)
        base = None
        for method in options.methods.split(","):
            shutil.rmtree(folder / method, ignore_errors=True)
            row = _fit(folder, method, options)
            base = base or row["cpu"]
            hits = _accuracy(folder / method, classes, labels)
            print(
                f"| {method} | {row['cpu']:.0f} | {row['cpu'] / base:.2f} | {row['wall']:.0f} | "
                f"{row['own_mb']:.0f} | {row['peak_mb']:.0f} | {hits:.4f} |",
                flush=True,
            )


def draw_labels(drawn: LabelledGraph, count: int) -> np.ndarray:
    """Return the labels of `count` drawn nodes, a third of them wrong, -1 elsewhere [nodes]."""
    draws = np.random.default_rng(1)
    known = draws.permutation(len(drawn.classes))[:count]
    labels = np.full(len(drawn.classes), -1)
    labels[known] = drawn.classes[known]
    wrong = known[draws.random(count) < WRONG]
    labels[wrong] = (labels[wrong] + draws.integers(1, CLASSES, len(wrong))) % CLASSES
    return labels


def _convert(size: int, options: argparse.Namespace, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    if (folder / "truth.npz").is_file():
        kept = np.load(folder / "truth.npz")
        return kept["classes"], kept["labels"]
    folder.mkdir(parents=True, exist_ok=True)
    drawn = block_model(
        size,
        num_classes=CLASSES,
        num_features=options.features,
        mean_degree=options.degree,
        generator=np.random.default_rng(0),
    )
    labels = draw_labels(drawn, options.labels or max(200, size // 100))
    edges = drawn.graph.edge_index.numpy()
    edges = edges[:, edges[0] < edges[1]]
    features = drawn.graph.features.numpy()
    np.savez(folder / "graph.npz", x=features, edge_index=edges, y=labels)
    _run(["convert", str(folder / "graph.npz"), str(folder / "graph")], threads=1)
    (folder / "graph.npz").unlink()
    np.savez(folder / "truth.npz", classes=drawn.classes, labels=labels)
    return drawn.classes, labels


def _fit(folder: Path, method: str, options: argparse.Namespace) -> dict[str, float]:
    command = ["fit", str(folder / "graph"), "--method", method, "--out", str(folder / method)]
    command += [word for one in options.set or [] for word in ("--set", one)]
    return _run([*command, "--threads", str(options.threads)], threads=options.threads)


# Of the measured process. Pages of mapped files count as resident, though the system takes them
# back where memory is short; `own_mb` leaves them out and is read twice a second.
_MEASURED = """
import json, resource, threading, time
from quietgraph.cli.app import main

started, ended, own = time.perf_counter(), threading.Event(), [0]

def watch():
    while not ended.wait(0.5):
        with open("/proc/self/status") as status:
            lines = dict(line.split(":", 1) for line in status)
        own[0] = max(own[0], int(lines["RssAnon"].split()[0]))

threading.Thread(target=watch, daemon=True).start()
try:
    main()
except SystemExit as end:
    assert not end.code
ended.set()
used = resource.getrusage(resource.RUSAGE_SELF)
found = {"cpu": used.ru_utime + used.ru_stime, "wall": time.perf_counter() - started}
print(json.dumps(found | {"peak_mb": used.ru_maxrss / 1024, "own_mb": own[0] / 1024}))
"""


def _run(arguments: list[str], *, threads: int) -> dict[str, float]:
    """Return processor seconds, wall seconds and peak memory of one command."""
    variables = {"OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, **variables},
    )
    return json.loads(done.stdout.splitlines()[-1])


def _accuracy(run: Path, classes: np.ndarray, labels: np.ndarray) -> float:
    """Return the fraction of nodes without a label whose class is predicted."""
    names = np.loadtxt(run / "predictions.csv", delimiter=",", skiprows=1, usecols=1)
    return float((names == classes)[labels < 0].mean())
