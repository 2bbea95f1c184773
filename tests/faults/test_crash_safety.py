"""Killed, or out of disk, at any file operation: the old result or the new one, and whole."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import quietgraph as qg
from faults.inject import Ended, call, fingerprint, run_in_child
from fuzz.asked import write_batch, write_long
from fuzz.seeds import write_csv
from fuzz.stored import records
from quietgraph.bench.store import Store
from quietgraph.files import write_file
from quietgraph.graph.io import read_corrections, read_graph
from quietgraph.review.decisions import DecisionStore
from quietgraph.review.run import open_run

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]
_OF_SQLITE = ("-shm", "-wal")
SIZES = (0, 3_000)  # bytes after which a write fails
PAPER = ("paper", "classification", "--no-run", "--budget", "smoke")
FIT = ("fit", "tables", "--method", "gcn", "--set", "epochs=1", "--overwrite")

ANSWERED = (*FIT, "--annotations", "answers.csv", "--out", "answered")


@dataclass(frozen=True)
class Command:
    """A command, what it writes, and how a whole result is told from a torn one."""

    words: tuple[str, ...]
    target: str
    check: Callable[[Path], object]


def check_run(folder: Path) -> None:
    run = open_run(folder)
    nodes = json.loads((folder / "run.json").read_text())["data"]["nodes"]
    assert len(qg.load_model(folder / "model").predict()) == nodes
    assert len(np.load(folder / "embeddings.npy")) == nodes
    assert len((folder / "predictions.csv").read_text().splitlines()) == nodes + 1
    assert run.page.rstrip().endswith("</html>")


def check_table(path: Path) -> None:
    assert path.read_text().endswith("\n")


def check_lines(path: Path) -> None:
    assert [json.loads(line) for line in path.read_text().splitlines()]


def check_drawing(path: Path) -> None:
    assert path.read_text().rstrip().endswith("</svg>")


def check_diagnosis(folder: Path) -> None:
    json.loads((folder / "diagnosis.json").read_text())
    for path in folder.glob("*.svg"):
        check_drawing(path)
    for path in folder.glob("*.png"):
        assert path.read_bytes().endswith(b"IEND\xaeB`\x82")


COMMANDS = {
    "fit": Command((*FIT, "--seed", "1", "--out", "run"), "run", check_run),
    "fit with annotators": Command((*ANSWERED, "--seed", "1"), "answered", check_run),
    "convert": Command(("convert", "tables", "mapped"), "mapped", read_graph),
    "predict": Command(
        ("predict", "run", "tables", "--out", "answers"), "answers/predictions.csv", check_table
    ),
    "review": Command(
        ("review", "run", "--export", "verified.csv"), "verified.csv", read_corrections
    ),
    "bench table": Command(
        ("bench", "table", "--store", "runs.sqlite", "--format", "csv", "--out", "table.csv"),
        "table.csv",
        check_table,
    ),
    "paper": Command(
        (*PAPER, "--store", "runs.sqlite", "--format", "csv", "--out", "paper.csv"),
        "paper.csv",
        check_table,
    ),
    "bench curves": Command(
        ("bench", "curves", "--store", "runs.sqlite", "--out", "curves.svg"),
        "curves.svg",
        check_drawing,
    ),
    "label next": Command(
        ("label", "next", "answered", "--budget", "3", "--out", "next.csv"), "next.csv", check_table
    ),
    "label prompt": Command(
        ("label", "prompt", "tables", "--text", "story", "--classes", "a,b"),
        "prompts.jsonl",
        check_lines,
    ),
    "label answers": Command(
        ("label", "answers", "batch.jsonl", "--classes", "a,b", "--out", "answered.csv"),
        "answered.csv",
        check_table,
    ),
    "diagnose": Command(("diagnose", "run", "--out", "diagnosis"), "diagnosis", check_diagnosis),
    "bench export": Command(
        ("bench", "export", "--store", "runs.sqlite", "--out", "runs.csv"), "runs.csv", check_table
    ),
}
QUICK = [one for one in COMMANDS if one not in {"fit with annotators", "diagnose", "bench curves"}]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which every command has been run once."""
    folder = tmp_path_factory.mktemp("made") / "work"
    (folder / "tables").mkdir(parents=True)
    write_csv(folder / "tables")
    with Store(folder / "runs.sqlite") as store:
        store.add_missing(records())
    first = run_in_child(call((*FIT, "--out", "run"), folder), folder)
    assert first.code == 0, first.errors
    node = next(iter(open_run(folder / "run").suspects))
    DecisionStore(folder / "run" / "decisions.sqlite").add(node, "Ada", "keep", "a")
    write_batch(folder)
    write_long(folder)
    second = run_in_child(call(ANSWERED, folder), folder)
    assert second.code == 0, second.errors
    for command in COMMANDS.values():
        if not (folder / command.target).exists():
            ended = run_in_child(call(command.words, folder), folder)
            assert ended.code == 0, ended.errors
    return folder


