"""Does `quality()` warn of errors that follow the nodes' own attributes, and only of these?

    python studies/follows_attributes.py --datasets cora --noise annotator:0.3,symmetric:0.4

One row of CSV per draw: whether the warning is given (`labels_follow_attributes`). It depends on
the graph and the observed labels alone, so no method is fitted.
"""

import argparse
import csv
import sys
from pathlib import Path

import torch

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds
from quietgraph.classify.label_issues.attributes import attribute_probabilities
from quietgraph.classify.label_issues.own_attributes import labels_follow_attributes
from quietgraph.classify.label_issues.suspects import neighbour_label_fractions
from quietgraph.data.datasets import load_benchmark
from quietgraph.types import UNKNOWN


def measure(dataset: str, noise: str, seed: int) -> dict[str, object]:
    clean, reference = load_benchmark(dataset, seed=seed)
    setting = qg.parse_noise(noise)
    observed = qg.apply_noise(clean, setting, seed=seed, reference=reference)
    labelled = observed.split.train | observed.split.validation
    labels = torch.where(labelled, observed.codes, UNKNOWN)
    shape = (labels, len(observed.classes))
    votes = {
        "own": attribute_probabilities(observed.graph, *shape, seed=seed)["own"],
        "neighbours": neighbour_label_fractions(observed.graph.adjacency, *shape),
    }
    wrong = (labels != reference.codes)[labelled & (reference.codes >= 0)]
    name = f"labels:{Path(noise.partition(':')[2]).name}" if noise.startswith("labels:") else noise
    return {
        "dataset": dataset,
        "noise": name,
        "seed": seed,
        "wrong": round(float(wrong.double().mean()), 4),
        "warned": int(labels_follow_attributes(observed.graph, votes, *shape, seed=seed)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--noise", default="none,symmetric:0.4,asymmetric:0.4,annotator:0.3")
    parser.add_argument("--seeds", default="3200-3204")
    options = parser.parse_args()
    torch.set_num_threads(1)
    names = ["dataset", "noise", "seed", "wrong", "warned"]
    writer = csv.DictWriter(sys.stdout, names, lineterminator="\n")
    writer.writeheader()
    for seed in parse_seeds(options.seeds):
        for dataset in options.datasets.split(","):
            for noise in options.noise.split(","):
                writer.writerow(measure(dataset, noise, seed))
                sys.stdout.flush()


if __name__ == "__main__":
    main()
