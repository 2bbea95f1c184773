"""Run a command of the study, and keep what it expected when it began and what it took.

    python studies/timed_sweep.py "five-fold scores" paper cross-validation --budget small

The command is asked with `--estimate --json` first. One that fails, or has nothing to run, is not
kept; the row of a command that was stopped would say less than it took.
"""

import csv
import datetime
import json
import subprocess
import sys
import time
from pathlib import Path

from study.records import RESULTS

KEPT = RESULTS / "studies" / "sweeps.csv"
FIELDS = ("began", "what", "runs", "expected", "taken")
COMMAND = Path(sys.executable).parent / "quietgraph"


def expectation(answer: str) -> tuple[int, float]:
    """Return missing runs and seconds that `--estimate --json` of `bench run` or `paper` says."""
    found = json.loads(answer)
    parts = [found] if "missing" in found else list(found.values())
    return sum(part["missing"] for part in parts), sum(part["seconds"] for part in parts)


def main() -> None:
    what, *arguments = sys.argv[1:]
    asked = [COMMAND, *arguments, "--estimate", "--json"]
    answer = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    runs, expected = expectation(answer)
    began, clock = datetime.datetime.now(datetime.UTC), time.monotonic()
    subprocess.run([COMMAND, *arguments], check=True)
    if not runs:
        return
    taken = time.monotonic() - clock
    row = (began.isoformat(timespec="seconds"), what, runs, round(expected), round(taken))
    is_new = not KEPT.exists()
    with KEPT.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([FIELDS] * is_new + [row])


if __name__ == "__main__":
    main()
