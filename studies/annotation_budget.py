"""Is a label of a person better spent where `next_labels` says? Cora, labelled by GPT-3.5.

Of every draw, 1,000 nodes are test nodes. GPT's labels and rankings on 640 of the others are cheap,
true labels of all others are dear. A model learns from the cheap labels; then labels are bought, 25
at a time, and verified, and the model learns again: at random, by the entropy of its prediction, or
by `next_labels`. `at once` buys all labels by the first model; `no rankings` takes GPT's first
choices alone. Draws are the same for all, so differences are paired. The file has the columns
pyg_index, llm_label and llm_ranking.

    python studies/annotation_budget.py run cora-gpt35.csv --draws 0-9 --method s2gc
    python studies/annotation_budget.py table results/studies/annotation-budget.csv
"""

import argparse
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from scipy.stats import entropy, ttest_rel

import quietgraph as qg
from quietgraph.data.annotations import plain_ranks
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.folds import hold_out
from quietgraph.data.observation import Observation
from quietgraph.data.sources import user_cache
from quietgraph.data.splits import split_labelled
from quietgraph.methods.base.cache import EmbeddingCache, use_cache

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
KEY = ["method", "draw", "choice", "budget"]
TEST, CHEAP, BATCH = 1000, 640, 25
CHOICES = (
    "next_labels",
    "random",
    "random at once",
    "entropy",
    "entropy at once",
    "next_labels at once",
    "random, no rankings",
)


@dataclass(frozen=True, eq=False)
class Draw:
    """Cheap answers, true labels and test nodes of one draw, and the method that learns."""

    clean: Observation
    answers: qg.Annotations
    true: Array
    test: Array
    seed: int
    method: str

    def fit(self, bought: Array) -> qg.NodeClassifier:
        """Learn from the cheap labels with the dear ones verified."""
        assert not (bought & self.test).any()
        dear = torch.from_numpy(bought)
        codes = torch.where(dear, torch.from_numpy(self.true), self.answers.majority())
        split = split_labelled(codes, hold_out(codes, seed=self.seed))
        observed = replace(
            self.clean, codes=codes, split=split, verified=dear, annotations=self.answers
        )
        return qg.get_method(self.method).for_dataset("cora", seed=self.seed).fit(observed)

    def score(self, model: qg.NodeClassifier, bought: Array) -> dict[str, float]:
        """Return test accuracy, and how many of the cheap labels are right in the consensus."""
        assert model.consensus_ is not None
        asked = self.answers.answered.numpy() & ~bought
        right = model.consensus_.labels.numpy() == self.true
        accuracy = (model.predict() == self.true)[self.test].mean()
        return {"accuracy": float(accuracy), "consensus": float(right[asked].mean())}


def choose(how: str, model: qg.NodeClassifier, pool: Array, budget: int, seed: int) -> Array:
    """Return the nodes to buy."""
    nodes = np.flatnonzero(pool)
    if how.startswith("random"):
        return np.random.default_rng((seed, len(nodes))).choice(nodes, budget, replace=False)
    if how.startswith("entropy"):
        return nodes[np.argsort(-entropy(model.predict_proba()[nodes], axis=1))[:budget]]
    return model.next_labels(budget, annotator="person", among=pool)["node"].to_numpy()


def draws_of(options: argparse.Namespace) -> list[Draw]:
    """Return the draws that were asked for."""
    clean, reference = load_benchmark("cora", seed=0)
    true = reference.codes.numpy()
    gpt = pd.read_csv(options.file)
    table = pd.DataFrame(
        {"node": gpt["pyg_index"], "annotator": "gpt-3.5", "label": gpt["llm_label"]}
    )
    table["ranking"] = gpt["llm_ranking"].astype(str)
    every = qg.read_annotations(table, range(len(true)), clean.classes)
    found = []
    first, last = map(int, options.draws.split("-"))
    for draw in range(first, last + 1):
        order = np.random.default_rng(draw).permutation(len(true))
        test, asked = np.zeros((2, len(true)), dtype=bool)
        test[order[:TEST]] = True
        asked[order[TEST : TEST + CHEAP]] = True
        cheap = every.within(torch.from_numpy(asked))
        found.append(Draw(clean, cheap, true, test, draw, options.method))
    return found


