"""What methods do with labels inside a fit, as was asked of them: right by the true labels?

    python studies/label_handling.py [--dataset cora] [--noise symmetric:0.4] [--seeds 1000-1004]

unionnet: mean weight of right and of wrong labels in the last epoch. rtgnn: right ones among the
labels that it holds for clean in the last epoch, and among all. cgnn: right ones among the labels
that it changes in the last epoch, and their number. hongat: neighbours that a node attends to, mean
and most. sel-cl: right ones among the labels that it trusts. jo-src: area under the ROC curve of
the agreement with a label, right against wrong. gce: test accuracy of the last epoch instead of the
chosen one, less that of a GCN. Finished draws are kept, a row each.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pandas as pd
import torch
from sklearn.metrics import roc_auc_score

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run, score
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods.attention import hongat
from quietgraph.methods.base import supervised
from quietgraph.methods.consistency import cgnn
from quietgraph.methods.gcn import unionnet
from quietgraph.methods.linked import rtgnn
from quietgraph.methods.merit import jo_src, sel_cl
from study.records import RESULTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dataset", default="cora")
    parser.add_argument("--noise", default="symmetric:0.4")
    parser.add_argument("--methods", default=",".join(MEASURES))
    parser.add_argument("--seeds", default="1000-1004", help="a count, a range or a list")
    parser.add_argument("--out", type=Path, default=RESULTS / "studies" / "label-handling.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    stored = pd.read_csv(options.out).to_dict("records") if options.out.exists() else []
    place = {"dataset": options.dataset, "noise": options.noise}
    done = {tuple(row[name] for name in (*place, "method", "seed")) for row in stored}
    for method in options.methods.split(","):
        for seed in parse_seeds(options.seeds):
            if (*place.values(), method, seed) in done:
                continue
            run = Run.parse(options.dataset, method, options.noise, seed)
            observed, reference = run.observe()
            for name, value in MEASURES[method](reference, observed, run).items():
                found = {"method": method, "seed": seed, "measured": name, "value": value}
                stored.append({**place, **found})
            table = pd.DataFrame(stored).round(4).sort_values([*place, "method", "seed"])
            table.to_csv(options.out, index=False, lineterminator="\n")


def weights(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    with _last(unionnet, "support_votes") as votes:
        run.fit(observed)
    labels, right = _training(reference, observed)
    weight = votes[0].gather(1, labels[:, None]).squeeze(1)
    return {
        "weight of right labels": float(weight[right].mean()),
        "weight of wrong labels": float(weight[~right].mean()),
    }


def clean_set(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    with _last(rtgnn, "select_labels") as selected:
        run.fit(observed)
    right = _training(reference, observed)[1]
    return {
        "right among those held for clean": float(right[selected[0].clean].float().mean()),
        "right among all": float(right.float().mean()),
    }


def purified(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    with _last(cgnn, "cleaned_labels") as cleaned:
        run.fit(observed)
    labels, _ = _training(reference, observed)
    changed = cleaned[0] != labels
    truth = reference.codes[observed.split.train]
    return {
        "right among changed labels": float((cleaned[0] == truth)[changed].float().mean()),
        "labels changed": float(changed.sum()),
    }


def attended(_: Reference, observed: Observation, run: Run) -> dict[str, float]:
    method = run.estimator()
    assert isinstance(method, hongat.HONGAT)
    kept = hongat.similar_neighbours(
        observed.graph, order=method.order, most=method.neighbours, weigh=method.weigh
    ).row_counts.float()
    return {"neighbours kept": float(kept.mean()), "most neighbours kept": float(kept.max())}


def trusted(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    with _last(sel_cl._Trainer, "trusted") as found:
        run.fit(observed)
    right = reference.codes == observed.codes
    return {"right among trusted labels": float(right[found[0]].float().mean())}


def agreeing(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    with _last(jo_src, "agreement") as found:
        run.fit(observed)
    right = _training(reference, observed)[1]
    area = roc_auc_score(right.numpy(), found[0].detach().numpy())
    return {"area under the ROC curve of agreement": float(area)}


def last_epoch(reference: Reference, observed: Observation, run: Run) -> dict[str, float]:
    found = {}
    for name in ("gce", "gcn"):
        model = Run.parse(run.dataset, name, str(run.noise), run.seed).estimator()
        epochs = count(1)
        with patch.object(supervised, "validation_score", lambda *_, e=epochs: float(next(e))):
            model.fit(observed)
        found[name] = score(model, observed, reference)["test_accuracy"]
    return {"last epoch over that of a GCN": found["gce"] - found["gcn"]}


MEASURES: dict[str, Callable[[Reference, Observation, Run], dict[str, float]]] = {
    "unionnet": weights,
    "rtgnn": clean_set,
    "cgnn": purified,
    "hongat": attended,
    "sel-cl": trusted,
    "jo-src": agreeing,
    "gce": last_epoch,
}


@contextmanager
def _last(owner: Any, function: str) -> Iterator[list[Any]]:
    """Give a list that holds what a function of a module or class returned last."""
    results: list[Any] = []
    original = getattr(owner, function)

    def remember(*args: Any, **options: Any) -> Any:
        results[:] = [original(*args, **options)]
        return results[0]

    with patch.object(owner, function, remember):
        yield results


def _training(reference: Reference, observed: Observation) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the observed labels of training nodes, and which of them are right."""
    train = observed.split.train
    return observed.codes[train], observed.codes[train] == reference.codes[train]


if __name__ == "__main__":
    main()
