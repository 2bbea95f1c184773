"""Is it worth choosing more of the second stage of `gcl-*` by noisy validation labels?

    python studies/classifier_choice.py [--datasets cora,citeseer] [--seeds 9000-9004] [--out FILE]

Embeddings are those of a fit of `gcl-lr-attention`. Ridge classifiers with eight penalties, on the
embeddings (`lrr`) and beside attended features of three weights (`w`), without and with smoothing
(`sm`), are ranked by noisy validation accuracy; the scores of the best k are averaged and adjusted
to the class prior. `att 1` is `gcl-lr-attention`, `lrr 1` is `gcl-lrr`.
"""

import argparse
from pathlib import Path

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.classify import attention_matrix
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.classify.linear import fit_ridge
from quietgraph.methods.base.task import Task
from quietgraph.methods.low_rank.classifier_rows import classifier_rows, mean_row
from quietgraph.rng import torch_generator

NOISE = ("none", "symmetric:0.4", "asymmetric:0.4")
WEIGHTS, SMOOTHING = (0.5, 2.0, 5.0), (0, 10)
COUNTS = (1, 2, 3, 5, 8)  # classifiers averaged
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0)


def candidates(features: Tensor, task: Task) -> list[tuple[tuple[float, float], Tensor]]:
    """Return validation accuracy (ties: likelier labels) and scores for each penalty."""
    found = []
    wanted = task.labels[task.validation]
    for penalty in PENALTIES:
        fit = fit_ridge(
            features,
            task.labels,
            train=task.train,
            validation=task.validation,
            num_classes=task.num_classes,
            penalties=(penalty,),
        )
        scores = fit.scores(features)
        cost = float(F.cross_entropy(scores[task.validation], wanted))
        found.append(((fit.validation_accuracy, -cost), scores))
    return found


def mean_of_best(found: list[tuple[tuple[float, float], Tensor]], count: int, task: Task) -> Tensor:
    best = sorted(found, key=lambda one: one[0], reverse=True)[:count]
    scores = torch.stack([one[1] for one in best]).mean(dim=0)
    draws = torch_generator(task.seed, "class prior")
    held_out, labels = scores[task.validation], task.labels[task.validation]
    trained = task.labels[task.train]
    return scores + class_adjustment(held_out, labels, trained, generator=draws)


def cell(dataset: str, noise: str, seed: int, cache: str | None) -> dict[str, object]:
    run = Run.parse(dataset, "gcl-lr-attention", noise, seed, cache=cache)
    observation, reference = run.observe()
    model = run.fit(observation)
    task, embeddings = model.task_, torch.from_numpy(model.embeddings_)
    pools: dict[str, list[tuple[tuple[float, float], Tensor]]] = {"att": [], "w": [], "w sm": []}
    for steps in SMOOTHING:
        mean = mean_row(embeddings)
        rows = classifier_rows(embeddings, task.graph, mean, steps=steps, centre=True)
        attended = F.normalize(rows @ attention_matrix(rows), dim=1)
        if steps == 0:
            pools["lrr"] = candidates(rows, task)
        for weight in WEIGHTS:
            found = candidates(torch.cat([rows, weight * attended], dim=1), task)
            pools["w sm"] += found
            pools["w"] += found if steps else []
            pools["att"] += found if steps and weight == 2 else []
    pools["w sm"] += pools["lrr"]
    test = observation.split.test
    accuracies = {}
    for name, pool in pools.items():
        for count in COUNTS:
            hits = mean_of_best(pool, count, task).argmax(dim=1) == reference.codes
            accuracies[f"{name} {count}"] = round(float(hits[test].float().mean()), 4)
    return {"dataset": dataset, "noise": noise, "seed": seed, **accuracies}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--seeds", default="9000-9004")
    parser.add_argument("--cache")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    names, seeds = options.datasets.split(","), parse_seeds(options.seeds)
    rows = [
        cell(name, noise, seed, options.cache)
        for name in names
        for seed in seeds
        for noise in NOISE
    ]
    table = pd.DataFrame(rows)
    if options.out:
        table.to_csv(options.out, index=False)
    means = table.drop(columns="seed").groupby(["dataset", "noise"], sort=False).mean()
    print((100 * means.T).round(1).to_string())


if __name__ == "__main__":
    main()
