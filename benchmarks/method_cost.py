"""Seconds per epoch and peak memory of every method, each in a process of its own, one thread.

    python benchmarks/method_cost.py [--methods all] [--graphs pubmed,generated] [--rows FILE]

`generated` is a block model of 200,000 nodes, 1,000,000 edges and 128 features. A few epochs are
run, the phases that usually begin later among them; a row is written as soon as it is measured,
and rows that are there are not measured again.
"""

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from quietgraph.data.load import load
from quietgraph.graph import Graph, block_model
from quietgraph.methods import METHODS, get_method
from quietgraph.params import parameters

EPOCHS = 6
# Phases that begin later in a real run begin within these few epochs.
EARLY: dict[str, dict[str, Any]] = {
    "grand-plus": {"steps": 60, "warm_up": 30, "patience": None},
    "cgnn": {"clean_from": 2},
}
LIMIT_SECONDS = 900


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="all")
    parser.add_argument("--graphs", default="pubmed,generated")
    parser.add_argument("--rows", type=Path, default=Path("method_cost.jsonl"))
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "GRAPH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*options.one)))
        return
    names = list(METHODS) if options.methods == "all" else options.methods.split(",")
    rows = _read(options.rows)
    for graph in options.graphs.split(","):
        for name in names:
            if (name, graph) not in rows:
                rows[name, graph] = _in_own_process(name, graph)
                with options.rows.open("a") as file:
                    file.write(json.dumps([[name, graph], rows[name, graph]]) + "\n")
                print(name, graph, rows[name, graph], file=sys.stderr)
    _print(rows)


def measure(method: str, graph_name: str) -> dict[str, Any]:
    torch.set_num_threads(1)
    graph, labels, validation = _problem(graph_name)
    own = parameters(get_method(method))
    settings: dict[str, Any] = dict(get_method(method).presets.get(graph_name, {}))
    if "epochs" in own:
        settings["epochs"] = EPOCHS
    if "warm_up" in own:
        settings["warm_up"] = EPOCHS // 3
    model = get_method(method)(**settings | EARLY.get(method, {})).fit(graph, labels, validation)
    clock = [record["seconds"] for record in model.history_]
    late = clock[len(clock) // 2 :]
    return {
        "seconds per epoch": (late[-1] - late[0]) / max(1, len(late) - 1),
        "seconds": model.seconds_,
        "epochs": len(clock),
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _problem(name: str) -> tuple[Graph, np.ndarray, np.ndarray]:
    if name != "generated":
        dataset = load(name)
        return dataset.graph, dataset.labels, dataset.split.validation.numpy()
    drawn = block_model(
        200_000, num_classes=10, num_features=128, generator=np.random.default_rng(0)
    )
    labels = np.where(np.arange(200_000) < 4000, drawn.classes, -1)
    validation = (np.arange(200_000) >= 2000) & (labels >= 0)
    return drawn.graph, labels, validation


def _in_own_process(method: str, graph: str) -> dict[str, Any]:
    command = [sys.executable, __file__, "--one", method, graph]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"longer than {LIMIT_SECONDS} s"}
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def _read(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    if not path.exists():
        return {}
    pairs = (json.loads(line) for line in path.read_text().splitlines())
    return {tuple(key): row for key, row in pairs}


def _print(rows: dict[tuple[str, str], dict[str, Any]]) -> None:
    graphs = list(dict.fromkeys(graph for _, graph in rows))
    print("| method | " + " | ".join(f"{graph}: s / epoch | peak GB" for graph in graphs) + " |")
    print("|---|" + "---|---|" * len(graphs))
    for method in dict.fromkeys(method for method, _ in rows):
        cells = [_cells(rows.get((method, graph))) for graph in graphs]
        print(f"| `{method}` | " + " | ".join(cells) + " |")


def _cells(row: dict[str, Any] | None) -> str:
    if row is None:
        return " | "
    if "failed" in row:
        return f"{row['failed']} | "
    return f"{row['seconds per epoch']:.2g} | {row['peak MB'] / 1024:.2f}"


if __name__ == "__main__":
    main()
