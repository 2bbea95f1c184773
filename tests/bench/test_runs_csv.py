"""Runs as CSV: what goes out comes back, repeated settings are written once."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from quietgraph.bench.record import canonical_json
from quietgraph.bench.runs_csv import read_runs, write_runs
from quietgraph.errors import UnreadableFileError
from tests.bench.test_record import KEY, record

WIDE = replace(KEY, parameters=canonical_json({"hidden": 128}))
RUNS = [record(0), record(1), record(2, key=WIDE), record(3), record(4, versions={})]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_runs(tmp_path / "out" / "runs.csv", RUNS, is_compact=True)
    return tmp_path / "out" / "runs.csv"


def test_runs_come_back_as_they_were(path: Path) -> None:
    assert read_runs(path) == RUNS


def test_every_line_stands_alone_unless_asked_otherwise(tmp_path: Path) -> None:
    write_runs(tmp_path / "runs.csv", RUNS)
    assert read_runs(tmp_path / "runs.csv") == RUNS
    with (tmp_path / "runs.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [json.loads(row["parameters"]) for row in rows] == [
        json.loads(run.key.parameters) for run in RUNS
    ]


def test_repeated_settings_are_written_once(path: Path) -> None:
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first, second, third, *rest = [row["parameters"] for row in rows]
    assert json.loads(first) == {"hidden": 64, "rate": 0.5}
    assert (second, json.loads(third), rest) == ("#1", {"hidden": 128}, ["#1", "#1"])
    assert float(rows[0]["test_accuracy"]) == 0.1 + 0.2


@pytest.mark.parametrize("text", ["#0", "#3", "#", "#one", "#-1"])
def test_a_reference_to_nothing_names_its_line(path: Path, text: str) -> None:
    path.write_text(path.read_text().replace("#1", text, 1))
    with pytest.raises(UnreadableFileError, match=r"line 3 of .* is not a run"):
        read_runs(path)
