"""Own tables whose labels are wrong by rules, by classes, at random or not at all: results/shop.csv.

    python studies/shop.py --tool make_shop.py --jobs 2

The tool writes a generated shop: `make_shop.py FOLDER --errors KIND --seed SEED --products COUNT` gives nodes.csv and
edges.csv as a user has them, and truth.csv (id, label, labelled).
"""

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import quietgraph as qg
from quietgraph.bench import parse_seeds
from rows import RESULTS, Row, fill, options_of


def study(kind: str, seed: int, method: str, *, tool: Path, products: int) -> list[Row]:
    """Return what a method makes of one shop, and what it says of it."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--errors", kind, "--seed", str(seed), "--products", str(products)]
        subprocess.run([sys.executable, str(tool), folder, *arguments], check=True, capture_output=True)
        data = qg.load(folder)
        table = pd.read_csv(Path(folder) / "truth.csv", dtype=str).set_index("id").loc[data.ids]
        model = qg.METHODS[method](seed=seed).fit(data)
        found = qg.assess(model)
    labelled, true = data.known.numpy(), table["label"].to_numpy()
    wrong = (data.labels != true)[labelled]
    return [
        {
            "accuracy": float((model.predict() == true)[~labelled].mean()),
            "expected_accuracy": found.accuracy.value,
            "verdict": found.verdict.level,
            "noise_rate_true": float(wrong.mean()),
            "noise_rate": found.noise.rate,
            "noise_rate_low": found.noise.low,
            "noise_rate_high": found.noise.high,
            "at_least": found.noise.at_least,
            "flagged": float(found.is_suspect[labelled].mean()),
            "precision": float(wrong[found.is_suspect[labelled]].mean()) if found.is_suspect.any() else np.nan,
        }
    ]


def main() -> None:
    lists = {"kinds": ["rules", "classes", "symmetric", "none"], "methods": ["quiet", "gcl-lr-attention", "gcn"]}
    how = {"seeds": "0-9", "tool": Path("make_shop.py"), "products": 1500}
    options = options_of(__doc__, **lists, **how, out=RESULTS / "shop.csv")
    tasks = [
        {"kind": kind, "seed": seed, "method": method}
        for kind in options.kinds
        for seed in parse_seeds(options.seeds)
        for method in options.methods
    ]
    measured = partial(study, tool=options.tool.resolve(), products=options.products)
    fill(options.out, tasks, measured, jobs=options.jobs)


if __name__ == "__main__":
    main()
