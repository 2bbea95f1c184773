"""What reviewers decided about suspicious labels, in one SQLite file that survives a crash.

Decisions are only ever added, one transaction each, so nothing is lost and nobody overwrites
anybody: what counts is each reviewer's last decision on a node.
"""

import datetime
import sqlite3
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from quietgraph.errors import InvalidParameterError, UnknownNameError, UnwritablePathError
from quietgraph.graph.io.corrections import DECISIONS, VERIFYING, LabelDecision
from quietgraph.sqlite_file import FileKind, connect, damaged, explained

_TAKEN_BACK: Final = ""
_MOST_TIMES: Final = 20  # that a decision is written again because the run was replaced
_MAX_NAME: Final = 80  # characters of a reviewer's name
_NO_TEXT: Final = {"Cc", "Cs", "Zl", "Zp"}  # kinds of characters that no name holds
_TURNING: Final = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")  # text around
_DECISIONS: Final = FileKind(
    name="file of review decisions",
    application=0x51474432,  # "QGD2"
    version=0,
    tables="""CREATE TABLE decision (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        node TEXT NOT NULL,
        reviewer TEXT NOT NULL,
        choice TEXT NOT NULL,
        made TEXT NOT NULL,
        label TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    way_out="Move it away, or copy the run to a folder that you may write to.",
)


@dataclass(frozen=True)
class Decision:
    """One decision: who chose what for which node, and when.

    Attributes:
        id: Its number; later decisions have larger ones.
        node: Id of the node.
        reviewer: Who decided.
        choice: accept, keep, other, drop, unsure; '' takes an earlier one back.
        label: The label that holds from now on; '' for drop, unsure and ''.
        made: When, ISO 8601.
    """

    id: int
    node: str
    reviewer: str
    choice: str
    label: str
    made: str


class DecisionStore:
    """The decisions on one run; any number of threads and processes may use the same file.

    Args:
        path: The SQLite file, made where it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._connect() as connection:  # made, or refused now rather than later
            names = [row[1] for row in connection.execute("PRAGMA table_info(decision)")]
            if "label" not in names:  # written by quietgraph 0.1
                connection.execute("ALTER TABLE decision ADD label TEXT NOT NULL DEFAULT ''")

    def add(self, node: str, reviewer: str, choice: str, label: str = "") -> int:
        """Write one decision; when this returns its number, the decision outlives any crash.

        Args:
            node: Id of the node.
            reviewer: A name of 1 to 80 characters.
            choice: accept, keep, other, drop, unsure, or '' to take the last decision back.
            label: The label that holds from now on.
        """
        name = check_reviewer(reviewer)
        if choice not in {*DECISIONS, _TAKEN_BACK}:
            raise UnknownNameError("decision", choice, DECISIONS)
        made = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        row = (node, name, choice, label if choice in VERIFYING else "", made)
        statement = (
            "INSERT INTO decision (node, reviewer, choice, label, made) VALUES (?, ?, ?, ?, ?)"
        )
        for _ in range(_MOST_TIMES):
            before = self._identity()
            with self._connect() as connection:
                number = int(connection.execute(statement, row).lastrowid or 0)
            if before in {None, self._identity()}:
                return number
        raise UnwritablePathError(f"{self.path} is replaced all the time. Try again later.")

    def _identity(self) -> tuple[int, int] | None:
        """Return which file the path leads to: `fit --overwrite` puts another one there."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def after(self, last: int = 0) -> list[Decision]:
        """Return all decisions with a number above `last`, in the order they were made."""
        columns = "id, node, reviewer, choice, label, made"
        query = f"SELECT {columns} FROM decision WHERE id > ? ORDER BY id"  # noqa: S608
        with self._connect() as connection:
            rows = connection.execute(query, (last,)).fetchall()
        if not all(isinstance(cell, str) for row in rows for cell in row[1:]):
            raise damaged(self.path, _DECISIONS, ValueError("a cell holds no text"))
        return [Decision(*row) for row in rows]

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one operation."""
        with (
            explained(self.path, _DECISIONS),
            closing(connect(self.path, _DECISIONS)) as connection,
        ):
            yield connection


def check_reviewer(name: str) -> str:
    """Return a reviewer's name without spaces around it; what no file can hold is refused."""
    name = name.strip()
    if not 0 < len(name) <= _MAX_NAME:
        raise InvalidParameterError(
            f"a reviewer's name must have 1 to {_MAX_NAME} characters, got {len(name)}."
        )
    if any(unicodedata.category(one) in _NO_TEXT or one in _TURNING for one in name):
        raise InvalidParameterError(
            "a reviewer's name must be plain text without control characters. Type it again."
        )
    return name


def latest_choices(decisions: Iterable[Decision]) -> dict[str, dict[str, Decision]]:
    """Return each reviewer's last decision by node and reviewer, without those taken back."""
    found: dict[str, dict[str, Decision]] = defaultdict(dict)
    for decision in decisions:
        found[decision.node].pop(decision.reviewer, None)
        if decision.choice != _TAKEN_BACK:
            found[decision.node][decision.reviewer] = decision
    return {node: choices for node, choices in found.items() if choices}


def merge(choices: Mapping[str, Decision]) -> LabelDecision:
    """Return what reviewers decided together on a node, signed by all who decided so.

    Who is unsure leaves it to the others; two different labels, or a label and drop, are a
    conflict, which is returned as `conflict`: it decides nothing until the reviewers agree.
    """
    decided = [one for one in choices.values() if one.choice != "unsure"]
    agreed = {(one.label, one.choice == "drop") for one in decided}
    counted = decided or list(choices.values())
    last = max(counted, key=lambda one: one.id)
    decision = "conflict" if len(agreed) > 1 else last.choice
    label = "" if decision == "conflict" else last.label
    if decision == "conflict":
        by = "; ".join(f"{one.reviewer}: {one.label or one.choice}" for one in counted)
    else:
        by = "; ".join(one.reviewer for one in counted)
    return LabelDecision(last.node, decision, label, by, last.made)
