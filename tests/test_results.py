"""The page of results says what the files in results/ say, whatever they hold; studies go on where they ended."""

import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

from quietgraph.bench import keep_runs

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", autouse=True)
def folders() -> Iterator[None]:
    added = [str(ROOT / name) for name in ("docs", "studies")]
    sys.path[:0] = added
    yield
    sys.path[:] = [path for path in sys.path if path not in added]


@pytest.fixture(scope="module")
def hooks(folders: None) -> ModuleType:
    return import_module("hooks")


def runs_of(dataset: str, *parts: tuple[list[str], list[str], int, str], **accuracy: float) -> pd.DataFrame:
    """Rows of methods, noises, number of draws and split; 0.8 right unless the name of a method says otherwise."""
    draws, rows = np.random.default_rng(0), {}
    for methods, noises, count, split in parts:
        for method, noise, seed in product(methods, noises, range(count)):
            key = {"dataset": dataset, "data": "d", "noise": noise, "method": method, "settings": "s", "seed": seed}
            key |= {"split": split, "protocol": "same labels"}
            right = accuracy.get(method, 0.8) + 0.01 * draws.standard_normal()
            rows[tuple(key.values())] = {**key, "measures": "", "status": "done", "test_accuracy": round(right, 5)}
    return pd.DataFrame(rows.values())


def test_the_page_of_results_is_what_the_files_say(hooks: ModuleType) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == hooks.render(), "run `make results`"
    assert len(page.encode()) <= 25_000


def test_results_are_small() -> None:
    assert sum(path.stat().st_size for path in (ROOT / "results").rglob("*")) < 2_000_000


@pytest.mark.parametrize("accuracy", [0.9, 0.7])
def test_the_whole_study_makes_a_page_of_at_most_25_kb(hooks: ModuleType, tmp_path: Path, accuracy: float) -> None:
    study = import_module("headline")
    grids: dict[str, list[Any]] = {}
    for datasets, methods, noises, seeds, split in [part for parts in study.PARTS.values() for part in parts]:
        for dataset in datasets:
            grids.setdefault(dataset, []).append((methods, noises, 10 if seeds == study.TEN else 5, split))
    for dataset, parts in grids.items():
        keep_runs(runs_of(dataset, *parts, quiet=accuracy), tmp_path / f"same-labels-{dataset}.csv")
    values: dict[str, Any] = dict.fromkeys(
        ["auroc", "assessed_accuracy", "expected_accuracy", "accuracy", "flagged", "precision"], 0.8
    )
    values |= dict.fromkeys(["noise_rate", "noise_rate_true", "assessed_calibration_error", "consensus_accuracy"], 0.4)
    values |= {"test_accuracy": 0.8, "status": "done", "verdict": "care"}
    contenders = ["quiet", "gcl-lr-attention", "gcn", "gcn + cleanlab", "logistic + cleanlab"]
    noises = ["none", "symmetric:0.4", "asymmetric:0.4"]
    shapes: dict[str, dict[str, list[Any]]] = {
        "suspects": {"dataset": [*study.CITATIONS, "amazon-photo"], "noise": noises, "contender": contenders},
        "shop": {"kind": ["rules", "classes", "symmetric", "none"], "method": ["quiet", "gcl-lr-attention", "gcn"]},
        "crowds": {"dataset": study.CITATIONS, "consensus": list("abcd"), "method": ["gcn", "quiet"]},
        "review": {"dataset": ["cora", "citeseer"], "noise": noises, "order": ["a", "b"], "reviewed": [0, 20, 40, 80]},
    }
    for name, shape in shapes.items():
        rows = [dict(zip(shape, values, strict=True)) for values in product(*shape.values())]
        pd.DataFrame([row | values for row in rows for _ in range(10)]).to_csv(tmp_path / f"{name}.csv", index=False)
    page = hooks.render(tmp_path)
    assert len(page.encode()) <= 25_000
    leads = accuracy == 0.9
    sentence = "`quiet` has the best mean in all 6 columns." if leads else "`quiet` is **not first** in 6 of 6 columns"
    assert page.count(sentence) == 9
    assert ("|`quiet`|1.00|" if leads else "|`quiet`|10.00|") in page
    assert "grand-plus" in page.split("## Labels by a language model")[1]


def test_failures_are_counted_and_a_lost_lead_is_said_above_the_table(hooks: ModuleType, tmp_path: Path) -> None:
    runs = runs_of("cora", (["gcn", "quiet"], ["none", "symmetric:0.4"], 3, "default"), quiet=0.9)
    lost = (runs["method"] == "quiet") & (runs["noise"] == "symmetric:0.4") & (runs["seed"] > 0)
    runs = runs.assign(status=runs["status"].mask(lost, "failed"), test_accuracy=runs["test_accuracy"].mask(lost))
    keep_runs(runs, tmp_path / "same-labels-cora.csv")
    page = hooks.render(tmp_path)
    said, cells = page.split("### cora")[1].split("|method|")[:2]
    assert "**not first** in 1 of 2 columns: symmetric 40 % (`gcn` 8" in said
    [ours] = [line for line in cells.splitlines() if line.startswith("|`quiet`")]
    assert ours.endswith("(1), failed: 2|")
    assert "**" not in ours.split("|")[3]
    assert "## Suspects" not in page


def test_a_study_measures_what_its_file_lacks_and_tries_failures_again(tmp_path: Path, folders: None) -> None:
    fill, path, asked = import_module("rows").fill, tmp_path / "rows.csv", []

    def study(dataset: str, noise: str) -> list[dict[str, Any]]:
        asked.append(noise)
        if noise == "symmetric:0.4" and len(asked) < 3:
            raise ValueError("no luck")
        return [{"value": 0.5}, {"value": 0.7}]

    tasks = [{"dataset": "sbm", "noise": noise} for noise in ("none", "symmetric:0.4")]
    assert sorted(fill(path, tasks, study)["status"]) == ["done", "done", "failed"]
    assert "no luck" in path.read_text()
    assert len(fill(path, tasks, study)) == 4
    assert asked == ["none", "symmetric:0.4", "symmetric:0.4"]
    assert "failed" not in path.read_text()
