"""Is a review worth it? Test accuracy against the number of labels that somebody looked at.

    python studies/correction_curve.py [--datasets cora,digits] [--seeds 9600-9609] [--method NAME]

A model is fitted to noisy labels by the protocol of `quietgraph bench`. A reviewer then looks at
the first n suspects and gives each its true class (a right label stays as it is), and the model is
fitted again. Beside it: the same reviewer looks at n labelled nodes drawn at random. Finished draws
are kept at once and not run again; figure and table are written from the file by `make study-docs`.
"""

import argparse
import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run, score
from quietgraph.data.observation import Observation, Reference
from quietgraph.methods import EmbeddingCache, use_cache
from quietgraph.rng import numpy_generator
from study.records import RESULTS

NOISES = "symmetric:0.2,asymmetric:0.2,symmetric:0.4,asymmetric:0.4"
COUNTS = (0, 5, 10, 20, 40, 80, 160, 320)
FIELDS = ("dataset", "noise", "method", "seed", "order", "count", "accuracy")


def study(run: Run) -> list[tuple[str | int | float, ...]]:
    """Return the test accuracy by order and number of reviewed labels."""
    observed, reference = run.observe()
    model = run.fit(observed)
    ranked = model.suspects()["node"].to_numpy()
    drawn = numpy_generator(run.seed, "random review").permutation(np.sort(ranked))
    rows = []
    for order, nodes in (("suspects", ranked), ("random", drawn)):
        for count in COUNTS:
            reviewed = _review(reference, observed, nodes[:count])
            accuracy = score(run.fit(reviewed), reviewed, reference)["test_accuracy"]
            place = (run.dataset, str(run.noise), str(run.variant), run.seed)
            rows.append((*place, order, count, round(accuracy, 4)))
    return rows


def _review(reference: Reference, observed: Observation, nodes: np.ndarray) -> Observation:
    codes, seen = observed.codes.clone(), torch.from_numpy(nodes.copy())
    codes[seen] = reference.codes[seen]
    return replace(observed, codes=codes)


def _finished(path: Path) -> set[tuple[str, str, str, int]]:
    if not path.exists():
        return set()
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return {(row["dataset"], row["noise"], row["method"], int(row["seed"])) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,digits")
    parser.add_argument("--noise", default=NOISES)
    parser.add_argument("--method", default="gcl-lr-attention")
    parser.add_argument("--seeds", default="9600-9609", help="a count, a range or a list")
    parser.add_argument("--cache", type=Path, default=Path("cache"), help="of embeddings")
    parser.add_argument("--out", type=Path, default=RESULTS / "studies" / "review-gains.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = _finished(options.out)
    with use_cache(EmbeddingCache(options.cache)):
        for run in _runs(options):
            if (run.dataset, str(run.noise), str(run.variant), run.seed) in done:
                continue
            rows = study(run)
            is_new = not options.out.exists()
            with options.out.open("a", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows([FIELDS] * is_new + rows)


def _runs(options: argparse.Namespace) -> list[Run]:
    return [
        Run.parse(dataset, options.method, noise, seed)
        for dataset in options.datasets.split(",")
        for seed in parse_seeds(options.seeds)
        for noise in options.noise.split(",")
    ]


if __name__ == "__main__":
    main()
