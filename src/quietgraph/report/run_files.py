"""The files of a run folder by name, and the command that goes on from there."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quietgraph.errors import UnreadableFileError

RUN_FILE: Final = "run.json"
PAGE_FILE: Final = "report.html"
PREDICTIONS_FILE: Final = "predictions.csv"
PREDICTIONS_FOLDER: Final = "predictions"  # in its place, of large graphs and several processes
EMBEDDINGS_FILE: Final = "embeddings.npy"
SAMPLE_FILE: Final = "sample.csv"  # of these: the nodes that model and report are about
SUSPECTS_FILE: Final = "suspects.csv"
CORRECTED_FILE: Final = "nodes_corrected.csv"
EVIDENCE_FILE: Final = "evidence.jsonl"  # what a reviewer sees of each suspect
DECISIONS_FILE: Final = "decisions.sqlite"  # what reviewers decide on `quietgraph review`
VERIFIED_FILE: Final = "verified.csv"  # decisions of people that the fit was given
ANNOTATIONS_FILE: Final = "annotations.csv"  # answers of annotators that the fit was given
ANNOTATORS_FILE: Final = "annotators.csv"
CONSENSUS_FILE: Final = "consensus.csv"
DISAGREEMENTS_FILE: Final = "disagreements.csv"
MODEL_FOLDER: Final = "model"
OWN_NAMES: Final = frozenset(  # all that a run writes; what else is in its folder, people put there
    {
        *(RUN_FILE, PAGE_FILE, PREDICTIONS_FILE, PREDICTIONS_FOLDER, EMBEDDINGS_FILE, SAMPLE_FILE),
        *(SUSPECTS_FILE, CORRECTED_FILE, EVIDENCE_FILE, DECISIONS_FILE, VERIFIED_FILE),
        *(ANNOTATIONS_FILE, ANNOTATORS_FILE, CONSENSUS_FILE, DISAGREEMENTS_FILE, MODEL_FOLDER),
    }
)
_NOISE_FILE: Final = re.compile(r"(?<![^+=])(custom|labels):([^#]+)")
_WITH_VALUE: Final = ("--out", "--fix", "--verified")
_ALONE: Final = ("--json", "--overwrite")


@dataclass(frozen=True)
class RunFacts:
    """What other commands need of run.json.

    Attributes:
        source: Dataset, or path of own data.
        noise: As `parse_noise` takes it.
        seed: Of the fit.
        command: That made the run.
        classes: Names of the classes; none in runs of quietgraph 0.1.
        is_own_data: Whether the source is no benchmark.
    """

    source: str
    noise: str
    seed: int
    command: str
    classes: tuple[str, ...]
    is_own_data: bool


def read_facts(folder: Path) -> RunFacts:
    """Return the facts of a run folder that `quietgraph fit` wrote."""
    path = folder / RUN_FILE
    try:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        return _checked_facts(json.loads(text))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise UnreadableFileError(
            f"{folder} is no run folder: {RUN_FILE} cannot be read. "
            "Name a folder that `quietgraph fit` wrote."
        ) from error


def _checked_facts(facts: Any) -> RunFacts:
    """Return the facts; raise TypeError where one is of another kind."""
    if not isinstance(facts, dict) or not isinstance(data := facts.get("data", {}), dict):
        raise TypeError("no facts")
    named = data.get("class_names", [])
    found = RunFacts(
        source=facts.get("source", ""),
        noise=facts.get("noise", "none"),
        seed=facts.get("seed", 0),
        command=facts.get("command", "quietgraph fit"),
        classes=tuple(str(name) for name in named) if isinstance(named, list) else (),
        is_own_data=bool(data.get("understood")),
    )
    texts = (found.source, found.noise, found.command)
    if type(found.seed) is not int or not all(isinstance(text, str) for text in texts):
        raise TypeError("a fact has a wrong kind")
    return found


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


def shown_noise(text: str) -> str:
    """Return a noise setting without where its file is on this machine."""
    return _NOISE_FILE.sub(lambda found: f"{found[1]}:{shown_path(found[2])}", text)


def shown_command(words: Sequence[str]) -> str:
    """Return a command as it can be passed on: without absolute paths."""
    shown = []
    for word in words:
        option, sign, value = word.partition("=")
        is_option = option.startswith("--") and sign
        kept = f"{option}={shown_path(value)}" if is_option else shown_path(word)
        shown.append(shown_noise(kept))
    return shlex.join(shown)
