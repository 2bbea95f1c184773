"""Does every ingredient earn its place? Encoder seeds crossed with noise draws.

    python studies/ablation.py [--datasets cora,citeseer] [--set temperature=1]

The protocol of `quietgraph bench` (noisy train and validation, choices by noisy validation, test
labels read once), but an encoder seed and a noise draw are two numbers here: embeddings see no
label, so each encoder is trained once and scored on every draw. A finished encoder is kept at once
and not run again; the page of the docs is written from the file by `make study-docs`.
"""

import argparse
import csv
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.protocol import Run, score
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.methods import EmbeddingCache, use_cache
from study.records import RESULTS

STEPS = {
    "contrast only": "gcl-lrr:prototype_weight=0:rank_weight=0",
    "+ prototypes": "gcl-lrr:rank_weight=0",
    "+ truncated norm (gcl-lrr)": "gcl-lrr",
    "+ attention": "gcl-lr-attention:smoothing=0:attribute_branch=false",
    "+ smoothing": "gcl-lr-attention:attribute_branch=false",
    "+ attributes (gcl-lr-attention)": "gcl-lr-attention",
}
NOISE = (
    "none",
    "symmetric:0.2",
    "symmetric:0.4",
    "symmetric:0.6",
    "asymmetric:0.2",
    "asymmetric:0.4",
)
FIELDS = ("dataset", "set", "step", "encoder", "noise", "draw", "accuracy")


def measure(
    dataset_name: str, step: str, encoder: int, draws: list[int], extra: str
) -> list[tuple[str | int | float, ...]]:
    """Return the test accuracy of one encoder in every setting and draw."""
    dataset, reference = load_benchmark(dataset_name)
    run = Run.parse(dataset_name, ":".join(filter(None, [STEPS[step], extra])), "none", encoder)
    rows: list[tuple[str | int | float, ...]] = []
    for noise in NOISE:
        for draw in draws if noise != "none" else draws[:1]:
            observed = apply_noise(dataset, parse_noise(noise), seed=draw)
            accuracy = score(run.estimator().fit(observed), observed, reference)["test_accuracy"]
            rows.append((dataset_name, extra, step, encoder, noise, draw, round(accuracy, 4)))
    return rows


def finished(path: Path) -> set[tuple[str, str, str, int]]:
    """Return dataset, further parameters, step and encoder of what the file has."""
    if not path.exists():
        return set()
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        return {(row["dataset"], row["set"], row["step"], int(row["encoder"])) for row in rows}


def encoders_of(options: argparse.Namespace) -> Iterator[tuple[str, str, str, int]]:
    """Give dataset, further parameters, step and encoder of everything that is asked for."""
    for dataset in options.datasets.split(","):
        for encoder in parse_seeds(options.encoders):
            for step in STEPS:
                yield dataset, options.set, step, encoder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--encoders", default="9500-9503")
    parser.add_argument("--draws", default="9500-9509")
    parser.add_argument("--set", default="", help="more parameters of every step: temperature=1")
    parser.add_argument("--out", type=Path, default=RESULTS / "studies" / "ablation.csv")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done, draws = finished(options.out), list(parse_seeds(options.draws))
    with tempfile.TemporaryDirectory() as scratch, use_cache(EmbeddingCache(Path(scratch))):
        for dataset, extra, step, encoder in encoders_of(options):
            if (dataset, extra, step, encoder) not in done:
                rows = measure(dataset, step, encoder, draws, extra)
                is_new = not options.out.exists()
                with options.out.open("a", encoding="utf-8", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows([FIELDS] * is_new + rows)


if __name__ == "__main__":
    main()
