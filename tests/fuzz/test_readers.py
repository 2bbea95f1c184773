"""Mutated and hostile files: our error or a sound graph, in little time and memory.

`make fuzz` runs many more cases: QUIETGRAPH_FUZZ_CASES is their number for each format. Put a case
that goes wrong into found.json: it is run for ever after.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.asked import ASKED
from fuzz.seeds import SEEDS
from fuzz.stored import STORED

CASES = int(os.environ.get("QUIETGRAPH_FUZZ_CASES", "12"))
FIRST = int(os.environ.get("QUIETGRAPH_FUZZ_FIRST", "0"))


def run(*arguments: str) -> list[dict[str, str]]:
    """Return what a worker found."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzz.worker", *arguments],
        cwd=Path(__file__).parents[1],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stderr[-2000:]
    if lines[-1] != {"done": True}:  # the process itself ended
        lines.append(
            {"format": "process", "case": str(done.returncode), "wrong": done.stderr[-500:]}
        )
    return [line for line in lines if line != {"done": True}]


FORMS = ("process", "hostile", *SEEDS, *STORED, *ASKED)


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest) -> list[dict[str, str]]:
    """Return what one process finds in all formats that were chosen (-k)."""
    chosen = {
        item.callspec.params["form"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    }
    return run(str(CASES), str(FIRST), *(form for form in FORMS[1:] if form in chosen))


@pytest.mark.parametrize("form", FORMS)
def test_every_file_ends_in_our_error_or_a_sound_graph(form: str, found) -> None:
    assert [one for one in found if one["format"] == form] == []
