"""What `quiet` costs to fit, over `gcl-lr-attention` in the same run, and its suspects over a fit.

    python benchmarks/quiet_cost.py [--datasets cora,citeseer,amazon-photo] [--repeats 3]

Both are fitted in turn, without a cache of embeddings, at 40 % symmetric noise, where `quiet`
corrects labels; then `quiet` cross-fits for its suspects. Processor seconds, since other processes
lengthen those of the wall; the medians count.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import quietgraph as qg
from quietgraph.data.noise import apply_noise
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.observation import Observation

_COLUMNS = ("dataset", "gcl-lr-attention s", "quiet s", "ratio", "suspects s", "of a fit", "n")


def processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def costs(name: str, seed: int, noise: str) -> tuple[float, float, float]:
    """Return the seconds of `gcl-lr-attention`, of `quiet` and of its suspects."""

    def data() -> Observation:  # afresh, since a graph keeps what it was asked for
        return apply_noise(qg.load(name, seed=seed), parse_noise(noise), seed=seed)

    plain, ours = (qg.get_method(each)(seed=seed) for each in ("gcl-lr-attention", "quiet"))
    first, second = data(), data()
    fits = [
        processor_seconds(lambda: plain.fit(first)),
        processor_seconds(lambda: ours.fit(second)),
    ]
    return fits[0], fits[1], processor_seconds(ours.suspects)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", default="cora,citeseer,amazon-photo")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--noise", default="symmetric:0.4")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    threadpool_limits(options.threads)  # of NumPy's and SciPy's products as well
    print(f"| {' | '.join(_COLUMNS)} |\n{'|---' * len(_COLUMNS)}|")
    for name in options.datasets.split(","):
        times = [costs(name, seed, options.noise) for seed in range(options.repeats)]
        plain, ours, folds = np.median(times, axis=0)
        print(
            f"| {name} | {plain:.1f} | {ours:.1f} | {ours / plain:.2f} | {folds:.1f} "
            f"| {folds / ours:.2f} | {len(times)} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
