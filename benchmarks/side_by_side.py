"""Two versions of quietgraph run the same command by turns: processor time of each, and the ratio.

    python benchmarks/side_by_side.py OLD NEW -- fit cora --method quiet

OLD and NEW are working trees. Every run is a fresh process of one thread; a `fit` writes into a temporary folder.
"""

import argparse
import os
import resource
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median


def run(tree: Path, command: list[str]) -> float:
    """Return the processor seconds of one run of a command by the sources of a working tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled once
    with tempfile.TemporaryDirectory() as folder:
        out = ["--out", "run"] if command[0] == "fit" else []
        before = processor()
        program = [sys.executable, "-m", "quietgraph", *command, *out]
        done = subprocess.run(program, check=False, env=environment, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{tree}: quietgraph {shlex.join(command)} failed.\n{done.stderr}")
        return processor() - before


def processor() -> float:
    """Return the processor seconds of all ended children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    own, _, words = shlex.join(sys.argv[1:]).partition(" -- ")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], usage="%(prog)s OLD NEW [options] -- COMMAND")
    parser.add_argument("trees", type=Path, nargs=2, metavar="TREE")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(shlex.split(own))
    times: list[list[float]] = [[], []]
    for turn in range(options.repeats + 1):
        for taken, tree in zip(times, options.trees, strict=True):
            seconds = run(tree.resolve(), shlex.split(words))
            taken.extend([seconds] if turn else [])  # the first run compiles the sources and reads from the disk
    old, new = map(median, times)
    print(f"`quietgraph {words}`, {options.repeats} runs of each version, median of processor seconds\n")
    print("| old s | new s | new / old | range of new s |\n| --: | --: | --: | --: |")
    print(f"| {old:.2f} | {new:.2f} | {new / old:.2f} | {min(times[1]):.2f} to {max(times[1]):.2f} |")


if __name__ == "__main__":
    main()
