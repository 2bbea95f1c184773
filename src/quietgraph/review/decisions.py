"""What reviewers decided about suspicious labels, in one SQLite file that survives a crash.

Decisions are only ever added, one transaction each, so nothing is lost and nobody overwrites
anybody: what counts is each reviewer's last decision on a node.
"""

import datetime
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.sqlite_file import FileKind, connect, explained

CHOICES: Final = ("accept", "keep", "unsure")
Merged = Literal["accept", "keep", "unsure", "conflict"]
_TAKEN_BACK: Final = ""
_MAX_NAME: Final = 80  # characters of a reviewer's name
_DECISIONS: Final = FileKind(
    name="file of review decisions",
    application=0x51474432,  # "QGD2"
    version=0,
    tables="""CREATE TABLE decision (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        node TEXT NOT NULL,
        reviewer TEXT NOT NULL,
        choice TEXT NOT NULL,
        made TEXT NOT NULL
    ) STRICT""",
    way_out="Move it away, or copy the run to a folder that you may write to.",
)


@dataclass(frozen=True)
class Decision:
    """One decision: who chose what for which node; the choice '' takes an earlier one back."""

    id: int
    node: str
    reviewer: str
    choice: str


class DecisionStore:
    """The decisions on one run; any number of threads and processes may use the same file.

    Args:
        path: The SQLite file, made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connect():
            pass  # made, or refused now rather than at the first decision

    def add(self, node: str, reviewer: str, choice: str) -> int:
        """Write one decision; when this returns its number, the decision outlives any crash.

        Args:
            node: Id of the node.
            reviewer: A name of 1 to 80 characters.
            choice: accept, keep, unsure, or '' to take the last decision back.
        """
        name = reviewer.strip()
        if not 0 < len(name) <= _MAX_NAME:
            raise InvalidParameterError(
                f"a reviewer's name must have 1 to {_MAX_NAME} characters, got {len(name)}."
            )
        if choice not in {*CHOICES, _TAKEN_BACK}:
            raise UnknownNameError("decision", choice, CHOICES)
        made = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        statement = "INSERT INTO decision (node, reviewer, choice, made) VALUES (?, ?, ?, ?)"
        with self._connect() as connection:
            return int(connection.execute(statement, (node, name, choice, made)).lastrowid or 0)

    def after(self, last: int = 0) -> list[Decision]:
        """Return all decisions with a number above `last`, in the order they were made."""
        query = "SELECT id, node, reviewer, choice FROM decision WHERE id > ? ORDER BY id"
        with self._connect() as connection:
            return [Decision(*row) for row in connection.execute(query, (last,))]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation."""
        with (
            explained(self.path, _DECISIONS),
            closing(connect(self.path, _DECISIONS)) as connection,
        ):
            yield connection


def latest_choices(decisions: Iterable[Decision]) -> dict[str, dict[str, str]]:
    """Return each reviewer's last choice by node and reviewer, without those taken back."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for decision in decisions:
        found[decision.node].pop(decision.reviewer, None)
        if decision.choice != _TAKEN_BACK:
            found[decision.node][decision.reviewer] = decision.choice
    return {node: choices for node, choices in found.items() if choices}


def merge(choices: Mapping[str, str]) -> Merged:
    """Return what reviewers decided together on a node.

    Who is unsure leaves it to the others; accept against keep is a conflict.
    """
    votes = set(choices.values())
    if {"accept", "keep"} <= votes:
        return "conflict"
    return "accept" if "accept" in votes else "keep" if "keep" in votes else "unsure"
