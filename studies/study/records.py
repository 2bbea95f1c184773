"""The runs in results/, each marked as old where its method has changed since."""

import csv
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from quietgraph.bench.record import records_frame
from quietgraph.bench.renames import has_current_parameters
from quietgraph.bench.runs_csv import read_runs

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "results"
TABLES = RESULTS / "tables"  # as benchmarks print them (keep_table.py)
_CELL = ["dataset", "noise", "method", "split"]
_DRAW = [*_CELL, "seed"]
_read: set[str] = set()  # files of which a block has asked


@cache
def manifest() -> dict[str, dict[str, dict[str, Any]]]:
    """Return what results/manifest.json says of methods (`since`) and files."""
    found: dict[str, dict[str, dict[str, Any]]] = json.loads(
        (RESULTS / "manifest.json").read_text(encoding="utf-8")
    )
    return found


def runs(*files: str, is_current: bool = False) -> pd.DataFrame:
    """Return the finished runs of files in results/, each draw once, with a column `old`.

    Where a draw was run twice, the run of today's method counts, then the later one.

    Args:
        files: Names without suffix.
        is_current: Leave out old runs.
    """
    mark_read(*files)
    frame = pd.concat([read_all(name) for name in files], ignore_index=True)
    frame = frame[frame["status"] == "done"]
    if is_current:
        frame = frame[~frame["old"]]
    return one_a_draw(frame)


def one_a_draw(frame: pd.DataFrame) -> pd.DataFrame:
    """Return each draw once: the run of today's method, then the later one."""
    ordered = frame.sort_values(["old", "started"], ascending=[True, False], kind="stable")
    return ordered.drop_duplicates(_DRAW).sort_values(_DRAW).reset_index(drop=True)


def of_today(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the runs without old ones wherever a cell has others: no mean is over both."""
    current = set(map(tuple, frame[~frame["old"]][_CELL].to_numpy()))
    cells = map(tuple, frame[_CELL].to_numpy())
    kept = [not old or cell not in current for old, cell in zip(frame["old"], cells, strict=True)]
    return frame[kept]


def table(file: str, *, dtype: type | None = None) -> pd.DataFrame:
    """Return a file of results/studies, which are no runs of the benchmark."""
    _read.add(f"studies/{file}.csv")
    return pd.read_csv(RESULTS / "studies" / f"{file}.csv", dtype=dtype)


def printed(name: str) -> tuple[list[str], list[list[str]]]:
    """Return heads and rows of a file of results/tables, the text that a benchmark printed."""
    _read.add(f"tables/{name}.csv")
    with (TABLES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        heads, *rows = csv.reader(file)
    return heads, rows


def mark_read(*files: str) -> None:
    """Remember that somebody has asked for these files."""
    _read.update(f"{name}.csv" for name in files)


def files_read() -> set[str]:
    """Return the files of which somebody has asked so far, and forget them."""
    found = set(_read)
    _read.clear()
    return found


def old_words(frame: pd.DataFrame) -> str:
    """Return a sentence that names the methods with old runs in a table, or nothing."""
    old = frame[frame["old"]]
    if old.empty:
        return ""
    names = sorted(set(old["method"].str.partition(":")[0]))
    return (
        f"{len(old):,} of these {len(frame):,} runs are **old**, from before the last change of "
        f"their method ([which](records.md)): {', '.join(f'`{name}`' for name in names)}."
    )


def is_old(
    method: str, dataset: str, parameters: str, started: str, split: str = "default"
) -> bool:
    """Whether a run's method answers otherwise today: other parameters, or changed code.

    Code may have changed its answers on some splits alone (`splits` of the manifest).
    """
    known, (name, *assignments) = manifest()["methods"], method.split(":")
    # A control of the benchmark, such as class_prior=adjusted, may have changed as well.
    facts = [known.get(part, {}) for part in (name, *assignments)]
    since = max(each.get("splits", {}).get(split, each.get("since", "")) for each in facts)
    return started < since or not _has_current_parameters(dataset, method, parameters)


_has_current_parameters = cache(has_current_parameters)  # few variants have thousands of runs


@cache
def read_all(name: str) -> pd.DataFrame:
    """Return every run of a file, finished or not, with a column `old`."""
    frame = records_frame(read_runs(RESULTS / f"{name}.csv"))
    columns = (frame[column] for column in ("method", "dataset", "parameters", "started", "split"))
    return frame.assign(old=[is_old(*row) for row in zip(*columns, strict=True)], file=name)


def some(frame: pd.DataFrame, **wanted: str | int | Iterable[str | int]) -> pd.DataFrame:
    """Return the rows whose columns have one of the wanted values."""
    for column, values in wanted.items():
        kept = [values] if isinstance(values, str | int) else list(values)
        frame = frame[frame[column].isin(kept)]
    return frame
