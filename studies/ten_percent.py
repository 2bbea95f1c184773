"""Embeddings scored on random 10 / 10 / 80 splits, as the papers of ARIEL and SFA do.

    python studies/ten_percent.py [--methods ariel,sfa] [--seeds 1000-1004] [--cache cache]

Clean labels; logistic regression on the training tenth, its penalty chosen on the next tenth; one
encoder and one split a seed.
"""

import argparse
from itertools import product
from pathlib import Path

import pandas as pd
import torch
import torch.nn.functional as F

from quietgraph.bench.grid import parse_seeds
from quietgraph.classify.logistic import fit_logistic
from quietgraph.data.datasets import load_benchmark
from quietgraph.methods import EmbeddingCache, get_method, use_cache
from quietgraph.methods.base.two_stage import embed_cached
from quietgraph.rng import torch_generator
from study.records import RESULTS


def accuracy(method: str, seed: int) -> float:
    dataset, reference = load_benchmark("cora")
    labels, count = reference.codes, len(reference.codes) // 10
    estimator = get_method(method)(seed=seed, **get_method(method).presets.get("cora", {}))
    rows = F.normalize(embed_cached(estimator, dataset.graph, seed).embeddings, dim=1)
    order = torch.randperm(len(labels), generator=torch_generator(seed, "10 % split"))
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    train, validation, test = (
        place < count,
        (place >= count) & (place < 2 * count),
        place >= 2 * count,
    )
    classes = len(dataset.classes)
    fit = fit_logistic(rows, labels, train=train, validation=validation, num_classes=classes)
    return float((fit.scores(rows).argmax(dim=1) == labels)[test].float().mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", default="ariel,sfa")
    parser.add_argument("--seeds", default="1000-1004")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--out", type=Path, default=RESULTS / "studies" / "ten-percent.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    draws = list(product(options.methods.split(","), parse_seeds(options.seeds)))
    with use_cache(EmbeddingCache(options.cache)):
        rows = [(*draw, round(accuracy(*draw), 4)) for draw in draws]
    table = pd.DataFrame(rows, columns=["method", "seed", "accuracy"])
    table.to_csv(options.out, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
