"""Kernel complexity and bound terms of many methods' embeddings: does the paper's ordering hold?

    python studies/theory_study.py [--datasets cora,citeseer] [--seeds 1000-1004] [--noise ...]

Each method is fitted by the protocol of `quietgraph bench`; its embeddings, in unit rows, are then
diagnosed against the clean labels. L1, L2 and the bound (c0 = 1) are those of the step t with the
smallest bound. For gcl-lr-attention the kernel is the one after attention.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.bench.theory import bound_numbers, study
from quietgraph.methods import METHODS

NAMES = ("merit", "sfa", "jo-src", "gcn", "gfsa", "hongat", "gcl-lrr", "gcl-lr-attention")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer,pubmed")
    parser.add_argument("--methods", default=",".join(name for name in NAMES if name in METHODS))
    parser.add_argument("--noise", default="symmetric:0.4")
    parser.add_argument("--seeds", default="1000-1004", help="a count, a range or a list")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--rows", type=Path, default=Path("theory_study.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = _read(options.rows)
    for dataset in options.datasets.split(","):
        for method in options.methods.split(","):
            for seed in parse_seeds(options.seeds):
                key = (dataset, method, options.noise, seed)
                if key in done:
                    continue
                done[key] = bound_numbers(study(Run.parse(*key, cache=str(options.cache))))
                with options.rows.open("a") as file:
                    file.write(json.dumps([key, done[key]]) + "\n")
                print(*key, done[key], file=sys.stderr)
    _print(done)


def _read(path: Path) -> dict[tuple, dict[str, float]]:
    if not path.exists():
        return {}
    pairs = (json.loads(line) for line in path.read_text().splitlines())
    return {tuple(key): row for key, row in pairs}


def _print(done: dict[tuple, dict[str, float]]) -> None:
    rows = [{"dataset": key[0], "method": key[1], **row} for key, row in done.items()]
    frame = pd.DataFrame(rows)
    columns = [name for name in frame.columns if name not in {"dataset", "method"}]
    print("| dataset | method | " + " | ".join(columns) + " | n |")
    print("|---" * (len(columns) + 3) + "|")
    for (dataset, method), part in frame.groupby(["dataset", "method"], sort=False):
        cells = [f"{part[name].mean():.3g} ± {np.std(part[name], ddof=1):.2g}" for name in columns]
        print(f"| {dataset} | {method} | " + " | ".join(cells) + f" | {len(part)} |")


if __name__ == "__main__":
    main()
