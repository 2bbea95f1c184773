"""The files of a run folder by name, and the command that goes on from there."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Final

RUN_FILE: Final = "run.json"
PAGE_FILE: Final = "report.html"
SUSPECTS_FILE: Final = "suspects.csv"
CORRECTED_FILE: Final = "nodes_corrected.csv"
EVIDENCE_FILE: Final = "evidence.jsonl"  # what a reviewer sees of each suspect
DECISIONS_FILE: Final = "decisions.sqlite"  # what reviewers decide on `quietgraph review`
VERIFIED_FILE: Final = "verified.csv"  # decisions of people that the fit was given
ANNOTATIONS_FILE: Final = "annotations.csv"  # answers of annotators that the fit was given
ANNOTATORS_FILE: Final = "annotators.csv"
CONSENSUS_FILE: Final = "consensus.csv"
DISAGREEMENTS_FILE: Final = "disagreements.csv"
_WITH_VALUE: Final = ("--out", "--fix", "--verified")
_ALONE: Final = ("--json", "--overwrite")


def next_command(command: str, file: str) -> str:
    """Return the command of a run as it goes on with the decisions of a file.

    Args:
        command: As it was typed.
        file: With the decisions; those that the run was given are among them.
    """
    try:
        words = shlex.split(command)
    except ValueError:
        words = ["quietgraph", "fit"]
    kept, skip = [], False
    for word in words:
        if skip or word in _ALONE or word in _WITH_VALUE:
            skip = word in _WITH_VALUE and not skip
            continue
        if not word.startswith(tuple(f"{option}=" for option in _WITH_VALUE)):
            kept.append(word)
    return shlex.join([*kept, "--verified", file])


def shown_path(text: str) -> str:
    """Return a path without where it is on this machine: below here as it is from here, else named.

    What is no absolute path is returned as it is.
    """
    path = Path(text)
    if not path.is_absolute():
        return text
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def shown_command(words: Sequence[str]) -> str:
    """Return a command as it can be passed on: without absolute paths."""
    shown = []
    for word in words:
        option, sign, value = word.partition("=")
        is_option = option.startswith("--") and sign
        shown.append(f"{option}={shown_path(value)}" if is_option else shown_path(word))
    return shlex.join(shown)
