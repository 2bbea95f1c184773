"""The tables of docs/quiet.md, from stores of runs.

    python studies/quiet_study.py grid --store quiet.sqlite
    python studies/quiet_study.py beside --store results.sqlite
    python studies/quiet_study.py parts --store quiet.sqlite

`grid`: mean over the sixteen settings of the field's public benchmark. `beside`: `quiet` against
the method that is nearest to it, or ahead by most, on the draws both have (of those with half the
draws or more), for the informative cells of the paper's grid; paired, Holm-corrected over them.
`parts`: `quiet` less each of its variants. Runs whose parameters are defaults no more are left out.
"""

import argparse
from itertools import product
from pathlib import Path

import pandas as pd

from quietgraph.bench.statistics import against, holm, t_test_p
from quietgraph.cli.bench_table import read_frame

OURS = "quiet"
RATES = (0.1, 0.2, 0.3, 0.4, 0.5)
KINDS = ("symmetric", "asymmetric", "random")
GRID = ("none", *(f"{kind}:{rate}" for kind, rate in product(KINDS, RATES)))
PAPER = (
    "none", "symmetric:0.4", "symmetric:0.6", "asymmetric:0.4",
    "attribute:0.4", "attribute:0.6", "attribute:0.8",
)  # fmt: skip
PAPER_GRAPHS = ("cora", "citeseer", "pubmed", "coauthor-cs", "amazon-photo")
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
    frame = read_frame(options.store, seeds=options.seeds, is_current=True)
    frame = frame[frame["status"] == "done"]
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
    plain = frame[~frame["method"].str.contains(":") & frame["noise"].isin(PAPER)]
    plain = plain[plain["dataset"].isin(PAPER_GRAPHS)]
    print(
        "| dataset | noise | `quiet` | next | lead | p (Holm) | n | methods |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    tests = against(plain, OURS)
    most = tests.groupby(["dataset", "noise"])["n"].transform("max")
    tests = tests[(tests["n"] > 1) & (tests["n"] >= most / 2)]  # few draws say little
    cells = tests.sort_values("difference", ascending=False).groupby(["dataset", "noise"])
    nearest = cells.first().assign(methods=cells.size())
    nearest["holm"] = holm(nearest["t_p"])
    for row in nearest.reset_index().itertuples():
        draws = plain[(plain["dataset"] == row.dataset) & (plain["noise"] == row.noise)]
        pairs = draws.pivot_table("test_accuracy", "seed", "method")[[OURS, row.method]].dropna()
        ours, other = 100 * pairs.mean()
        print(
            f"| {row.dataset} | {row.noise} | {ours:.1f} | {other:.1f} {row.method} "
            f"| {-100 * row.difference:+.1f} | {row.t_p:.1g} ({row.holm:.1g}) | {row.n} "
            f"| {row.methods} |"
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


if __name__ == "__main__":
    main()
