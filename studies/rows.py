"""Rows of a study in a flat CSV file: what the file has is not measured again."""

import argparse
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeAlias

import pandas as pd
import torch

from quietgraph.bench.execute import words_of
from quietgraph.files import write_file

Row: TypeAlias = dict[str, Any]
RESULTS = Path(__file__).parents[1] / "results"


def fill(path: Path, tasks: Sequence[Row], study: Callable[..., list[Row]], *, jobs: int = 1) -> pd.DataFrame:
    """Carry out the tasks that a file lacks and return all its rows; a failure is a row and is tried again next time.

    Args:
        path: CSV file, rewritten after each task.
        tasks: Keyword arguments of the study, the same names in each, which are columns of its rows.
        study: Returns the rows of a task.
        jobs: Processes of one thread each.
    """
    names = list(tasks[0])
    frame = (
        pd.read_csv(path, keep_default_na=False, na_values=[""])
        if path.exists()
        else pd.DataFrame(columns=[*names, "status"])
    )
    frame = frame[frame["status"] == "done"]
    done = set(frame[names].itertuples(index=False, name=None))
    for task, rows in _carry_out([task for task in tasks if tuple(task.values()) not in done], study, jobs):
        frame = pd.concat([frame, pd.DataFrame([{**task, "status": "done"} | row for row in rows])], ignore_index=True)
        frame = frame.sort_values(names, kind="stable")
        write_file(path, frame.to_csv(index=False, float_format="%.5g", lineterminator="\n"))
        print(*task.values(), flush=True)
    return frame


def options_of(words: str, **defaults: Any) -> argparse.Namespace:
    """Return the options of the command line; those that are lists are written with commas."""
    parser = argparse.ArgumentParser(description=words.splitlines()[0])
    for name, value in {**defaults, "jobs": 1}.items():
        listed = isinstance(value, list)
        kind = (lambda text: text.split(",")) if listed else type(value)
        parser.add_argument(f"--{name}", type=kind, default=value, help=",".join(value) if listed else str(value))
    torch.set_num_threads(1)
    return parser.parse_args()


def _carry_out(tasks: list[Row], study: Callable[..., list[Row]], jobs: int) -> Iterator[tuple[Row, list[Row]]]:
    if jobs == 1:
        yield from ((task, _safely(study, task)) for task in tasks)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        waiting = {pool.submit(_safely, study, task): task for task in tasks}
        for one in as_completed(waiting):
            yield waiting[one], one.result()


def _safely(study: Callable[..., list[Row]], task: Row) -> list[Row]:
    try:
        return study(**task)
    except Exception as error:
        return [{"status": "failed", "reason": words_of(error)}]
