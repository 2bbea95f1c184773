"""Does every ingredient earn its place? Encoder seeds crossed with noise draws.

    python studies/ablation.py [--datasets cora,citeseer] [--encoders 4] [--draws 10] [--first 0]

The protocol of `quietgraph bench` (noisy train and validation, choices by noisy validation, test
labels read once), but an encoder seed and a noise draw are two numbers here: embeddings see no
label, so each encoder is trained once and scored on every draw.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from quietgraph.bench.protocol import Run, score
from quietgraph.data.datasets import load_benchmark
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.methods import EmbeddingCache, use_cache

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


def measure(dataset_name: str, encoders: range, draws: range, extra: str) -> pd.DataFrame:
    dataset, reference = load_benchmark(dataset_name)
    rows = []
    for step, variant in STEPS.items():
        run = Run.parse(dataset_name, ":".join(filter(None, [variant, extra])), "none", 0)
        for encoder in encoders:
            for noise in NOISE:
                for draw in draws if noise != "none" else draws[:1]:
                    observed = apply_noise(dataset, parse_noise(noise), seed=draw)
                    model = replace(run, seed=encoder).estimator().fit(observed)
                    value = score(model, observed, reference)["test_accuracy"]
                    rows.append((step, noise, encoder, draw, value))
    return pd.DataFrame(rows, columns=["step", "noise", "encoder", "draw", "accuracy"])


def report(name: str, frame: pd.DataFrame) -> None:
    by_draw = frame.groupby(["step", "noise", "draw"])["accuracy"].mean()
    cells = by_draw.groupby(["step", "noise"]).agg(["mean", "std", "count"])
    by_encoder = frame.groupby(["step", "encoder", "noise"])["accuracy"].mean()
    overall = by_encoder.reset_index().pivot_table("accuracy", "encoder", "step")
    encoders = len(overall)
    print(f"\n{name}: percent, mean ± standard error over draws (encoders averaged: {encoders})\n")
    print("| step | " + " | ".join(NOISE) + " | mean | step up (± se over encoders) |")
    print("|---" * (len(NOISE) + 3) + "|")
    before = None
    for step in STEPS:
        words = []
        for noise in NOISE:
            mean, std, count = cells.loc[(step, noise)]
            error = "" if count < 2 else f" ± {100 * std / np.sqrt(count):.1f}"
            words.append(f"{100 * mean:.1f}{error}")
        gain = ""
        if before is not None:
            steps = 100 * (overall[step] - overall[before])
            gain = f"{steps.mean():+.2f} ± {steps.std() / np.sqrt(encoders):.2f}"
        words += [f"{100 * overall[step].mean():.2f}", gain]
        print(f"| {step} | " + " | ".join(words) + " |")
        before = step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer")
    parser.add_argument("--encoders", type=int, default=4)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="first seed of encoders and draws")
    parser.add_argument("--set", default="", help="more parameters of every step: temperature=1")
    options = parser.parse_args()
    torch.set_num_threads(1)
    encoders = range(options.first, options.first + options.encoders)
    draws = range(options.first, options.first + options.draws)
    for name in options.datasets.split(","):
        with tempfile.TemporaryDirectory() as scratch, use_cache(EmbeddingCache(Path(scratch))):
            report(name, measure(name, encoders, draws, options.set))


if __name__ == "__main__":
    main()
