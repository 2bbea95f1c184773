"""Embeddings scored on random 10 / 10 / 80 splits, as the papers of ARIEL and SFA do.

    python studies/ten_percent.py [--methods ariel,sfa] [--seeds 1000-1002] [--cache cache]

Clean labels; logistic regression on the training tenth, its penalty chosen on the next tenth; one
encoder and one split a seed.
"""

import argparse
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from quietgraph.bench.grid import parse_seeds
from quietgraph.classify.logistic import fit_logistic
from quietgraph.data.datasets import load_benchmark
from quietgraph.methods import EmbeddingCache, get_method, use_cache
from quietgraph.rng import torch_generator


def accuracy(method: str, seed: int) -> float:
    dataset, reference = load_benchmark("cora")
    labels, count = reference.codes, len(reference.codes) // 10
    estimator = get_method(method)(seed=seed, **get_method(method).presets.get("cora", {}))
    rows = F.normalize(estimator._embed_cached(dataset.graph, seed).embeddings, dim=1)
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
    parser.add_argument("--seeds", default="1000-1002")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    with use_cache(EmbeddingCache(options.cache)):
        for method in options.methods.split(","):
            found = [100 * accuracy(method, seed) for seed in parse_seeds(options.seeds)]
            print(f"{method}: {np.mean(found):.1f} ± {np.std(found, ddof=1):.1f} ({len(found)})")


if __name__ == "__main__":
    main()
