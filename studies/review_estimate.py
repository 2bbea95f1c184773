"""Is the estimated noise right after a part of the suspects was reviewed?

    python studies/review_estimate.py --seeds 7010-7019 --method s2gc --csv review.csv

A reviewer goes down the list of suspects and decides rightly on each label; after a quarter, a half
and three quarters as many decisions as labels are wrong, the model is fitted again with them. One
row per fit: how many labels are wrong by then, how many are estimated to be, how many are flagged.
Finished rows are kept.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import torch

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.observation import Observation, observe
from quietgraph.graph.io.corrections import Corrections, LabelDecision

PARTS = (0.0, 0.25, 0.5, 0.75)
Drawn: TypeAlias = tuple[Observation, np.ndarray]


def generated(homophily: float, labels: int, rate: float, seed: int) -> Drawn:
    """Return a block model with wrong labels, and the true ones."""
    draws = np.random.default_rng([seed, 3])
    drawn = qg.block_model(
        2 * labels,
        num_classes=4,
        num_features=16,
        mean_degree=6,
        homophily=homophily,
        signal=3.0 if homophily < 0.5 else 1.0,
        generator=draws,
    )
    classes = drawn.classes
    wrong = draws.random(len(classes)) < rate
    observed = np.where(wrong, (classes + draws.integers(1, 4, len(classes))) % 4, classes)
    observed[draws.permutation(len(classes))[labels:]] = -1
    return observe(drawn.graph, observed), classes


def benchmark(dataset: str, noise: str, seed: int) -> Drawn:
    """Return a dataset with label noise, and its true labels."""
    clean, reference = load_benchmark(dataset, seed=seed)
    return qg.apply_noise(clean, qg.parse_noise(noise), seed=seed), reference.codes.numpy()


GRAPHS: dict[str, Callable[[int], Drawn]] = {
    "neighbours differ, 20 %": partial(generated, 0.1, 180, 0.2),
    "neighbours alike, 30 %": partial(generated, 0.8, 400, 0.3),
    "digits, symmetric 20 %": partial(benchmark, "digits", "symmetric:0.2"),
    "Cora, symmetric 40 %": partial(benchmark, "cora", "symmetric:0.4"),
    "CiteSeer, asymmetric 20 %": partial(benchmark, "citeseer", "asymmetric:0.2"),
}


def review(
    observed: Observation, truth: np.ndarray, table: pd.DataFrame, count: int
) -> Corrections:
    """Return right decisions on the first suspects."""
    decided = {}
    for node in table["node"].head(count):
        label, right = observed.codes[node].item(), truth[node]
        kind = "keep" if label == right else "other"
        key = str(observed.node_ids[node])
        decided[key] = LabelDecision(key, kind, str(observed.classes[right]))
    return Corrections(Path("review.csv"), decided)


def rows_of(graph: str, method: str, seed: int) -> list[dict]:
    observed, truth = GRAPHS[graph](seed)
    wrong = int(((observed.codes.numpy() != truth) & observed.known.numpy()).sum())
    table, found = None, []
    for part in PARTS:
        decided, seen = round(part * wrong), observed
        if table is not None:
            seen = observed.correct(review(observed, truth, table, decided))
        model = qg.get_method(method)(seed=seed).fit(seen)
        quality, suspects = model.quality(), model.suspects()
        table = suspects if table is None else table
        codes, known = seen.codes.numpy(), seen.known.numpy()
        left = known & (codes != truth)
        flagged = suspects["node"][suspects["is_issue"]].to_numpy()
        found.append(
            {
                "graph": graph,
                "method": method,
                "seed": seed,
                "part": part,
                "labels": int(known.sum()),
                "reviewed": decided,
                "wrong": int(left.sum()),
                "estimated": round(quality.noise_rate * known.sum(), 1),
                "low": round(quality.noise_interval[0] * known.sum(), 1),
                "high": round(quality.noise_interval[1] * known.sum(), 1),
                "flagged": len(flagged),
                "flagged_wrong": int(left[flagged].sum()),
                "verdict": quality.verdict,
            }
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", default="s2gc")
    parser.add_argument("--seeds", default="0-2")
    parser.add_argument("--csv", type=Path, default=Path("review.csv"), help="table to continue")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored = pd.read_csv(options.csv) if options.csv.exists() else pd.DataFrame()
    for seed in parse_seeds(options.seeds):
        for graph in GRAPHS:
            key = (graph, options.method, seed)
            if len(stored) and key in set(
                zip(*(stored[name] for name in ("graph", "method", "seed")), strict=True)
            ):
                continue
            stored = pd.concat([stored, pd.DataFrame(rows_of(*key))], ignore_index=True)
            stored.to_csv(options.csv, index=False, lineterminator="\n")
    print(stored.to_string())


if __name__ == "__main__":
    main()
