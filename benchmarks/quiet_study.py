"""The tables of docs/quiet.md, from stores of runs.

    python benchmarks/quiet_study.py grid --store quiet.sqlite
    python benchmarks/quiet_study.py beside --store results.sqlite
    python benchmarks/quiet_study.py parts --store quiet.sqlite

`grid`: mean over the sixteen settings of the field's public benchmark. `beside`: `quiet` against
the best other method of every cell, paired, Holm-corrected over all cells. `parts`: `quiet` less
each of its variants. Runs whose parameters are defaults no more are left out.
"""

import argparse
from itertools import product
from pathlib import Path

import pandas as pd

from quietgraph.bench.datasets import describe
from quietgraph.bench.grid import parse_seeds
from quietgraph.bench.noise_setting import parse_noise, warn_if_uninformative
from quietgraph.bench.statistics import against, summarise, t_test_p
from quietgraph.cli.bench_table import read_frame

OURS = "quiet"
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
KINDS = ("symmetric", "asymmetric", "random")
GRID = ("none", *(f"{kind}:{rate}" for kind, rate in product(KINDS, RATES)))
SHOWN = ("none", "symmetric:0.4", "asymmetric:0.4")
PUBLISHED = {  # best of any method in NoisyGL and its forks, and what we aimed at
    "cora": (71.0, 78), "citeseer": (60.5, 69), "pubmed": (66.0, 71),
    "amazon-computers": (74.7, 80), "amazon-photo": (80.5, 86),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=("grid", "beside", "parts"))
    parser.add_argument("--store", type=Path, default=Path("results.sqlite"))
    parser.add_argument("--seeds", default="5000-5009", help="a count, a range or a list")
    options = parser.parse_args()
    frame = read_frame(options.store, "", "", "", "", is_current=True)
    frame = frame[frame["seed"].isin(parse_seeds(options.seeds)) & (frame["status"] == "done")]
    {"grid": print_grid, "beside": print_beside, "parts": print_parts}[options.table](frame)


def print_grid(frame: pd.DataFrame) -> None:
    print("| | `quiet` | n | best published | aim |\n|---|---|---|---|---|")
    ours = frame[(frame["method"] == OURS) & frame["noise"].isin(GRID)]
    for dataset, (published, aim) in PUBLISHED.items():
        draws = ours[ours["dataset"] == dataset].pivot_table("test_accuracy", "seed", "noise")
        whole = 100 * draws.dropna().mean(axis=1)
        if draws.shape[1] == len(GRID) and len(whole):
            spread = f" ± {whole.std():.1f}" if len(whole) > 1 else ""
            row = f"{whole.mean():.1f}{spread} | {len(whole)} | {published} | {aim}"
            print(f"| {dataset} | {row} |")


def print_beside(frame: pd.DataFrame) -> None:
    plain = frame[~frame["method"].str.contains(":")]
    print(
        "| dataset | noise | `quiet` | best other | difference | p (Holm) | n | methods |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    informative = plain[[_is_informative(*row) for row in plain[["dataset", "noise"]].to_numpy()]]
    others = sorted(set(informative["method"]) - {OURS})
    tests = against(informative, others)
    means = summarise(informative).set_index(["dataset", "noise", "method"])["mean"]
    for row in tests[(tests["method"] == OURS) & (tests["n"] > 1)].itertuples():
        ours, best = (means[row.dataset, row.noise, name] for name in (OURS, row.baseline))
        count = len(means[row.dataset, row.noise]) - 1
        print(
            f"| {row.dataset} | {row.noise} | {100 * ours:.1f} | {100 * best:.1f} {row.baseline} "
            f"| {100 * row.difference:+.1f} | {row.t_p:.1g} ({row.t_holm:.1g}) | {row.n} "
            f"| {count} |"
        )


def print_parts(frame: pd.DataFrame) -> None:
    frame = frame[frame["method"].str.startswith(OURS)]
    print("| without | dataset | clean | symmetric 40 % | asymmetric 40 % | mean (settings) | n |")
    print("|---|---|---|---|---|---|---|")
    for variant in sorted(set(frame["method"]) - {OURS}):
        for dataset in sorted(set(frame[frame["method"] == variant]["dataset"])):
            own = frame[frame["dataset"] == dataset]
            wide = own.pivot_table("test_accuracy", ["noise", "seed"], "method")
            gains = 100 * (wide[OURS] - wide[variant]).unstack("noise").dropna(axis=1, how="all")  # noqa: PD010
            cells = [_gain(gains[name]) if name in gains else "not run" for name in SHOWN]
            whole = _gain(gains.dropna().mean(axis=1))
            print(
                f"| `{variant}` | {dataset} | {' | '.join(cells)} "
                f"| {whole} ({gains.shape[1]}) | {len(gains.dropna())} |"
            )


def _gain(differences: "pd.Series[float]") -> str:
    """Return the mean gain in points and the p-value of the paired t-test."""
    values = differences.dropna().to_numpy()
    if not values.any():
        return "0.0"
    return f"{values.mean():+.1f} (p = {t_test_p(values):.1g})"


def _is_informative(dataset: str, noise: str) -> bool:
    return not warn_if_uninformative(parse_noise(noise), describe(dataset).classes)


if __name__ == "__main__":
    main()
