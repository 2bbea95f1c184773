"""May a candidate of `quiet` rename most classes where few labels choose? With the rule, without.

    python studies/class_orders.py [--datasets cora,citeseer] [--seeds 9120-9129]

Taught by training and validation labels but for a fifth, which chooses, as on own data. Without the
rule every order counts in which a candidate agrees better with the labels that choose; with it at
most half of the classes may move. Finished draws are kept, a row each.
"""

import argparse
import csv
from itertools import product
from pathlib import Path
from unittest.mock import patch

import torch

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run, score
from quietgraph.methods import EmbeddingCache, use_cache
from quietgraph.methods.quiet import evaluation
from study.records import RESULTS

FIELDS = ("dataset", "noise", "rule", "seed", "accuracy")
RULES = {"any order": 0.0, "half of the classes": evaluation._FEW}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--noise", default="asymmetric:0.4")
    parser.add_argument("--seeds", default="9120-9129", help="a count, a range or a list")
    parser.add_argument("--cache", type=Path, default=Path("cache"), help="of embeddings")
    parser.add_argument("--out", type=Path, default=RESULTS / "studies" / "class-orders.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = set()
    if options.out.exists():
        with options.out.open(encoding="utf-8", newline="") as file:
            done = {tuple(row[:-1]) for row in csv.reader(file)}
    places = product(parse_seeds(options.seeds), options.datasets.split(","), RULES)
    with use_cache(EmbeddingCache(options.cache)):
        for seed, dataset, rule in places:
            place = (dataset, options.noise, rule, str(seed))
            if place in done:
                continue
            run = Run.parse(dataset, "quiet", options.noise, seed, split="train+validation")
            observed, reference = run.observe()
            with patch.object(evaluation, "_FEW", RULES[rule]):
                accuracy = score(run.fit(observed), observed, reference)["test_accuracy"]
            is_new = not options.out.exists()
            with options.out.open("a", encoding="utf-8", newline="") as file:
                rows = [FIELDS] * is_new + [(*place, round(accuracy, 4))]
                csv.writer(file, lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    main()
