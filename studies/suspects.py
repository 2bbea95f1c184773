"""Do suspects find the wrong labels, and is what is said of the noise true? Into results/suspects.csv.

    python studies/suspects.py --jobs 2

All labelled nodes are scored. Rivals: cleanlab with out-of-fold probabilities of a GCN, or of a logistic regression
on the attributes (rows of unit length, C = 10); of its two scores, self-confidence and normalised margin, the one that
does better on the draw counts. Methods also say their noise rate and calibrated probabilities of test nodes.
"""

import numpy as np
import torch
from cleanlab.rank import get_label_quality_scores
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

import quietgraph as qg
from quietgraph.assessment.folds import cross_fit
from quietgraph.bench import Grid, parse_seeds
from quietgraph.bench.metrics import evaluate_assessment
from quietgraph.graph import CSR
from quietgraph.types import BoolArray, FloatArray, IntArray
from rows import RESULTS, Row, fill, options_of

CLEANLAB = {"gcn + cleanlab": "gcn", "logistic + cleanlab": "gcn"}  # and the method whose run gives the draw


def study(dataset: str, noise: str, seed: int, contender: str) -> list[Row]:
    """Return how well a contender tells wrong labels from right ones on one draw."""
    run = Grid(dataset, CLEANLAB.get(contender, contender), noise, [seed]).runs()[0]
    data, truth = run.observe()
    known, wrong = data.known.numpy(), truth.wrong(data).numpy()
    codes, wrong = data.codes.numpy()[known], wrong[known]
    if contender == "logistic + cleanlab":
        features = data.graph.features
        rows = (features.to_scipy() if isinstance(features, CSR) else features.numpy())[known]
        model = make_pipeline(Normalizer(), LogisticRegression(C=10, max_iter=1000))
        folds = max(2, min(5, int(np.bincount(codes).min())))
        return [cleanlab(codes, cross_val_predict(model, rows, codes, cv=folds, method="predict_proba"), wrong)]
    model = clone(run.estimator).set_params(seed=seed).fit(data)
    if contender in CLEANLAB:
        scores = cross_fit(model, seed=seed)[torch.from_numpy(known)]
        return [cleanlab(codes, scores.double().softmax(dim=1).numpy(), wrong)]
    found = qg.assess(model)
    flagged = found.is_suspect[known]
    precision = float(wrong[flagged].mean()) if flagged.any() else np.nan
    row = measure(wrong, found.p_wrong[known]) | evaluate_assessment(found, data, truth)
    return [row | {"wrong": int(wrong.sum()), "flagged": int(flagged.sum()), "precision": precision}]


def cleanlab(codes: IntArray, probabilities: FloatArray, wrong: BoolArray) -> Row:
    """Return the measures of the better of cleanlab's scores."""
    rows = probabilities.clip(1e-9) / probabilities.clip(1e-9).sum(axis=1, keepdims=True)
    names = ("self_confidence", "normalized_margin")
    found = [measure(wrong, 1 - get_label_quality_scores(codes, rows, method=name)) for name in names]
    return {name: max(one[name] for one in found) for name in found[0]}


def measure(wrong: BoolArray, score: FloatArray) -> Row:
    """Return how well a score ranks wrong labels before right ones; NaN where none is wrong."""
    if not wrong.any():
        return {"auroc": np.nan, "average_precision": np.nan}
    return {"auroc": roc_auc_score(wrong, score), "average_precision": average_precision_score(wrong, score)}


def main() -> None:
    noise = ["none", "symmetric:0.4", "asymmetric:0.4"]
    contenders = ["quiet", "gcl-lr-attention", "gcn", *CLEANLAB]
    datasets = ["cora", "citeseer", "pubmed", "amazon-photo"]
    lists = {"datasets": datasets, "noise": noise, "contenders": contenders}
    options = options_of(__doc__, **lists, seeds="9100-9109", out=RESULTS / "suspects.csv")
    tasks = [
        {"dataset": dataset, "noise": kind, "seed": seed, "contender": contender}
        for dataset in options.datasets
        for kind in options.noise
        for seed in parse_seeds(options.seeds)
        for contender in options.contenders
    ]
    fill(options.out, tasks, study, jobs=options.jobs)


if __name__ == "__main__":
    main()
