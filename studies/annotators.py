"""Crowds of annotators: is the consensus right, and what does it teach? Against three rivals.

Six simulated annotators (accuracy 0.9, 0.8, 0.65, 0.55, one of 0.7 who reads attributes, a spammer)
give three answers a node on the training and validation nodes. Majority vote, Dawid-Skene of
crowd-kit, cleanlab's consensus and ours turn them into labels; a method learns from each. Every
draw is the same for all, so differences are paired. Rows that the file has are not run again.

    python studies/annotators.py run --draws 0-9 --followers gcn [--out FILE]
    python studies/annotators.py table results/studies/annotators.csv
"""

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from cleanlab.multiannotator import get_label_quality_multiannotator
from crowdkit.aggregation import DawidSkene
from scipy.stats import ttest_rel

import quietgraph as qg
from quietgraph.annotators.consensus import find_consensus
from quietgraph.annotators.out_of_fold_prior import OutOfFoldPrior
from quietgraph.annotators.tables import annotator_table
from quietgraph.data.annotations import Annotations
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation
from quietgraph.data.sources import user_cache
from quietgraph.methods.base.cache import EmbeddingCache, use_cache

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
KEY = ["dataset", "draw", "consensus"]
RIVALS = ("majority", "crowd-kit", "cleanlab", "quietgraph")


def crowdkit_labels(answers: Annotations) -> Array:
    """Return the labels of crowd-kit's Dawid-Skene, -1 without answers [nodes]."""
    table = answers.to_frame(np.arange(answers.num_nodes))
    table = table.rename(columns={"node": "task", "annotator": "worker"})
    found = DawidSkene(n_iter=100).fit_predict(table)
    labels = np.full(answers.num_nodes, -1)
    labels[found.index.astype(int)] = found.to_numpy()
    return labels


def cleanlab_labels(observed: Observation, answers: Annotations, seed: int) -> Array:
    """Return cleanlab's consensus; it gets out-of-fold probabilities learned from the majority."""
    nodes = np.flatnonzero(answers.answered.numpy())
    prior = OutOfFoldPrior(observed.graph, answers.answered, seed=seed)
    chances = prior(answers.majority(), len(answers.classes))[nodes]
    given = np.full((answers.num_nodes, len(answers.names)), np.nan)
    given[answers.nodes, answers.annotators] = answers.labels
    found = get_label_quality_multiannotator(
        pd.DataFrame(given[nodes]), chances, verbose=False, return_detailed_quality=False
    )
    labels = np.full(answers.num_nodes, -1)
    labels[nodes] = found["label_quality"]["consensus_label"].to_numpy()
    return labels


def measure(dataset: str, draw: int, rival: str) -> tuple[dict[str, Any], Observation, Array]:
    """Return what a consensus is worth, the observation that it makes, and the true labels."""
    clean, reference = load_benchmark(dataset, seed=draw)
    observed = apply_noise(clean, parse_noise("annotators:3"), seed=draw, reference=reference)
    answers, true = observed.annotations, reference.codes.numpy()
    assert answers is not None
    row: dict[str, Any] = {"dataset": dataset, "draw": draw, "consensus": rival}
    if rival == "quietgraph":
        consensus = find_consensus(observed, seed=draw)
        labels = consensus.labels.numpy()
        table = annotator_table(consensus).set_index("annotator").loc[list(answers.names)]
        right = answers.labels == true[answers.nodes]
        exact = np.bincount(answers.annotators, right) / answers.counts
        inside = (table["accuracy_low"] <= exact) & (exact <= table["accuracy_high"])
        row["annotator_error"] = float(np.abs(table["accuracy"] - exact).mean())
        row["interval_holds"] = float(inside.mean())
        row["spammer_found"] = bool(table["is_random"].iloc[-1])
        row["falsely_random"] = int(table["is_random"].iloc[:-1].sum())
    elif rival == "majority":
        labels = answers.majority().numpy()
    elif rival == "crowd-kit":
        labels = crowdkit_labels(answers)
    else:
        labels = cleanlab_labels(observed, answers, draw)
    known = answers.answered.numpy()
    row["consensus_accuracy"] = float((labels == true)[known].mean())
    if rival == "quietgraph":  # `fit` finds the same consensus, and weights its labels
        return row, observed, true
    codes = torch.from_numpy(labels.astype(np.int64))
    return row, replace(observed, codes=codes, annotations=None), true


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have, row by row."""
    first, last = map(int, options.draws.split("-"))
    for draw in range(first, last + 1):
        for dataset in options.datasets.split(","):
            for rival in RIVALS:
                add_row(options, dataset, draw, rival)


def add_row(options: argparse.Namespace, dataset: str, draw: int, rival: str) -> None:
    """Measure one consensus with the followers that its row does not have yet."""
    path = Path(options.out)
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEY)
    here = (rows[KEY] == [dataset, draw, rival]).all(axis=1)
    old = rows[here].iloc[0].dropna().to_dict() if here.any() else {}
    missing = [name for name in options.followers.split(",") if name and name not in old]
    if old and not missing:
        return
    row, observed, true = measure(dataset, draw, rival)
    for name in missing:
        model = qg.get_method(name).for_dataset(dataset, seed=draw).fit(observed)
        test = observed.split.test.numpy()
        row[name] = float((model.predict() == true)[test].mean())
    print({**old, **row}, flush=True)
    rows = pd.concat([rows[~here], pd.DataFrame([{**old, **row}])], ignore_index=True)
    rows.sort_values(KEY).to_csv(path, index=False, float_format="%.5g")


def show(options: argparse.Namespace) -> None:
    """Print means over draws, and paired differences of ours and each rival."""
    rows = pd.read_csv(options.file)
    measures = [name for name in ("consensus_accuracy", "s2gc", "gcn", "quiet") if name in rows]
    for measure_name in measures:
        table = rows.pivot_table(measure_name, ["dataset", "draw"], "consensus").dropna()
        for dataset, draws in table.groupby(level="dataset"):
            for rival in [name for name in RIVALS if name in draws]:
                gain = draws["quietgraph"] - draws[rival]
                p = ttest_rel(draws["quietgraph"], draws[rival]).pvalue if gain.any() else 1.0
                won = f"{int((gain > 0).sum())}/{len(gain)}"
                print(
                    f"{measure_name:18} {dataset:9} {rival:11} {100 * draws[rival].mean():5.1f} "
                    f"gain {100 * gain.mean():+5.1f} won {won} p {p:.1g}"
                )
    ours = rows[rows["consensus"] == "quietgraph"]
    names = ["annotator_error", "interval_holds", "spammer_found", "falsely_random"]
    print(ours.groupby("dataset")[names].mean(numeric_only=False).to_string())


def main() -> None:
    """Read the arguments and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("--datasets", default="digits,cora,citeseer")
    one.add_argument("--draws", default="0-9")
    one.add_argument("--followers", default="gcn")
    one.add_argument("--out", default="results/studies/annotators.csv")
    one.set_defaults(do=run)
    two = commands.add_parser("table")
    two.add_argument("file")
    two.set_defaults(do=show)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    with use_cache(EmbeddingCache(user_cache() / "studies")):
        options.do(options)


if __name__ == "__main__":
    main()