def attempt(made: Path, folder: Path, command: Command, **fault: Any) -> Ended:
    """Run a command with a fault in a copy of the folder, and check what stands there then."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder)
    ended = run_in_child(call(command.words, folder), folder, **fault)
    command.check(folder / command.target)
    return ended


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob(".quietgraph-*"))


def check_kill(made: Path, folder: Path, name: str, place: int) -> None:
    command = COMMANDS[name]
    ended = attempt(made, folder, command, kill_at=place)
    assert ended.signal == 9
    check_left(folder, command)


def check_left(folder: Path, command: Command) -> None:
    """After a kill the result is whole, and the next write beside it clears up."""
    command.check(folder / command.target)
    kept = {path.parent for path in leftovers(folder)}
    for parent in (one for one in kept if ".quietgraph-" not in str(one)):
        write_file(parent / "another", "result")  # the next write there clears up
    assert leftovers(folder) == []
    command.check(folder / command.target)


def check_refused(ended: Ended, made: Path, folder: Path, command: Command) -> None:
    """A full disk is one sentence; the old result stands, and nothing else is left."""
    if ended.code != 0:
        assert ended.code == 2, ended.errors
        before, after = (one / command.target for one in (made, folder))
        assert fingerprint(after, _OF_SQLITE) == fingerprint(before, _OF_SQLITE)
    assert "Traceback" not in ended.errors
    assert leftovers(folder) == []


def places(made: Path, folder: Path, name: str, most: int) -> list[int]:
    """Return at most so many of a command's file operations, the last ones among them."""
    ended = attempt(made, folder, COMMANDS[name])
    assert ended.code == 0, ended.errors
    count = ended.operations
    assert count > 3
    return sorted({*np.linspace(1, count, min(most, count)).astype(int).tolist(), count - 1})


@pytest.mark.parametrize("name", QUICK)
def test_killed_at_any_operation(name: str, made: Path, tmp_path: Path) -> None:
    for place in places(made, tmp_path / "work", name, 3):
        check_kill(made, tmp_path / "work", name, place)


@pytest.mark.parametrize("name", QUICK)
def test_full_disk_from_any_operation_on(name: str, made: Path, tmp_path: Path) -> None:
    for place in places(made, tmp_path / "work", name, 2):
        ended = attempt(made, tmp_path / "work", COMMANDS[name], full_from=place)
        check_refused(ended, made, tmp_path / "work", COMMANDS[name])


@pytest.mark.parametrize("name", QUICK)
def test_no_room_beyond_some_bytes(name: str, made: Path, tmp_path: Path) -> None:
    for size in SIZES:
        ended = attempt(made, tmp_path / "work", COMMANDS[name], largest_file=size)
        check_refused(ended, made, tmp_path / "work", COMMANDS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_and_full_at_every_operation(name: str, made: Path, tmp_path: Path) -> None:
    states = tmp_path / "states"
    ended = attempt(made, tmp_path / "work", COMMANDS[name], keep_in=states)
    assert ended.code == 0, ended.errors
    assert (states / "1").is_dir()
    for state in states.iterdir():  # what a kill before an operation would leave
        check_left(state, COMMANDS[name])
    for place in range(1, ended.operations + 1):
        ended = attempt(made, tmp_path / "work", COMMANDS[name], full_from=place)
        check_refused(ended, made, tmp_path / "work", COMMANDS[name])
