"""Processor time, peak memory and share of right predictions of a fit against the number of nodes.

    python benchmarks/scale.py --nodes 10000,100000,1000000 --methods gcl-lr-attention,quiet --assess
    python benchmarks/scale.py --nodes 1000000 --command

Generated graphs of 128 features and mean degree 10; one node in a hundred has a label, and 30 % of these are wrong.
Each fit is a process of its own. `--command` measures `quietgraph fit` on a converted folder instead: suspects, report
and model are in its figures. Peak MB counts mapped files too.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

CLASSES, FEATURES, DEGREE, WRONG = 10, 128, 10, 0.3


def measure(task: dict[str, Any]) -> dict[str, float]:
    """Return seconds, memory and, of a fit in Python, the share of unlabelled nodes that are right."""
    import quietgraph as qg

    if task["arguments"]:
        from quietgraph.cli.app import main as quietgraph

        sys.argv = ["quietgraph", *task["arguments"]]
        started = time.process_time()
        try:
            quietgraph()
        except SystemExit as end:
            if end.code:
                raise
    else:
        graph, classes, labels = make(task["nodes"])
        started = time.process_time()
        model = qg.METHODS[task["method"]](**({"epochs": task["epochs"]} if task["epochs"] else {})).fit(graph, labels)
        if task["assess"]:
            qg.assess(model)
    row = {"seconds": time.process_time() - started}
    if not task["arguments"]:
        row["right"] = float((model.predict() == classes)[labels < 0].mean())
    return row | {"peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def make(nodes: int) -> tuple[Any, Any, Any]:
    """Return a graph, the class of each node, and the labels that are given [nodes]."""
    import quietgraph as qg

    draws = np.random.default_rng(0)
    sizes = {"num_classes": CLASSES, "num_features": FEATURES, "mean_degree": DEGREE}
    drawn = qg.block_model(nodes, **sizes, generator=draws)
    known = draws.permutation(nodes)[: max(200, nodes // 100)]
    labels = np.full(nodes, -1)
    wrong = (draws.random(len(known)) < WRONG) * draws.integers(1, CLASSES, len(known))
    labels[known] = (drawn.classes[known] + wrong) % CLASSES
    return drawn.graph, drawn.classes, labels


def write(nodes: int, folder: Path) -> tuple[Path, Any, Any]:
    """Write a graph as a folder that is mapped into memory; return it, the class of each node, and the labels."""
    graph, classes, labels = make(nodes)
    edges = graph.edge_index.numpy()
    np.savez(folder / "graph.npz", x=graph.features.numpy(), edge_index=edges[:, edges[0] < edges[1]], y=labels)
    alone({"arguments": ["convert", str(folder / "graph.npz"), str(folder / "graph")]})
    (folder / "graph.npz").unlink()
    return folder / "graph", classes, labels


def alone(task: dict[str, Any]) -> dict[str, float]:
    """Return what `measure` gives in a process of its own."""
    command = [sys.executable, __file__, "--one", json.dumps(task)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", default="10000,100000,1000000")
    parser.add_argument("--methods", default="gcl-lr-attention,quiet")
    parser.add_argument("--epochs", type=int, default=0, help="of a fit in Python; 0: the method's own")
    parser.add_argument("--assess", action="store_true", help="suspects, too")
    parser.add_argument("--command", action="store_true", help="measure `quietgraph fit`")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if options.one:
        print(json.dumps(measure(json.loads(options.one))))
        return
    print("| method | nodes | processor s | exponent | peak MB | right % |\n" + "| :-- |" + " --: |" * 5)
    for method in options.methods.split(","):
        before: tuple[int, float] | None = None
        for nodes in map(int, options.nodes.split(",")):
            task = {"nodes": nodes, "method": method, "epochs": options.epochs, "assess": options.assess}
            with tempfile.TemporaryDirectory() as scratch:
                if options.command:
                    folder, classes, labels = write(nodes, Path(scratch))
                    out = Path(scratch) / "run"
                    row = alone({"arguments": ["fit", str(folder), "--method", method, "--out", str(out)]})
                    said = np.loadtxt(out / "predictions.csv", delimiter=",", skiprows=1, usecols=1)
                    row["right"] = float((said == classes)[labels < 0].mean())
                else:
                    row = alone(task | {"arguments": []})
            slope = math.log(row["seconds"] / before[1]) / math.log(nodes / before[0]) if before else math.nan
            before = nodes, row["seconds"]
            figures = f"{row['seconds']:.1f} | {slope:.2f} | {row['peak_mb']:.0f}"
            print(f"| `{method}` | {nodes:,} | {figures} | {100 * row['right']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
