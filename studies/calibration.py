"""Do probabilities mean what they say? Expected calibration error on true test labels.

    python studies/calibration.py --datasets digits,cora --methods s2gc --seeds 3000-3002

Three columns: probabilities as scores give them, those after `fit` (calibrated on validation
predictions), those after `quality()` (out-of-fold predictions).
"""

import argparse
from pathlib import Path

import numpy as np
import torch

import quietgraph as qg
from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.metrics import calibration_error
from quietgraph.data.datasets import load_benchmark
from quietgraph.methods import EmbeddingCache, use_cache


def measure(dataset: str, noise: str, method: str, seed: int) -> tuple[float, ...]:
    clean, reference = load_benchmark(dataset, seed=seed)
    observed = qg.apply_noise(clean, qg.parse_noise(noise), seed=seed)
    model = qg.get_method(method).for_dataset(dataset, seed=seed).fit(observed)
    test = observed.split.test.numpy()
    true = reference.codes.numpy()[test]
    raw = model.scores_.double().softmax(dim=1).numpy()
    after_fit = model.predict_proba()
    model.quality()
    found = (raw, after_fit, model.predict_proba())
    hits = float(np.mean(raw[test].argmax(axis=1) == true))
    return hits, *(calibration_error(probabilities[test], true) for probabilities in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="digits,cora,citeseer")
    parser.add_argument("--noise", default="none,symmetric:0.4")
    parser.add_argument("--methods", default="gcl-lr-attention")
    parser.add_argument("--seeds", default="3000-3002")
    parser.add_argument("--cache", type=Path, default=Path("cache"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    print("dataset noise method seed accuracy raw fit quality")
    with use_cache(EmbeddingCache(options.cache)):
        for dataset in options.datasets.split(","):
            for noise in options.noise.split(","):
                for method in options.methods.split(","):
                    for seed in parse_seeds(options.seeds):
                        found = measure(dataset, noise, method, seed)
                        numbers = " ".join(f"{value:.3f}" for value in found)
                        print(dataset, noise, method, seed, numbers, flush=True)


if __name__ == "__main__":
    main()
