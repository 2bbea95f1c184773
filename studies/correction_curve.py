"""Is a review worth it? Test accuracy against the number of labels that somebody looked at.

    python studies/correction_curve.py [--datasets cora,digits] [--seeds 10] [--method NAME]

A model is fitted to noisy labels by the protocol of `quietgraph bench`. A reviewer then looks at
the first n suspects and gives each its true class (a right label stays as it is), and the model is
fitted again. Beside it: the same reviewer looks at n labelled nodes drawn at random. Every row is
kept, so that a study that was stopped goes on where it was.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import torch
from matplotlib.figure import Figure

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run, score
from quietgraph.bench.statistics import t_test_p
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods import EmbeddingCache, use_cache
from quietgraph.report.benchmark_figures import save
from quietgraph.rng import numpy_generator

NOISES = "symmetric:0.2,asymmetric:0.2,symmetric:0.4,asymmetric:0.4"
COUNTS = (0, 5, 10, 20, 40, 80, 160, 320)
ORDERS = {"suspects": ("#0072B2", "-", "o"), "random": ("#777777", "--", "s")}
Rows = dict[tuple, float]


def study(run: Run, counts: list[int]) -> Rows:
    """Return the test accuracy by (order, number reviewed)."""
    observed, reference = run.observe()
    model = run.fit(observed)
    ranked = model.suspects()["node"].to_numpy()
    drawn = numpy_generator(run.seed, "random review").permutation(np.sort(ranked))
    rows = {}
    for count in counts:
        for order, nodes in (("suspects", ranked), ("random", drawn)):
            if count == 0 and ("suspects", 0) in rows:
                rows[order, count] = rows["suspects", 0]
                continue
            reviewed = _review(reference, observed, nodes[:count])
            rows[order, count] = score(run.fit(reviewed), reviewed, reference)["test_accuracy"]
    return rows


def _review(reference: Reference, observed: Observation, nodes: np.ndarray) -> Observation:
    codes, seen = observed.codes.clone(), torch.from_numpy(nodes.copy())
    codes[seen] = reference.codes[seen]
    return replace(observed, codes=codes)


def draw(frame: pd.DataFrame) -> Figure:
    cells = list(frame.groupby(["dataset", "noise"], sort=False))
    style = {"svg.hashsalt": "quietgraph", "font.size": 9, "axes.titlesize": 10}
    with mpl.rc_context(style):
        rows = frame["dataset"].nunique()  # every dataset has the same noise settings
        width = len(cells) // rows
        size = (0.7 + 2.5 * width, 0.4 + 2.5 * rows)
        figure = Figure(figsize=size, layout="constrained")
        panels = figure.subplots(rows, width, squeeze=False).ravel()
        for axes, ((dataset, noise), part) in zip(panels, cells, strict=True):
            for order, (colour, dashes, marker) in ORDERS.items():
                found = 100 * part[part["order"] == order].groupby("count")["accuracy"].agg(
                    ["mean", "sem"]
                )
                axes.errorbar(
                    range(len(found)), found["mean"], yerr=found["sem"].fillna(0), capsize=2,
                    color=colour, linestyle=dashes, marker=marker, markersize=4,
                    label="first suspects" if order == "suspects" else "drawn at random",
                )  # fmt: skip
            axes.set_xticks(range(len(found)), found.index)
            axes.set_title(f"{dataset}, {noise.replace(':', ' ')}", loc="left")
            axes.grid(axis="y", color="#DDDDDD", linewidth=0.7)
            axes.spines[["top", "right"]].set_visible(False)
        figure.supylabel("test accuracy (%), mean ± standard error", fontsize=9)
        panels[0].legend(frameon=False)
        figure.supxlabel("labels reviewed", fontsize=9)
    return figure


def show(frame: pd.DataFrame) -> None:
    names = ["dataset", "noise", "reviewed", *(f"{order} (%)" for order in ORDERS)]
    print("| " + " | ".join([*names, "difference", "p (paired t)", "n"]) + " |")
    print("|---" * 8 + "|")
    for (dataset, noise, count), part in frame.groupby(["dataset", "noise", "count"], sort=False):
        wide = 100 * part.pivot_table("accuracy", "seed", "order")
        words = [f"{wide[order].mean():.1f} ± {wide[order].std():.1f}" for order in ORDERS]
        gains = (wide["suspects"] - wide["random"]).to_numpy()
        p_value = t_test_p(gains) if len(gains) > 1 else float("nan")
        cells = [dataset, noise, str(count), *words, f"{gains.mean():+.1f}", f"{p_value:.2g}"]
        print("| " + " | ".join([*cells, str(len(gains))]) + " |")


def _read(path: Path) -> Rows:
    if not path.exists():
        return {}
    lines = path.read_text().splitlines()
    pairs = (json.loads(line) for line in lines if line.endswith("]"))  # a cut line is no row
    return {tuple(key): value for key, value in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,digits")
    parser.add_argument("--noise", default=NOISES)
    parser.add_argument("--method", default="gcl-lr-attention")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)))
    parser.add_argument("--seeds", default="10", help="a count, a range (1000-1009) or a list")
    parser.add_argument("--cache", type=Path, default=Path("cache"), help="of embeddings")
    parser.add_argument("--rows", type=Path, default=Path("correction_curve.jsonl"))
    parser.add_argument("--figure", type=Path, default=Path("docs/images/correction-curve.svg"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    done, counts = _read(options.rows), [int(count) for count in options.counts.split(",")]
    keys: list[tuple] = []
    with use_cache(EmbeddingCache(options.cache)):
        for run in _runs(options):
            cell = (run.dataset, str(run.noise), run.seed, run.key().digest)
            wanted = [(*cell, order, count) for count in counts for order in ORDERS]
            keys += wanted
            missing = sorted({key[-1] for key in wanted if key not in done})
            if not missing:
                continue
            found = {(*cell, *key): value for key, value in study(run, missing).items()}
            done |= found
            with options.rows.open("a") as file:
                file.writelines(json.dumps(pair) + "\n" for pair in found.items())
            print(*cell[:3], list(found.values()), file=sys.stderr)
    names = ["dataset", "noise", "seed", "key", "order", "count"]
    frame = pd.DataFrame(keys, columns=names).assign(accuracy=[done[key] for key in keys])
    show(frame)
    save(draw(frame), options.figure)


def _runs(options: argparse.Namespace) -> list[Run]:
    return [
        Run.parse(dataset, options.method, noise, seed)
        for dataset in options.datasets.split(",")
        for noise in options.noise.split(",")
        for seed in parse_seeds(options.seeds)
    ]


if __name__ == "__main__":
    main()
