"""Is the verdict of `quality()` right? Generated graphs with and without signal.

    python studies/verdict.py --method s2gc --seeds 6000-6099 --csv verdict.csv

Without signal: labels drawn at random on random graphs, or permuted labels of a graph with signal.
With signal: homophilous and heterophilous block models. Sizes, numbers of classes and labels, class
frequencies and label noise vary with the seed. One row per graph; finished rows are kept.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds


def draw(seed: int, *, signal: bool) -> tuple[qg.Graph, np.ndarray, dict]:
    draws = np.random.default_rng([seed, int(signal)])
    num_nodes, num_classes = int(draws.integers(200, 800)), int(draws.integers(2, 8))
    heterophilous = bool(draws.random() < 0.4)
    homophily = float(draws.uniform(0.0, 0.3) if heterophilous else draws.uniform(0.6, 0.95))
    drawn = qg.block_model(
        num_nodes,
        num_classes=num_classes,
        num_features=int(draws.integers(8, 64)),
        mean_degree=float(draws.uniform(3, 12)),
        homophily=homophily,
        signal=float(draws.uniform(2.5, 4.0) if heterophilous else draws.uniform(0.5, 2.0)),
        generator=draws,
    )
    classes = drawn.classes
    permuted = not signal and draws.random() < 0.5
    graph = drawn.graph
    if not signal and not permuted:
        shape = (num_nodes, graph.num_features)
        features = draws.standard_normal(shape).astype(np.float32)
        graph = qg.Graph.from_arrays(features, draws.integers(num_nodes, size=(2, 3 * num_nodes)))
    if not signal:
        share = draws.dirichlet(np.full(num_classes, 3.0))
        drawn_at_random = draws.choice(num_classes, num_nodes, p=share)
        classes = draws.permutation(classes) if permuted else drawn_at_random
    noise = float(draws.choice([0.0, 0.2, 0.4]))
    wrong = draws.random(num_nodes) < noise
    shift = draws.integers(1, num_classes, num_nodes)
    observed = np.where(wrong, (classes + shift) % num_classes, classes)
    if num_classes == 2 and noise == 0.4:  # nearly nothing is left of two classes
        observed = np.where(wrong & (draws.random(num_nodes) < 0.5), classes, observed)
    count = int(draws.integers(80, min(300, num_nodes)))
    labels = np.full(num_nodes, -1)
    known = draws.permutation(num_nodes)[:count]
    labels[known] = observed[known]
    facts = {"nodes": num_nodes, "classes": num_classes, "labels": count, "noise": noise}
    return graph, labels, facts | {"homophily": homophily if signal else None}


def judge(method: str, seed: int, *, signal: bool) -> dict:
    """Return the statement of quality of one graph."""
    graph, labels, facts = draw(seed, signal=signal)
    model = qg.get_method(method)(seed=seed).fit(graph, labels)
    found, table = model.quality(), model.suspects()
    names = ("accuracy", "chance", "p_value", "estimated_accuracy", "noise_rate")
    row = {"method": method, "seed": seed, "signal": signal, **facts}
    row |= {name: round(getattr(found, name), 4) for name in names}
    return row | {"verdict": found.verdict, "flagged": int(table["is_issue"].sum())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", default="s2gc")
    parser.add_argument("--seeds", default="6000-6099")
    parser.add_argument("--csv", type=Path, default=Path("verdict.csv"), help="table to continue")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored = pd.read_csv(options.csv).to_dict("records") if options.csv.exists() else []
    rows = {(row["method"], row["seed"], row["signal"]): row for row in stored}
    for seed in parse_seeds(options.seeds):
        for signal in (False, True):
            key = (options.method, seed, signal)
            if key not in rows:
                rows[key] = judge(options.method, seed, signal=signal)
                frame = pd.DataFrame([rows[key] for key in sorted(rows)])
                frame.to_csv(options.csv, index=False, lineterminator="\n")
    frame = pd.DataFrame(rows.values())
    print(frame.groupby(["method", "signal", "verdict"]).size().to_string())


if __name__ == "__main__":
    main()
