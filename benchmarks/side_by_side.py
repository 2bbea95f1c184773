"""Two checkouts of quietgraph run the same command in turn: how much faster is the second one?

    python benchmarks/side_by_side.py OLD NEW -- fit digits
    python benchmarks/side_by_side.py OLD NEW --repeats 5 -- fit cora

OLD and NEW are working trees. Every run is a fresh process on one thread that writes its results
into a temporary folder. The runs alternate, so that other work on the machine affects both alike.
Processor time is the one to compare, because other work changes it least; elapsed time stands
beside it.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run took, in seconds."""

    processor: float
    elapsed: float


def run(tree: Path, command: list[str]) -> Cost:
    """Return what one run of a command by the sources of a working tree takes."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", str(Path(folder) / "run")] if command[0] == "fit" else []
        arguments = [sys.executable, "-m", "quietgraph", *command, *out]
        before, started = _children(), time.perf_counter()
        subprocess.run(arguments, env=environment, cwd=folder, check=True, capture_output=True)
        return Cost(_children() - before, time.perf_counter() - started)


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Alternate the runs and print medians and their ratio."""
    own, _, command = " ".join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(own.split())
    trees = {"old": options.old.resolve(), "new": options.new.resolve()}
    costs: dict[str, list[Cost]] = {name: [] for name in trees}
    for tree in trees.values():  # compiles the sources, reads the data from the disk
        run(tree, command.split())
    for _ in range(options.repeats):
        for name, tree in trees.items():
            costs[name].append(run(tree, command.split()))
    show(command, costs)


def show(command: str, costs: dict[str, list[Cost]]) -> None:
    """Print one line per kind of time."""
    print(f"`quietgraph {command}`, {len(costs['old'])} runs each\n")
    print("| time | old s | new s | old / new | range of new s |\n|---|---|---|---|---|")
    for kind in ("processor", "elapsed"):
        times = {name: [getattr(cost, kind) for cost in runs] for name, runs in costs.items()}
        old, new = (statistics.median(times[name]) for name in ("old", "new"))
        spread = f"{min(times['new']):.1f} to {max(times['new']):.1f}"
        print(f"| {kind} | {old:.1f} | {new:.1f} | {old / new:.2f} | {spread} |", flush=True)


if __name__ == "__main__":
    main()
