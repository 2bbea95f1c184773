"""Is a label of a person better spent where `next_labels` says? Cora, labelled by GPT-3.5.

Of every draw, 1,000 nodes are test nodes. GPT's labels and rankings on 640 of the others are cheap,
true labels of all others are dear. From one fit on the cheap labels, 100 nodes are chosen at
random, by the entropy of the prediction, or by `next_labels`, and their true labels verified. Draws
are the same for all, so differences are paired. The file has the columns pyg_index, llm_label and
llm_ranking.

    python studies/annotation_budget.py run cora-gpt35.csv --draws 0-9 --method s2gc
    python studies/annotation_budget.py table results/annotation-budget.csv
"""

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from scipy.stats import entropy, ttest_rel

import quietgraph as qg
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.folds import hold_out
from quietgraph.data.observation import Observation
from quietgraph.data.splits import split_labelled

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
KEY = ["method", "draw", "choice", "budget"]
TEST, CHEAP = 1000, 640


def observe(
    clean: Observation, answers: qg.Annotations, labels: Array, bought: Array, seed: int
) -> Observation:
    """Return the cheap labels with the dear ones verified."""
    dear = torch.from_numpy(bought)
    codes = torch.where(dear, torch.from_numpy(labels), answers.majority())
    split = split_labelled(codes, hold_out(codes, seed=seed))
    kept = answers.within(codes != -1)
    return replace(clean, codes=codes, split=split, verified=dear, annotations=kept)


def choose(how: str, model: qg.NodeClassifier, pool: Array, budget: int, seed: int) -> Array:
    """Return the nodes to buy."""
    nodes = np.flatnonzero(pool)
    if how == "random":
        return np.random.default_rng((seed, 1)).choice(nodes, budget, replace=False)
    if how == "entropy":
        return nodes[np.argsort(-entropy(model.predict_proba()[nodes], axis=1))[:budget]]
    return model.next_labels(budget, annotator="person", among=pool)["node"].to_numpy()


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have, draw by draw."""
    clean, reference = load_benchmark("cora", seed=0)
    true = reference.codes.numpy()
    gpt = pd.read_csv(options.file)
    table = pd.DataFrame(
        {"node": gpt["pyg_index"], "annotator": "gpt-3.5", "label": gpt["llm_label"]}
    )
    table["ranking"] = gpt["llm_ranking"].astype(str)
    first, last = map(int, options.draws.split("-"))
    for draw in range(first, last + 1):
        order = np.random.default_rng(draw).permutation(len(true))
        test = np.zeros(len(true), dtype=bool)
        test[order[:TEST]] = True
        cheap = qg.read_annotations(table, range(len(true)), clean.classes)
        asked = np.zeros(len(true), dtype=bool)
        asked[order[TEST : TEST + CHEAP]] = True
        cheap = cheap.within(torch.from_numpy(asked))
        measure_draw(options, clean, cheap, (true, test), draw)


def measure_draw(
    options: argparse.Namespace,
    clean: Observation,
    cheap: qg.Annotations,
    truth: tuple[Array, Array],
    draw: int,
) -> None:
    """Fit on the cheap labels, buy by every rule, fit again."""
    (true, test), path = truth, Path(options.out)
    method = qg.get_method(options.method)

    def fitted(bought: Array) -> qg.NodeClassifier:
        model = method.for_dataset("cora", seed=draw)
        return model.fit(observe(clean, cheap, true, bought, draw))

    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEY)
    nothing = np.zeros(len(true), dtype=bool)
    base: qg.NodeClassifier | None = None
    for budget in map(int, options.budgets.split(",")):
        for how in ("none", "random", "entropy", "next_labels"):
            if (rows[KEY] == [options.method, draw, how, budget]).all(axis=1).any():
                continue
            base = base or fitted(nothing)
            bought, model = nothing.copy(), base
            if how != "none":
                bought[choose(how, base, ~test, budget, draw)] = True
                model = fitted(bought)
            assert not (bought & test).any()
            accuracy = float((model.predict() == true)[test].mean())
            row: dict[str, Any] = dict(zip(KEY, (options.method, draw, how, budget), strict=True))
            row["accuracy"] = accuracy
            print(row, flush=True)
            rows = pd.concat([rows, pd.DataFrame([row])], ignore_index=True)
            rows.sort_values(KEY).to_csv(path, index=False, float_format="%.5g")


def show(options: argparse.Namespace) -> None:
    """Print mean test accuracy, and paired differences of ours and the others."""
    rows = pd.read_csv(options.file)
    for (method, budget), some in rows.groupby(["method", "budget"]):
        table = some.pivot_table("accuracy", "draw", "choice").dropna()
        for how in table:
            gain = table["next_labels"] - table[how]
            p = ttest_rel(table["next_labels"], table[how]).pvalue if gain.any() else 1.0
            won = f"{int((gain > 0).sum())}/{len(gain)}"
            print(
                f"{method:6} {budget:4} {how:12} {100 * table[how].mean():5.1f} "
                f"ours {100 * gain.mean():+5.1f} won {won} p {p:.2g}"
            )


def main() -> None:
    """Read the arguments and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file")
    one.add_argument("--draws", default="0-9")
    one.add_argument("--method", default="s2gc")
    one.add_argument("--budgets", default="100")
    one.add_argument("--out", default="results/studies/annotation-budget.csv")
    one.set_defaults(do=run)
    two = commands.add_parser("table")
    two.add_argument("file")
    two.set_defaults(do=show)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    options.do(options)


if __name__ == "__main__":
    main()
