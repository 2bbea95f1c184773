"""What happens while the letter of the paper is trained: epochs, empty columns, truncated norm.

    python studies/letter_training.py --datasets cora --seeds 9100-9102

One row of CSV per draw. Labels play no part: the encoder is trained without them.
"""

import argparse
import csv
import sys

import torch

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run

_LETTER = "gcl-lrr:preset=paper:hidden=256:dim=256"
_NAMES = ("dataset", "seed", "epochs", "columns", "empty", "norm_first", "norm_last")


def measure(dataset: str, seed: int, variant: str = _LETTER) -> dict[str, object]:
    run = Run.parse(dataset, variant, "none", seed)
    model = run.fit(run.observe()[0])
    norms = [record["rank"] for record in model.history_ if "rank" in record]
    empty = (model.embeddings_ == 0).all(axis=0)
    columns = {"columns": len(empty), "empty": int(empty.sum())}
    place = {"dataset": dataset, "seed": seed, "epochs": len(model.history_)}
    return {**place, **columns, "norm_first": norms[0], "norm_last": norms[-1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora")
    parser.add_argument("--seeds", default="9100-9102")
    options = parser.parse_args()
    torch.set_num_threads(1)
    writer = csv.DictWriter(sys.stdout, _NAMES, lineterminator="\n")
    writer.writeheader()
    for dataset in options.datasets.split(","):
        for seed in parse_seeds(options.seeds):
            writer.writerow(measure(dataset, seed))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
