"""Folders that may not be written to are refused in one sentence, before anything is computed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from paths import ROOT

START = "from quietgraph.cli.app import main; main()"
_RIGHTS = "-dac_override,-dac_read_search"


def without_privilege() -> list[str]:
    """Return what a command of root is started by, so that permissions count for it as well."""
    if os.geteuid() != 0:
        return []
    if shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere, and setpriv is not installed")
    return ["setpriv", f"--bounding-set={_RIGHTS}", f"--inh-caps={_RIGHTS}"]


def run(*words: object) -> tuple[int, str]:
    """Return the exit code of a command and what it says on the error stream."""
    command = [*without_privilege(), sys.executable, "-c", START, *map(str, words)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.returncode, " ".join(done.stderr.split())


@pytest.fixture
def read_only(folder: Path):
    """A run folder that nobody may write to."""
    folder.chmod(0o500)
    yield folder
    folder.chmod(0o700)


def test_review_says_at_once_that_decisions_cannot_be_saved(read_only: Path) -> None:
    code, said = run("review", read_only, "--no-browser")
    assert code == 2, said
    assert "decisions cannot be saved" in said
    assert "copy the run to a folder that you may write to" in said


@pytest.mark.parametrize("words", [("--overwrite",), ()], ids=["replace", "below"])
def test_fit_refuses_before_it_reads_the_data(read_only: Path, words: tuple[str, ...]) -> None:
    out = read_only if words else read_only / "new"
    code, said = run("fit", "digits", "--method", "s2gc", "--out", out, *words)
    assert code == 2, said
    assert "cannot be written: Permission denied" in said
    assert "1,797 nodes" not in said


def test_a_store_there_is_refused(read_only: Path) -> None:
    grid = ("--datasets", "sbm", "--methods", "s2gc", "--seeds", "1")
    code, said = run("bench", "run", *grid, "--store", read_only / "runs.sqlite")
    assert code == 2, said
    assert "Choose another --store" in said
