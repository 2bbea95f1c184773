"""Do suspects find the wrong labels? Against a GCN's self-confidence and against cleanlab.

    python studies/suspects_study.py [--datasets cora,citeseer,pubmed,digits] [--seeds 1000-1009]
    python studies/suspects_study.py --scores margin,likely,votes,repeated:likely --seeds 3

Each method is fitted by the protocol of `quietgraph bench`. Judged are all labelled nodes, training
and validation, since both are noisy and every contender has out-of-fold probabilities for both:
area under the ROC curve, average precision, and precision in the first 20 of telling wrong from
right given labels; and F1 of the list that a user is told to read. cleanlab is handed the
out-of-fold probabilities of the same GCN. What a fit gave is kept beside the rows, so that a new
score needs no new fit, and a study that was stopped goes on where it was; after a change of the
library, begin with another `--rows`.

Scores of our methods (`--scores`): `suspects`, what the library says; `margin`, rival less given
label; `confidence`, 1 less that of the given label; `likely`, margin once the estimated noise is
taken out; `votes`, that with the votes of neighbours and nearest nodes; `opinions`, that with the
second opinion of a classifier on attributes too, which is what the library says. Before a colon,
how the probabilities are made: `repeated:` folds drawn five times, `mended:` folds that learn from
labels mended within the fold, `both:` the two together.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from cleanlab.filter import find_label_issues
from cleanlab.rank import get_label_quality_scores
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from torch import Tensor

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run
from quietgraph.bench.statistics import against, summarise
from quietgraph.classify.label_issues.attributes import attribute_opinion
from quietgraph.classify.label_issues.out_of_fold import out_of_fold
from quietgraph.classify.label_issues.posterior import blend_opinions, likely_classes
from quietgraph.classify.label_issues.suspects import suspect_table
from quietgraph.diagnose import estimate_noise
from quietgraph.methods import EmbeddingCache, NodeClassifier, use_cache
from quietgraph.methods.base.task import make_task
from quietgraph.rng import torch_generator
from quietgraph.types import UNKNOWN

OURS = ("gcl-lr-attention", "gcl-lrr", "quiet")
PLANS = {"once": (1, False), "repeated": (5, False), "mended": (1, True), "both": (5, True)}
GCN = "gcn"
METRICS = {
    "auroc": "AUROC",
    "average_precision": "average precision",
    "precision_20": "precision in the first 20",
    "list_f1": "F1 of the list",
}
Array = np.ndarray[Any, Any]
Judgement = tuple[Array, Array]  # how suspicious each labelled node is, and which are listed


@dataclass(frozen=True)
class Evidence:
    """What a fit says of the labelled nodes, and which of their labels are wrong."""

    given: Array
    wrong: Array
    chances: Array  # out-of-fold [labelled, classes]
    nearest: Array
    neighbours: Array
    attributes: Array
    score: Array  # of `suspects()`
    listed: Array


def gather(run: Run, plan: str) -> Evidence:
    observed, reference = run.observe()
    model = run.fit(observed)
    table = model.suspects(columns="evidence").sort_values("node")
    labels = model.task_.labels
    known = labels != UNKNOWN
    votes = model._votes(model.task_)
    return Evidence(
        given=labels[known].numpy(),
        wrong=reference.wrong(observed)[known].numpy(),
        chances=probabilities(model, plan)[known].numpy(),
        nearest=votes["nearest"][known].numpy(),
        neighbours=votes["neighbours"][known].numpy(),
        attributes=votes["attributes"][known].numpy(),
        score=table["score"].to_numpy(),
        listed=table["is_issue"].to_numpy(),
    )


def probabilities(model: NodeClassifier, plan: str) -> Tensor:
    """Return out-of-fold probabilities made by a plan [nodes, classes]."""
    if plan == "once":
        return torch.from_numpy(model.out_of_fold_)
    task = model.task_
    repeats, is_mended = PLANS[plan]

    def learn(labels: Tensor) -> Tensor:
        return model._fold_learner()(replace(task.without(labels == UNKNOWN), labels=labels))

    def mend(chances: Tensor, labels: Tensor) -> Tensor:
        noise = estimate_noise(chances, labels)
        likely = likely_classes(chances, labels, noise.transition).argmax(dim=1)
        return torch.where(labels == UNKNOWN, labels, likely)

    return out_of_fold(
        task.labels,
        learn,
        task.num_classes,
        generator=torch_generator(task.seed, "folds"),
        repeats=repeats,
        mend=mend if is_mended else None,
    )


def judge_ours(found: Evidence, score: str) -> Judgement:
    if score == "suspects":
        return found.score, found.listed
    chances, given = torch.from_numpy(found.chances), torch.from_numpy(found.given)
    if score in {"votes", "opinions"}:
        names = ("nearest", "neighbours", "attributes")[: 3 if score == "opinions" else 2]
        votes = {name: torch.from_numpy(getattr(found, name)) for name in names}
        chances = blend_opinions(chances, given, votes)
    noise = estimate_noise(chances, given)
    count = round(noise.rate * len(given))
    if score == "confidence":
        return _first(1 - found.chances[np.arange(len(given)), found.given], count)
    if score in {"likely", "votes", "opinions"}:
        chances = likely_classes(chances, given, noise.transition)
    classes = np.arange(chances.shape[1])
    return _first(suspect_table(chances, given, classes).sort_values("node")["score"], count)


def judge_gcn(found: Evidence, score: str) -> Judgement:
    given, chances = found.given, found.chances
    if score in OWN_SCORES:
        return judge_ours(found, OWN_SCORES[score])
    method, adjusted, filtered = CLEANLAB[score]
    quality = get_label_quality_scores(given, chances, method=method, adjust_pred_probs=adjusted)
    listed = find_label_issues(given, chances, filter_by=filtered, n_jobs=1)
    # The filter's own order: what it accuses comes first.
    return 1 - quality + listed * (score == "cleanlab-filter"), listed


CLEANLAB = {
    "cleanlab": ("self_confidence", False, "prune_by_noise_rate"),  # all defaults
    "cleanlab-filter": ("self_confidence", False, "confident_learning"),
    "cleanlab-margin": ("normalized_margin", False, "prune_by_noise_rate"),
    "cleanlab-adjusted": ("self_confidence", True, "prune_by_noise_rate"),
}
OWN_SCORES = {"self-confidence": "confidence", "likely": "likely"}
GCN_SCORES = (*OWN_SCORES, *CLEANLAB)
NO_RIVAL = f"{GCN} likely"  # our score on the GCN's probabilities: how much is the score alone


def _first(score: Any, count: int) -> Judgement:
    score = np.asarray(score)
    listed = np.zeros(len(score), dtype=bool)
    listed[np.argsort(-score, kind="stable")[:count]] = True
    return score, listed


def measure(found: Evidence, judgement: Judgement) -> dict[str, float]:
    score, listed = judgement
    first = np.argsort(-score, kind="stable")[:20]
    return {
        "auroc": float(roc_auc_score(found.wrong, score)),
        "average_precision": float(average_precision_score(found.wrong, score)),
        "precision_20": float(found.wrong[first].mean()),
        "list_f1": float(f1_score(found.wrong, listed, zero_division=0.0)),
    }


def study(run: Run, scores: list[str], folder: Path) -> dict[str, dict[str, float]]:
    """Return the metrics by score."""
    judge: Callable[[Evidence, str], Judgement] = (
        judge_gcn if run.variant.method == GCN else judge_ours
    )
    rows = {}
    for name in scores:
        plan, _, score = name.rpartition(":")
        found = _recall(run, plan or "once", folder)
        rows[name] = measure(found, judge(found, score))
    return rows


def _recall(run: Run, plan: str, folder: Path) -> Evidence:
    """Return what a fit gave, from disk where it was done before."""
    path = folder / f"{run.key().digest}-{plan}.npz"
    if path.exists():
        with np.load(path) as stored:
            arrays = dict(stored)
        if "attributes" in arrays:
            return Evidence(**arrays)
        found = Evidence(**arrays, attributes=_opinion(run))  # of a fit before there were any
    else:
        found = gather(run, plan)
    folder.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(f".{os.getpid()}.part")
    with scratch.open("wb") as file:
        np.savez(file, **vars(found))
    scratch.replace(path)
    return found


def _opinion(run: Run) -> Array:
    task, _ = make_task(run.observe()[0], run.seed)
    told = attribute_opinion(task.graph, task.labels, task.num_classes, seed=task.seed)
    return told[task.labels != UNKNOWN].numpy()


def _read(path: Path) -> dict[tuple, dict[str, float]]:
    if not path.exists():
        return {}
    lines = path.read_text().splitlines()
    pairs = (json.loads(line) for line in lines if line.endswith("}]"))  # a cut line is no row
    return {tuple(key): row for key, row in pairs}


def show(done: dict[tuple, dict[str, float]], keys: list[tuple]) -> None:
    rows = [_row(key) | done[key] for key in keys]
    frame = pd.DataFrame(rows)
    summaries = {name: summarise(frame, name) for name in METRICS}
    first = next(iter(summaries.values()))
    table = first[["dataset", "noise", "method"]].copy()
    for name, words in METRICS.items():
        cells = zip(summaries[name]["mean"], summaries[name]["std"], strict=True)
        table[words] = [f"{mean:.3f} ± {std:.3f}" for mean, std in cells]
    print(_markdown(table.assign(n=first["n"])))
    rivals = {name for name in frame["method"] if name.startswith(f"{GCN} ")}
    rivals = sorted(rivals - {NO_RIVAL})
    for metric in ("auroc", "average_precision") if rivals else ():
        print(f"\n{METRICS[metric]}: difference from the best of {', '.join(rivals)}\n")
        print(_markdown(_compare(frame, rivals, metric)))


def _row(key: tuple) -> dict[str, Any]:
    dataset, noise, seed, method, score, _ = key
    name = f"{method} {score}" if method == GCN or score != "suspects" else method
    return {"dataset": dataset, "noise": noise, "seed": seed, "method": name, "status": "done"}


def _compare(frame: pd.DataFrame, rivals: list[str], metric: str) -> pd.DataFrame:
    tests = against(frame, rivals, metric)
    words = {"t_p": "p (t)", "t_holm": "Holm", "wilcoxon_p": "p (Wilcoxon)"}
    shown = tests[["dataset", "noise", "method", "baseline"]].assign(
        difference=tests["difference"].map("{:+.3f}".format), n=tests["n"]
    )
    shown["wins/losses"] = tests["wins"].astype(str) + "/" + tests["losses"].astype(str)
    return shown.assign(**{words[name]: tests[name].map("{:.2g}".format) for name in words})


def _markdown(table: pd.DataFrame) -> str:
    head = [list(table.columns), ["---"] * len(table.columns)]
    rows = table.astype(str).to_numpy().tolist()
    return "\n".join(f"| {' | '.join(row)} |" for row in [*head, *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer,pubmed,digits")
    parser.add_argument(
        "--noise", default="symmetric:0.2,symmetric:0.4,asymmetric:0.2,asymmetric:0.4"
    )
    parser.add_argument("--methods", default=",".join((*OURS, GCN)))
    parser.add_argument("--scores", default="suspects", help="of our methods; see above")
    parser.add_argument("--seeds", default="10", help="a count, a range (1000-1009) or a list")
    parser.add_argument("--cache", type=Path, default=Path("cache"), help="of embeddings")
    parser.add_argument("--rows", type=Path, default=Path("suspects_study.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module="cleanlab")
    done, keys = _read(options.rows), []
    with use_cache(EmbeddingCache(options.cache)):
        for run in _runs(options):
            scores = list(GCN_SCORES) if run.variant.method == GCN else options.scores.split(",")
            cell = (run.dataset, str(run.noise), run.seed, str(run.variant))
            wanted = {name: (*cell, name, run.key().digest) for name in scores}
            keys += wanted.values()
            missing = [name for name, key in wanted.items() if key not in done]
            if not missing:
                continue
            found = study(run, missing, options.rows.with_suffix(""))
            done |= {wanted[name]: row for name, row in found.items()}
            with options.rows.open("a") as file:
                file.writelines(json.dumps([wanted[n], found[n]]) + "\n" for n in found)
            print(*cell, found, file=sys.stderr)
    show(done, keys)


def _runs(options: argparse.Namespace) -> list[Run]:
    return [
        Run.parse(dataset, method, noise, seed)
        for dataset in options.datasets.split(",")
        for seed in parse_seeds(options.seeds)
        for method in options.methods.split(",")
        for noise in options.noise.split(",")
    ]


if __name__ == "__main__":
    main()
