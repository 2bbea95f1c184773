"""How long `quiet` takes to fit, over `gcl-lr-attention` in the same run.

    python benchmarks/quiet_cost.py [--datasets cora,citeseer,amazon-photo] [--repeats 3]

Both are fitted in turn, without a cache of embeddings, at 40 % symmetric noise, where `quiet`
corrects labels; the ratio of the median seconds counts.
"""

import argparse

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import quietgraph as qg
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise

METHODS = ("gcl-lr-attention", "quiet")


def seconds(name: str, method: str, seed: int) -> float:
    data = apply_noise(qg.load(name, seed=seed), parse_noise("symmetric:0.4"), seed=seed)
    return qg.get_method(method)(seed=seed).fit(data).seconds_


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer,amazon-photo")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    threadpool_limits(options.threads)  # of NumPy's and SciPy's products as well
    print("| dataset | gcl-lr-attention s | quiet s | ratio | n |\n|---|---|---|---|---|")
    for name in options.datasets.split(","):
        times = [[seconds(name, each, seed) for each in METHODS] for seed in range(options.repeats)]
        plain, ours = np.median(times, axis=0)
        print(
            f"| {name} | {plain:.1f} | {ours:.1f} | {ours / plain:.2f} | {len(times)} |", flush=True
        )


if __name__ == "__main__":
    main()