def run(options: argparse.Namespace) -> None:
    """Measure what the file does not have, draw by draw."""
    for draw in draws_of(options):
        nothing = np.zeros(len(draw.true), dtype=bool)
        start: qg.NodeClassifier | None = None
        for how in options.choices.split(";"):
            if has_row(options, draw, how, options.budget):
                continue
            start = start or draw.fit(nothing)
            keep(options, draw, "none", 0, draw.score(start, nothing))
            buy(options, draw, how, start)


def buy(options: argparse.Namespace, draw: Draw, how: str, model: qg.NodeClassifier) -> None:
    """Buy labels until the budget is spent, and keep what the model knows after every batch."""
    if how.endswith("no rankings"):
        plain = plain_ranks(draw.answers.labels, len(draw.clean.classes))
        draw = replace(draw, answers=replace(draw.answers, ranks=plain))
    batch = options.budget if how.endswith("at once") else BATCH
    bought = np.zeros(len(draw.true), dtype=bool)
    while bought.sum() < options.budget:
        bought[choose(how, model, ~draw.test & ~bought, batch, draw.seed)] = True
        model = draw.fit(bought)
        keep(options, draw, how, int(bought.sum()), draw.score(model, bought))


def rows_of(options: argparse.Namespace) -> pd.DataFrame:
    """Return what was measured so far."""
    path = Path(options.out)
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=KEY)


def has_row(options: argparse.Namespace, draw: Draw, how: str, budget: int) -> bool:
    """Whether this was measured already."""
    wanted = [draw.method, draw.seed, how, budget]
    return bool((rows_of(options)[KEY] == wanted).all(axis=1).any())


def keep(
    options: argparse.Namespace, draw: Draw, how: str, budget: int, scores: dict[str, float]
) -> None:
    """Write a row to the file, unless it has it."""
    if has_row(options, draw, how, budget):
        return
    row: dict[str, Any] = dict(zip(KEY, (draw.method, draw.seed, how, budget), strict=True))
    row["code"] = options.code
    print(row | scores, flush=True)
    rows = pd.concat([rows_of(options), pd.DataFrame([row | scores])], ignore_index=True)
    rows.sort_values(KEY).to_csv(options.out, index=False, float_format="%.5g")


def show(options: argparse.Namespace) -> None:
    """Print mean test accuracy, and paired differences of ours and the others."""
    rows = pd.read_csv(options.file)
    print(rows[rows["choice"] == "none"].groupby("method")[["accuracy", "consensus"]].mean())
    for (method, budget), some in rows[rows["choice"] != "none"].groupby(["method", "budget"]):
        for measure in ("accuracy", "consensus"):
            table = some.pivot_table(measure, "draw", "choice")
            for how in table:
                ours = "random" if how == "random, no rankings" else "next_labels"
                both = table[list({ours, how})].dropna()
                gain = both[ours] - both[how]
                p = ttest_rel(both[ours], both[how]).pvalue if gain.any() else 1.0
                print(
                    f"{method:6} {budget:4} {measure:9} {how:20} {100 * both[how].mean():5.1f} ± "
                    f"{100 * both[how].std():3.1f}; {ours} {100 * gain.mean():+5.1f} "
                    f"won {int((gain > 0).sum())}/{len(gain)} p {p:.2g}"
                )


def main() -> None:
    """Read the arguments and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("file")
    one.add_argument("--draws", default="0-9")
    one.add_argument("--method", default="s2gc")
    one.add_argument("--budget", type=int, default=100)
    one.add_argument("--choices", default=";".join(CHOICES))
    one.add_argument("--code", default="", help="state of the code, kept with every row")
    one.add_argument("--out", default="results/studies/annotation-budget.csv")
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
