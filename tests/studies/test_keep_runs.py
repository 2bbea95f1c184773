"""Runs of a store replace those of the same draw in a file of results."""

import sys
from pathlib import Path

import pytest

from paths import ROOT
from quietgraph.bench.protocol import Run
from quietgraph.bench.runs_csv import read_runs, write_runs
from quietgraph.bench.store import Store
from records import record_of

sys.path.insert(0, str(ROOT / "studies"))

import keep_runs


def run(seed: int, method: str = "gcn") -> Run:
    return Run.parse("sbm", method, "none", seed)


def test_a_later_run_of_a_draw_takes_the_place_of_the_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, path = tmp_path / "runs.csv", tmp_path / "store.sqlite"
    write_runs(file, [record_of(run(seed), test_accuracy=0.5) for seed in (0, 1)])
    with Store(path) as store:
        store.add(record_of(run(1), test_accuracy=0.7))
        store.add(record_of(run(2), test_accuracy=0.8))
        store.add(record_of(run(3), status="failed"))
        store.add(record_of(run(4, "s2gc"), test_accuracy=0.9))
        store.add(record_of(run(5), test_accuracy=0.9))
    words = ["", str(path), str(file), "--methods", "gcn", "--seeds", "0-4"]
    monkeypatch.setattr(sys, "argv", words)
    keep_runs.main()
    found = {one.key.seed: one.metrics["test_accuracy"] for one in read_runs(file)}
    assert found == {0: 0.5, 1: 0.7, 2: 0.8}
