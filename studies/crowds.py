"""Simulated annotators: which consensus is right, and what does a method learn from it? Into results/crowds.csv.

    python studies/crowds.py --jobs 2

Six annotators (accuracy 0.9, 0.8, 0.65, 0.55, a reader of attributes 0.7, a spammer) give three answers for each
labelled node. Rivals per node: majority vote, GLAD and Dawid-Skene of crowd-kit.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch
from crowdkit.aggregation import GLAD, DawidSkene, MajorityVote
from sklearn.base import clone

from quietgraph.annotators.consensus import find_consensus
from quietgraph.bench import Grid, parse_seeds
from quietgraph.bench.execute import score
from quietgraph.data.annotations import Annotations
from quietgraph.types import UNKNOWN, Labels
from rows import RESULTS, Row, fill, options_of

RIVALS: dict[str, Callable[[], Any]] = {
    "majority vote": MajorityVote,
    "GLAD": partial(GLAD, silent=True),
    "Dawid-Skene": partial(DawidSkene, n_iter=100),
}


def study(dataset: str, noise: str, seed: int, consensus: str, method: str) -> list[Row]:
    """Return how many labels of a consensus are right, and the test accuracy of a method that learns from it."""
    run = Grid(dataset, method, noise, [seed]).runs()[0]
    data, truth = run.observe()
    answers = data.annotations
    assert answers is not None
    if consensus == "quietgraph":
        codes = find_consensus(data, seed=seed).codes
    else:
        codes = labels_of(answers, consensus)
        data = replace(data, codes=codes, before=codes, annotations=None)
    hits = (codes == truth.codes)[answers.answered]
    model = clone(run.estimator).set_params(seed=seed).fit(data)
    right = {"consensus_accuracy": float(hits.double().mean())}
    return [right | {"test_accuracy": score(model, data, truth)["test_accuracy"]}]


def labels_of(answers: Annotations, rival: str) -> Labels:
    """Return the labels that a rival makes of the answers, -1 without any [nodes]."""
    table = answers.to_frame(np.arange(answers.num_nodes)).assign(label=answers.codes)
    found = RIVALS[rival]().fit_predict(table.rename(columns={"node": "task", "annotator": "worker"}))
    labels = torch.full((answers.num_nodes,), UNKNOWN)
    labels[torch.tensor(found.index.tolist())] = torch.tensor(found.tolist())
    return labels


def main() -> None:
    lists = {"datasets": ["cora", "citeseer", "pubmed"], "methods": ["gcn", "quiet"]}
    how = {"seeds": "9100-9109", "noise": "annotators:3"}
    options = options_of(__doc__, **lists, **how, out=RESULTS / "crowds.csv")
    tasks = [
        {"dataset": dataset, "noise": options.noise, "seed": seed, "consensus": consensus, "method": method}
        for dataset in options.datasets
        for seed in parse_seeds(options.seeds)
        for consensus in ("quietgraph", *RIVALS)
        for method in options.methods
    ]
    fill(options.out, tasks, study, jobs=options.jobs)


if __name__ == "__main__":
    main()
