"""What UnionNET, RTGNN, CGNN and HONGAT do inside, as their briefs ask: right by the true labels?

    python studies/label_handling.py [--dataset cora] [--noise symmetric:0.4] [--seeds 1000-1004]

unionnet: mean weight of right and of wrong given labels in the last epoch. rtgnn: share of right
labels among those it holds for clean in the last epoch. cgnn: share of right ones among the labels
it changes in the last epoch. hongat: neighbours that a node attends to, mean and most.
"""

import argparse
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods.attention import hongat
from quietgraph.methods.consistency import cgnn
from quietgraph.methods.gcn import unionnet
from quietgraph.methods.linked import rtgnn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--noise", default="symmetric:0.4")
    parser.add_argument("--seeds", default="1000-1004", help="a count, a range or a list")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("| method | measured | mean ± std | n |\n|---|---|---|---|")
    for method, measure in MEASURES.items():
        rows = []
        for seed in parse_seeds(options.seeds):
            observed, reference = Run.parse(options.dataset, method, options.noise, seed).observe()
            rows.append(measure(reference, observed, seed))
        for name in rows[0]:
            values = np.array([row[name] for row in rows])
            spread = f"{values.mean():.2f} ± {values.std(ddof=1):.2f}"
            print(f"| {method} | {name} | {spread} | {len(values)} |", flush=True)


def weights(reference: Reference, observed: Observation, seed: int) -> dict[str, float]:
    votes = _last(unionnet, "support_votes", "unionnet", observed, seed)
    labels, right = _training(reference, observed)
    weight = votes.gather(1, labels[:, None]).squeeze(1)
    return {
        "weight of right labels": float(weight[right].mean()),
        "weight of wrong labels": float(weight[~right].mean()),
    }


def clean_set(reference: Reference, observed: Observation, seed: int) -> dict[str, float]:
    selected = _last(rtgnn, "select_labels", "rtgnn", observed, seed)
    right = _training(reference, observed)[1]
    return {
        "right among those held for clean": float(right[selected.clean].float().mean()),
        "right among all": float(right.float().mean()),
    }


def purified(reference: Reference, observed: Observation, seed: int) -> dict[str, float]:
    cleaned = _last(cgnn, "cleaned_labels", "cgnn", observed, seed)
    labels, _ = _training(reference, observed)
    changed = cleaned != labels
    truth = reference.codes[observed.split.train]
    return {
        "right among changed labels": float((cleaned == truth)[changed].float().mean()),
        "labels changed": float(changed.sum()),
    }


def attended(_: Reference, observed: Observation, seed: int) -> dict[str, float]:
    method = qg.get_method("hongat")(seed=seed)
    kept = hongat.similar_neighbours(
        observed.graph, order=method.order, most=method.neighbours, weigh=method.weigh
    ).row_counts.float()
    return {"neighbours kept": float(kept.mean()), "most neighbours kept": float(kept.max())}


MEASURES: dict[str, Callable[[Reference, Observation, int], dict[str, float]]] = {
    "unionnet": weights,
    "rtgnn": clean_set,
    "cgnn": purified,
    "hongat": attended,
}


def _last(module: Any, function: str, method: str, observed: Observation, seed: int) -> Any:
    """Return what a function of a method's module returned last while the method was fitted."""
    results = []
    original = getattr(module, function)

    def remember(*args: Any, **options: Any) -> Any:
        results[:] = [original(*args, **options)]
        return results[0]

    with patch.object(module, function, remember):
        qg.get_method(method)(seed=seed).fit(observed)
    return results[0]


def _training(reference: Reference, observed: Observation) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the observed labels of training nodes, and which of them are right."""
    train = observed.split.train
    return observed.codes[train], observed.codes[train] == reference.codes[train]


if __name__ == "__main__":
    main()
