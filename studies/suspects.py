"""Do suspects find the wrong labels? Against cleanlab fed with a GCN or a logistic regression.

    python studies/suspects.py --datasets cora,citeseer,digits --seeds 3000-3009 --rows rows.jsonl

All labelled nodes, training and validation, are scored: area under the ROC curve, average
precision, and precision of the flagged labels. cleanlab gets out-of-fold probabilities of a GCN
with the same folds (`--methods gcn`) or of scikit-learn's logistic regression on the attributes
(unless `--without-logistic`, for calibration alone); its self-confidence and its normalised margin
are both shown. The dataset `generated` is a heterophilous block model, another one for every seed,
that no setting was chosen on. From the same fits: accuracy and expected calibration error on the
true labels of all nodes without an observed label. Finished rows are kept.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from cleanlab.rank import get_label_quality_scores
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.metrics import calibration_error
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.observation import Reference, observe
from quietgraph.methods import EmbeddingCache, use_cache

RIVALS = ("self_confidence", "normalized_margin")
Array = np.ndarray[Any, Any]


def measure(wrong: Array, score: Array, flagged: Array | None = None) -> dict[str, float]:
    """Return how well a score tells wrong labels from right ones."""
    found = {
        "auroc": float(roc_auc_score(wrong, score)),
        "average_precision": float(average_precision_score(wrong, score)),
    }
    if flagged is not None:
        precision = float(wrong[flagged].mean()) if flagged.any() else float("nan")
        found |= {"flagged": int(flagged.sum()), "precision": precision, "wrong": int(wrong.sum())}
    return found


def cleanlab_rows(name: str, codes: Array, probabilities: Array, wrong: Array) -> dict[str, Any]:
    """Return the measures of cleanlab's label qualities."""
    probabilities = probabilities.clip(1e-9)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    return {
        f"{name} + cleanlab {method}": measure(
            wrong, 1 - get_label_quality_scores(codes, probabilities, method=method)
        )
        for method in RIVALS
    }


def logistic_rows(graph: qg.Graph, codes: Array, known: Array, wrong: Array, seed: int) -> Any:
    """Return the measures of cleanlab with a logistic regression on the attributes."""
    rows = graph.features
    dense = np.asarray(rows if torch.is_tensor(rows) else rows.to_dense())[known]
    folds = min(5, int(np.bincount(codes).min()))
    if folds < 2:
        return {}
    split = StratifiedKFold(folds, shuffle=True, random_state=seed)
    model = LogisticRegression(max_iter=300)
    probabilities = cross_val_predict(model, dense, codes, cv=split, method="predict_proba")
    return cleanlab_rows("logistic", codes, probabilities, wrong)


