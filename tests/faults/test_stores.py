"""Killed, or out of disk, at any write of a sweep or a search: nothing finished is lost, and the
same command goes on to the end that an undisturbed one has."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faults.inject import Ended, call, fingerprint, run_in_child
from fuzz.stored import records
from quietgraph.bench.engines.worker import carry_out
from quietgraph.bench.protocol import Run
from quietgraph.bench.record import Record
from quietgraph.bench.store import Store
from quietgraph.bench.trial_store import Trial, finished_trials, open_study
from quietgraph.errors import UnreadableFileError

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork"),
]


class InThisProcess:
    """Carries out runs without workers: the process that writes is the one that is killed."""

    def __init__(self, *_: object) -> None:
        pass

    def records(self, runs: Sequence[Run]) -> Generator[Record]:
        """Yield the record of each run."""
        for run in runs:
            yield replace(carry_out(run), peak_memory_mb=1.0)  # an engine measures it


def runs_of(path: Path) -> dict[str, str]:
    """Return what was measured of every run in a store; reading needs no repair."""
    try:
        with Store(path, read_only=True) as store:
            rows = [(one.key.digest, one.status, one.metrics) for one in store.records()]
    except UnreadableFileError as error:
        if "nothing was written" not in str(error):
            raise
        return {}
    return {digest: f"{status} {metrics.get('test_accuracy')}" for digest, status, metrics in rows}


def trials_of(path: Path) -> dict[str, str]:
    """Return the finished trials of a store; opening it repairs what was under way."""
    import optuna

    if not path.exists() or not path.stat().st_size:
        return {}
    with closing(sqlite3.connect(path)) as file:
        (sound,) = file.execute("PRAGMA integrity_check").fetchone()
        assert sound == "ok"
        tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master")}
        names = file.execute("SELECT study_name FROM studies") if "studies" in tables else []
        studies = [name for (name,) in names]
    found: dict[str, str] = {}
    for name in studies:
        with open_study(optuna, name, path) as study:
            trials = finished_trials(optuna, study, path)
        found |= {
            f"{name} {place}": f"{one.values} {one.score}" for place, one in enumerate(trials)
        }
    return found


def _words(trial: Trial) -> str:
    return f"{trial.values} {trial.score}"


@dataclass(frozen=True)
class Command:
    """A command that adds to a store, and how what it holds is read."""

    words: tuple[str, ...]
    store: str
    read: Callable[[Path], dict[str, str]]


SWEEP = ("--datasets", "sbm", "--methods", "gcn:epochs=1:hidden=4", "--seeds", "3", "--no-cache")
SEARCH = ("--method", "gcn:hidden=4", "--param", "epochs=1:3", "--trials", "2", "--seeds", "1")
COMMANDS = {
    "bench run": Command(
        ("bench", "run", *SWEEP, "--store", "sweep.sqlite"), "sweep.sqlite", runs_of
    ),
    "bench import": Command(
        ("bench", "import", "runs.csv", "--store", "taken.sqlite"), "taken.sqlite", runs_of
    ),
    "tune": Command(
        ("tune", "sbm", *SEARCH, "--store", "search.sqlite"), "search.sqlite", trials_of
    ),
}


@pytest.fixture(scope="module", autouse=True)
def _no_workers() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("quietgraph.cli.bench.LocalEngine", InThisProcess)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a store of earlier runs, and where every command has ended once."""
    pytest.importorskip("optuna")
    folder = tmp_path_factory.mktemp("made") / "work"
    (folder / "ended").mkdir(parents=True)
    with Store(folder / "sweep.sqlite") as store:
        store.add_missing(records())
    exported = run_in_child(
        call(("bench", "export", "--store", "sweep.sqlite", "--out", "runs.csv"), folder), folder
    )
    assert exported.code == 0, exported.errors
    shutil.copytree(folder, folder / "ended", dirs_exist_ok=True, ignore=lambda *_: ["ended"])
    for command in COMMANDS.values():
        ended = run_in_child(call(command.words, folder / "ended"), folder)
        assert ended.code == 0, ended.errors
        assert len(command.read(folder / "ended" / command.store)) > 1
    return folder


def attempt(made: Path, folder: Path, command: Command, **fault: Any) -> Ended:
    """Run a command with a fault, check what the store holds, and let it go on."""
    ended = run_in_copy(made, folder, command, **fault)
    check_left(made, folder, command)
    return ended


def run_in_copy(made: Path, folder: Path, command: Command, **fault: Any) -> Ended:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(made, folder, ignore=lambda *_: ["ended"])
    return run_in_child(call(command.words, folder), folder, **fault)


def check_left(made: Path, folder: Path, command: Command) -> None:
    """Check what the store holds, and that the command goes on to its end."""
    before, wanted = (command.read(one / command.store) for one in (made, made / "ended"))
    found = command.read(folder / command.store)
    assert before.items() <= found.items() <= wanted.items()
    again = run_in_child(call(command.words, folder), folder)
    assert again.code == 0, again.errors
    left = {path.name for path in folder.iterdir()} - {path.name for path in made.iterdir()}
    assert left <= {command.store}  # no journal, no lock
    assert command.read(folder / command.store) == wanted


def places(made: Path, folder: Path, name: str, most: int) -> list[int]:
    """Return at most so many of a command's writes."""
    ended = attempt(made, folder, COMMANDS[name])
    assert ended.code == 0, ended.errors
    assert ended.operations > 10
    inside = np.linspace(0, ended.operations + 1, min(most, ended.operations) + 2)[1:-1]
    return np.unique(inside.round().astype(int)).tolist()


def check_full(ended: Ended) -> None:
    assert ended.code in {0, 2}, ended.errors  # 0: only the tidying up at the end had no room
    assert "Traceback" not in ended.errors


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_or_full_at_any_write(name: str, made: Path, tmp_path: Path) -> None:
    for place in places(made, tmp_path / "work", name, 2):
        assert attempt(made, tmp_path / "work", COMMANDS[name], kill_at=place).signal == 9
        check_full(attempt(made, tmp_path / "work", COMMANDS[name], full_from=place))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_killed_and_full_at_every_write(name: str, made: Path, tmp_path: Path) -> None:
    command, work, states = COMMANDS[name], tmp_path / "work", tmp_path / "states"
    ended = run_in_copy(made, work, command, keep_in=states)
    assert ended.code == 0, ended.errors
    assert (states / "1").is_dir()
    seen = set()
    for state in states.iterdir():  # what a kill before a write would leave
        seen.add(fingerprint(state))
        check_left(made, state, command)
    for place in range(1, ended.operations + 1):
        check_full(run_in_copy(made, work, command, full_from=place))
        if fingerprint(work) not in seen:  # what is the same goes on in the same way
            seen.add(fingerprint(work))
            check_left(made, work, command)
