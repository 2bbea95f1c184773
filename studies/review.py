"""Test accuracy against the number of labels that a person looked at, suspects first or at random: results/review.csv.

    python studies/review.py --jobs 2

The reviewer gives each label its true class; a label that was looked at is verified, and the method learns again.
"""

from dataclasses import replace

import numpy as np
import torch
from sklearn.base import clone

import quietgraph as qg
from quietgraph.bench import Grid, parse_seeds
from quietgraph.bench.execute import score
from quietgraph.data.data import Data, Truth
from quietgraph.rng import numpy_generator
from quietgraph.types import IntArray
from rows import RESULTS, Row, fill, options_of

COUNTS = (0, 20, 40, 80, 160)


def study(dataset: str, noise: str, seed: int, method: str) -> list[Row]:
    """Return the test accuracy by order and number of reviewed labels."""
    run = Grid(dataset, method, noise, [seed]).runs()[0]
    data, truth = run.observe()
    model = clone(run.estimator).set_params(seed=seed)
    ranked = qg.assess(model.fit(data)).suspects()["node"].to_numpy()
    drawn = numpy_generator(seed, "random review").permutation(np.sort(ranked))
    rows = []
    for order, nodes in (("suspects first", ranked), ("at random", drawn)):
        for count in COUNTS:
            reviewed = review(data, truth, nodes[:count])
            found = score(clone(model).fit(reviewed), reviewed, truth)
            rows.append({"order": order, "reviewed": count, "test_accuracy": found["test_accuracy"]})
    return rows


def review(data: Data, truth: Truth, nodes: IntArray) -> Data:
    """Return the data with the labels of some nodes set right and verified."""
    seen = torch.zeros_like(data.known)
    seen[torch.from_numpy(nodes.copy())] = True
    return replace(data, codes=torch.where(seen, truth.codes, data.codes), verified=seen)


def main() -> None:
    lists = {"datasets": ["cora", "citeseer"], "noise": ["symmetric:0.4", "asymmetric:0.4", "annotator:0.3"]}
    options = options_of(__doc__, **lists, methods=["quiet"], seeds="9100-9109", out=RESULTS / "review.csv")
    tasks = [
        {"dataset": dataset, "noise": noise, "seed": seed, "method": method}
        for dataset in options.datasets
        for noise in options.noise
        for seed in parse_seeds(options.seeds)
        for method in options.methods
    ]
    fill(options.out, tasks, study, jobs=options.jobs)


if __name__ == "__main__":
    main()
