"""Processor time and memory of `quietgraph convert`, beside Arrow reading the same tables.

python benchmarks/convert.py [--sizes 500000,2000000] [--columns 32] [--formats parquet,csv]

Tables of random numbers, five edges a node and one label in a hundred nodes are written to a
temporary folder and converted in a process of its own, one thread. The floor is the processor time
of a process that reads the same files with Arrow and writes nothing.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

EDGES, LABELLED = 5, 100  # a node; one node in so many
MEASURE = """
import resource, sys, threading
own, ended = [0], threading.Event()
def watch():
    while not ended.wait(0.02):
        facts = dict(line.split(":", 1) for line in open("/proc/self/status"))
        own[0] = max(own[0], int(facts["RssAnon"].split()[0]))
threading.Thread(target=watch, daemon=True).start()
try:
    {work}
except SystemExit as end:
    assert not end.code
ended.set()
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, own[0] / 1024)
"""
CONVERT = "sys.argv = {arguments!r}; from quietgraph.cli.app import main; main()"
READ = {
    "parquet": (
        "from pyarrow import parquet\n"
        "    for path in {paths!r}:\n"
        "        for batch in parquet.ParquetFile(path).iter_batches(65_536): pass"
    ),
    "csv": (
        "from pyarrow import csv\n"
        "    for path in {paths!r}:\n"
        "        for batch in csv.open_csv(path): pass"
    ),
}


def write_tables(folder: Path, num_nodes: int, columns: int, kind: str) -> list[str]:
    """Write nodes and edges; return the paths."""
    draws = np.random.default_rng(0)
    label = np.where(np.arange(num_nodes) % LABELLED == 0, "a", None).astype(object)
    label[::2] = np.where(label[::2] == "a", "b", None)
    numbers = {
        f"f{place}": draws.normal(size=num_nodes).astype(np.float32) for place in range(columns)
    }
    tables = {
        "nodes": {"id": np.arange(num_nodes), **numbers, "label": pa.array(label, pa.string())},
        "edges": dict(
            zip(
                ("source", "target"),
                draws.integers(num_nodes, size=(2, EDGES * num_nodes)),
                strict=True,
            )
        ),
    }
    paths = []
    for name, table in tables.items():
        path = folder / f"{name}.{kind}"
        write = parquet.write_table if kind == "parquet" else csv.write_csv
        write(pa.table(table), path)
        paths.append(str(path))
    return paths


def measure(work: str) -> tuple[float, float]:
    """Return processor seconds and own megabytes of a process that does some work."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE.format(work=work)],
        env=os.environ | one,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = done.stdout.splitlines()[-1].split()
    return float(seconds), float(megabytes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="500000,2000000")
    parser.add_argument("--columns", type=int, default=32)
    parser.add_argument("--formats", default="parquet,csv")
    options = parser.parse_args()
    print("| nodes | format | MB of tables | processor s | Arrow alone s | own MB |")
    print("|---|---|---|---|---|---|")
    for kind in options.formats.split(","):
        for size in map(int, options.sizes.split(",")):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name) / "tables"
                folder.mkdir()
                paths = write_tables(folder, size, options.columns, kind)
                written = sum(Path(path).stat().st_size for path in paths) / 2**20
                arguments = ["quietgraph", "convert", str(folder), f"{name}/graph"]
                seconds, megabytes = measure(CONVERT.format(arguments=arguments))
                floor, _ = measure(READ[kind].format(paths=paths))
            print(
                f"| {size:,} | {kind} | {written:.0f} | {seconds:.1f} | {floor:.1f} |"
                f" {megabytes:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