def generated(seed: int) -> tuple[qg.Observation, Reference]:
    """Return a graph whose edges join unequal classes more often than by chance."""
    draws = np.random.default_rng([seed, 7])
    classes, nodes = int(draws.integers(3, 7)), int(draws.integers(400, 1200))
    drawn = qg.block_model(
        nodes,
        num_classes=classes,
        num_features=int(draws.integers(16, 128)),
        mean_degree=float(draws.uniform(3, 12)),
        homophily=float(draws.uniform(0.0, 0.5 / classes)),
        signal=float(draws.uniform(1.5, 3.5)),
        generator=draws,
    )
    codes = np.where(draws.permutation(nodes) < nodes // 3, drawn.classes, -1)
    reference = Reference(drawn.graph, torch.from_numpy(drawn.classes.astype(np.int64)))
    return observe(drawn.graph, codes, seed=seed), reference


def calibration_rows(model: qg.NodeClassifier, reference: Reference) -> dict[str, float]:
    """Return accuracy, calibration error on nodes without an observed label, and quality."""
    unseen = ((model.task_.labels == -1) & (reference.codes >= 0)).numpy()
    true, probabilities = reference.codes.numpy()[unseen], model.predict_proba()[unseen]
    hits = float((probabilities.argmax(axis=1) == true).mean())
    quality = model.quality()
    return {
        "accuracy": hits,
        "calibration_error": calibration_error(probabilities, true),
        "noise_rate": quality.noise_rate,
        "noise_low": quality.noise_interval[0],
        "noise_high": quality.noise_interval[1],
        "verdict": quality.verdict,
    }


def study(
    dataset: str, noise: str, seed: int, methods: list[str], *, with_logistic: bool
) -> dict[str, Any]:
    """Return the measures of every contender on one draw."""
    is_generated = dataset == "generated"
    clean, reference = generated(seed) if is_generated else load_benchmark(dataset, seed=seed)
    settings = None if is_generated else dataset
    observed = qg.apply_noise(clean, qg.parse_noise(noise), seed=seed)
    found: dict[str, Any] = {}
    for method in methods:
        kind = qg.get_method(method)
        model = kind.for_dataset(settings, seed=seed) if settings else kind(seed=seed)
        model.fit(observed)
        table = model.suspects().sort_values("node")
        known, codes = table["node"].to_numpy(), model.task_.labels.numpy()
        wrong = reference.wrong(observed).numpy()[known]
        if with_logistic and not found and wrong.any():
            found |= logistic_rows(observed.graph, codes[known], known, wrong, seed)
        found[method] = calibration_rows(model, reference)
        if not wrong.any():
            continue
        found[method] |= measure(wrong, table["score"].to_numpy(), table["is_issue"].to_numpy())
        if method == "gcn":
            found |= cleanlab_rows("gcn", codes[known], model.out_of_fold_[known], wrong)
    return found


def show(rows: list[dict[str, Any]], csv: Path | None) -> None:
    """Print means and numbers of draws; write all rows to a CSV file, if one is named."""
    frame = pd.DataFrame(rows)
    groups = frame.groupby(["dataset", "noise", "score"])
    names = ("auroc", "average_precision", "precision", "flagged", "wrong", "calibration_error")
    table = groups[list(names)].mean().round(3)
    print(table.assign(n=groups.size()).to_string())
    if csv is not None:
        rounded = frame.round(4).sort_values(["dataset", "noise", "score", "seed"])
        rounded.to_csv(csv, index=False, lineterminator="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer,digits,texas")
    parser.add_argument("--noise", default="symmetric:0.2,symmetric:0.4,asymmetric:0.4")
    parser.add_argument("--methods", default="gcl-lr-attention,gcn")
    parser.add_argument("--seeds", default="3000-3009")
    parser.add_argument("--rows", type=Path, default=Path("suspects.jsonl"))
    parser.add_argument("--csv", type=Path, help="table of all rows to write")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    parser.add_argument("--without-logistic", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored = options.rows.read_text().splitlines() if options.rows.exists() else []
    rows = [json.loads(line) for line in stored]
    done = {(row["dataset"], row["noise"], row["seed"], row["score"]) for row in rows}
    with use_cache(EmbeddingCache(options.cache)), options.rows.open("a") as file:
        for seed in parse_seeds(options.seeds):
            for dataset in options.datasets.split(","):
                for noise in options.noise.split(","):
                    key = {"dataset": dataset, "noise": noise, "seed": seed}
                    draw = tuple(key.values())
                    lacking = [m for m in options.methods.split(",") if (*draw, m) not in done]
                    if not lacking:
                        continue
                    rival = (*draw, f"logistic + cleanlab {RIVALS[0]}")
                    with_logistic = rival not in done and not options.without_logistic
                    found = study(*draw, lacking, with_logistic=with_logistic)
                    fresh = [key | {"score": name} | row for name, row in found.items()]
                    file.writelines(json.dumps(row) + "\n" for row in fresh)
                    file.flush()
                    rows += fresh
    show(rows, options.csv)


if __name__ == "__main__":
    main()
