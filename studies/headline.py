"""Accuracy of all methods that are handed the same labels, into results/same-labels-DATASET.csv.

    python studies/headline.py --jobs 2
    python studies/headline.py --part every --jobs 2
    python studies/headline.py --part gpt --jobs 2

Parts: `main`; `every` method on Cora and CiteSeer; `gpt`, the labels of a language model on Cora. Options narrow
them: --datasets, --methods, --noise, --seeds. Runs are appended to --store; started again, a sweep goes on.
"""

from pathlib import Path

import pandas as pd

from quietgraph.bench import Grid, keep_runs, parse_seeds, read_runs
from quietgraph.bench.store import KEY
from quietgraph.methods.registry import METHODS
from rows import RESULTS, options_of

CITATIONS, OTHERS = ["cora", "citeseer", "pubmed"], ["amazon-photo", "amazon-computers", "coauthor-cs", "dblp"]
MIXED, ATTRIBUTED = ["texas", "chameleon"], ["blogcatalog", "flickr"]
NAMES = ["gcn", "s2gc", "gcl-lrr", "gcl-lr-attention", "grand-plus", "sugrl", "rtgnn", "nrgnn", "ariel", "quiet"]
NOISE = ["none", *(f"symmetric:{rate}" for rate in (0.2, 0.4, 0.6)), "asymmetric:0.2", "asymmetric:0.4"]
NOISE += ["annotator:0.3", "attribute:0.6"]
THIRTY = ["symmetric:0.3", "asymmetric:0.3"]  # of the public benchmark that two of the graphs come from
TEN, FIVE = "9100-9109", "9100-9104"
EVERY = [name for name in METHODS if name != "paper-gcl"]
GPT = ["labels:cora-gpt35.csv"]
PARTS = {  # datasets, methods, noise, seeds, split
    "main": [
        (CITATIONS, NAMES, NOISE, TEN, "default"),
        (OTHERS + MIXED, NAMES, NOISE, FIVE, "default"),
        (ATTRIBUTED, NAMES, NOISE + THIRTY, FIVE, "default"),
    ],
    "every": [(["cora", "citeseer"], EVERY, NOISE, FIVE, "default")],
    "gpt": [(["cora"], NAMES, GPT, TEN, split) for split in ("default", "all-but-test")],
}


def keep(runs: pd.DataFrame, folder: Path) -> None:
    """Write the runs beside those that the files have, but for runs of other settings, code or data."""
    figures = {"test_accuracy": 5, "test_macro_f1": 5, "seconds_fit": 2}
    runs = runs.drop(columns=["seconds", "test_calibration_error"], errors="ignore").round(figures)
    for dataset, new in runs.groupby("dataset"):
        path = folder / f"same-labels-{dataset}.csv"
        old = read_runs(path) if path.exists() else new.iloc[:0]
        current = dict(zip(new["method"], new["settings"], strict=True))
        stale = old["settings"] != old["method"].map(current).fillna(old["settings"])
        old = old[~stale & old["data"].isin(new["data"])]
        keep_runs(pd.concat([old, new]).drop_duplicates(list(KEY), keep="last"), path)


def main() -> None:
    empty: list[str] = []
    lists = {"datasets": empty, "methods": empty, "noise": empty, "seeds": ""}
    options = options_of(__doc__, part="main", **lists, store=Path("same-labels.jsonl"), out=RESULTS)
    for datasets, methods, noise, seeds, split in PARTS[options.part]:
        named = [name for name in datasets if name in (options.datasets or datasets)]
        if not named:
            continue
        drawn = parse_seeds(options.seeds or seeds)
        grid = Grid(named, options.methods or methods, options.noise or noise, drawn, split=split)
        runs = grid.run(options.store, jobs=options.jobs, on_run=lambda done, every: print(f"{done} of {every}"))
        keep(runs, options.out)


if __name__ == "__main__":
    main()
