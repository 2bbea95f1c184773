"""Would another second stage bring `gcl-lr-attention` to a GCN on clean labels of dense graphs?

    python studies/second_stage.py [--cells cora:0,amazon-photo:0] [--cache DIR] [--out FILE]

Embeddings are those of a fit of `gcl-lr-attention`, attributes those of its attribute branch. Ridge
or logistic regression on either (`E`, `A`), on both side by side (`EA`), and means of scores; with
and without class-prior adjustment. `E+A adjusted` is what `fit` does, but for its random draws.
"""

import argparse
from itertools import product
from pathlib import Path

import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.bench.protocol import Run
from quietgraph.classify import attention_matrix
from quietgraph.classify.class_prior import class_adjustment
from quietgraph.classify.linear import fit_ridge
from quietgraph.classify.logistic import fit_logistic
from quietgraph.classify.smoothing import attribute_directions, attributes_of
from quietgraph.methods.base.node_classifier import NodeClassifier
from quietgraph.methods.base.task import Task
from quietgraph.methods.low_rank.classifier_rows import classifier_rows, mean_row
from quietgraph.rng import torch_generator

NOISE = ("none", "symmetric:0.4", "asymmetric:0.4")
PENALTIES = (64.0, 16.0, 4.0, 1.0, 0.25, 0.0625)  # of logistic regression


def attended(rows: Tensor) -> Tensor:
    return torch.cat([rows, 2 * F.normalize(rows @ attention_matrix(rows), dim=1)], dim=1)


def features_of(model: NodeClassifier) -> dict[str, Tensor]:
    """Return what the classifiers read, by name."""
    graph, embeddings = model.task_.graph, torch.from_numpy(model.embeddings_)
    rows = classifier_rows(embeddings, graph, mean_row(embeddings), steps=10, centre=True)
    smoothed = attributes_of(graph, seed=model.seed)[1]
    mean, directions = attribute_directions(graph, smoothed, 256, seed=model.seed)
    around = F.normalize((smoothed - mean) @ directions, dim=1)
    found = {"E": attended(rows), "A": attended(around)}
    return found | {"EA": torch.cat([found["E"], found["A"]], dim=1)}


def scores_of(features: dict[str, Tensor], task: Task) -> dict[str, Tensor]:
    """Return the scores of every form of the second stage, by name."""
    given = {
        "train": task.train,
        "validation": task.validation,
        "num_classes": task.num_classes,
    }
    scores = {}
    for name, rows in features.items():
        scores[name] = fit_ridge(rows, task.labels, **given).scores(rows)
        logistic = fit_logistic(rows, task.labels, penalties=PENALTIES, **given)
        scores[f"{name} logistic"] = logistic.scores(rows)
    return scores | {
        "E+A": scores["E"] + scores["A"],
        "E+3A": scores["E"] + 3 * scores["A"],
        "E+A+EA": scores["E"] + scores["A"] + scores["EA"],
    }


def adjusted(scores: Tensor, task: Task) -> Tensor:
    held_out, labels = scores[task.validation], task.labels[task.validation]
    draws = torch_generator(task.seed, "class prior")
    return scores + class_adjustment(held_out, labels, task.labels[task.train], generator=draws)


def cells(dataset: str, seed: int, cache: str | None) -> list[dict[str, object]]:
    rows, features = [], None
    for noise in NOISE:
        run = Run.parse(dataset, "gcl-lr-attention", noise, seed, cache=cache)
        observation, reference = run.observe()
        model = run.fit(observation)
        task, test = model.task_, observation.split.test
        features = features or features_of(model)
        for (name, scores), prior in product(scores_of(features, task).items(), (False, True)):
            final = adjusted(scores, task) if prior else scores
            hits = (final.argmax(dim=1) == reference.codes)[test].float().mean()
            form = f"{name} adjusted" if prior else name
            place = {"dataset": dataset, "seed": seed, "noise": noise, "form": form}
            rows.append({**place, "accuracy": round(float(hits), 4)})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", default="amazon-photo:0,amazon-photo:2,cora:0,citeseer:0")
    parser.add_argument("--cache")
    parser.add_argument("--out", type=Path, default=Path("second-stage.csv"))
    options = parser.parse_args()
    places = [cell.split(":") for cell in options.cells.split(",")]
    found = [row for name, seed in places for row in cells(name, int(seed), options.cache)]
    known = [pd.read_csv(options.out)] if options.out.exists() else []
    table = pd.concat([*known, pd.DataFrame(found)])
    table = table.drop_duplicates(["dataset", "seed", "noise", "form"], keep="last")
    table.to_csv(options.out, index=False)
    wide = table.pivot_table("accuracy", "form", ["dataset", "noise"], sort=False)
    print((100 * wide).round(1).to_string())


if __name__ == "__main__":
    main()
