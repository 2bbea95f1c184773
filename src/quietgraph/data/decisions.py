"""Decisions of people about labels: which label of a node holds, who said so and when.

Labels that a person decided on are verified: a fit takes them as certain and never lists them as suspects.
"""

import csv
import io
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final
from urllib.parse import quote

from quietgraph.errors import UnreadableFileError, UnwritablePathError
from quietgraph.graph.io.tables import id_keys, open_database, open_table

DECISIONS: Final = ("accept", "keep", "other", "drop", "unsure")
VERIFYING: Final = ("accept", "keep", "other")
DECISIONS_FILE: Final = "decisions.sqlite"
VERIFIED_FILE: Final = "verified.csv"
CORRECTED_COLUMN: Final = "quietgraph_label"  # of nodes_corrected.csv: the label that holds, where it is another one
_NODE_NAMES: Final = ("node", "id", "node_id")
_USED: Final = ("decision", "label", "suggested", "by", "when", "observed", "given")
_TABLE: Final = """CREATE TABLE IF NOT EXISTS decisions (number INTEGER PRIMARY KEY, node TEXT NOT NULL,
    decision TEXT NOT NULL, label TEXT NOT NULL, by TEXT NOT NULL, "when" TEXT NOT NULL, given TEXT NOT NULL)"""


@dataclass(frozen=True)
class Decision:
    """What a person decided about the label of one node.

    `accept` the suggested label, `keep` the given one, `other` label, `drop` the label, or `unsure`, which changes
    nothing; '' takes an earlier one back.
    """

    node: str  # its id
    decision: str
    label: str = ""  # that holds from now on; '' where it is dropped or open, and for `keep` where nobody wrote it
    by: str = ""  # who decided
    when: str = ""  # ISO 8601
    given: str = ""  # the label that was decided about


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions by node, and where they come from."""

    name: str
    by_node: Mapping[str, Decision]

    def __len__(self) -> int:
        return len(self.by_node)

    def updated(self, later: "Decisions") -> "Decisions":
        """Return these decisions with later ones in their place; unsure undoes nothing."""
        merged = dict(self.by_node)
        for node, one in later.by_node.items():
            if one.decision != "unsure" or node not in merged:
                merged[node] = one
        return Decisions(later.name, merged)

    def to_csv(self) -> str:
        """Return the decisions as CSV that `read_decisions` takes."""
        buffer = io.StringIO()
        rows = [[field.name for field in fields(Decision)], *map(astuple, self.by_node.values())]
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        return buffer.getvalue()


def read_decisions(source: "str | Path | Decisions") -> Decisions:
    """Return the decisions of a table or of a run folder.

    A table has a column of node ids and a column `label`, or is a suspects.csv with a new column `decision` (accept,
    keep, other, drop, unsure), or a verified.csv or nodes_corrected.csv of a run. Empty cells decide nothing. In a run
    folder, what was decided in the review takes the place of what the fit was given.
    """
    if isinstance(source, Decisions):
        return source
    path = Path(source)
    if not path.is_dir():
        return _read_review(path) if path.suffix == ".sqlite" else _read_table(path)
    found = [one for one in (path / VERIFIED_FILE, path / DECISIONS_FILE) if one.is_file()]
    if not found:
        raise UnreadableFileError(f"{path} holds no decisions. Review the run first, or name a table of decisions.")
    decisions = read_decisions(found[0])
    return decisions if len(found) == 1 else decisions.updated(read_decisions(found[1]))


def _read_table(path: Path) -> Decisions:
    with open_database() as db:
        table = open_table(db, "decisions", path)
        names = {name.strip().lower(): name for name in reversed(table.names)}
        node = next((names[name] for name in _NODE_NAMES if name in names), None)
        if CORRECTED_COLUMN in names:  # the user's own table: its ids may be called anything, its labels are old
            names, node = {"label": names[CORRECTED_COLUMN]}, node or table.names[0]
        if node is None or not {"label", "decision"} & {*names} or not {"label", "suggested"} & {*names}:
            raise UnreadableFileError(
                f"{path} must have a column node, and a column label or decision (beside suggested), got "
                f"{', '.join(table.names)}. Edit the suspects.csv of a fit."
            )
        columns: dict[str, str] = {"node": node, **{name: names[name] for name in _USED if name in names}}
        table.fill([*dict.fromkeys(columns.values())])
        chosen = ", ".join(f"coalesce({table.column(name)}::VARCHAR, '')" for name in columns.values())
        found = dict[str, Decision]()
        for row, cells in enumerate(table.all(f"SELECT {chosen} FROM {{table}} ORDER BY _row")):
            key = id_keys(cells[:1])[0]
            texts: dict[str, str] = dict(zip(columns, cells, strict=True))
            decided = _decided(key, texts, table.where)
            if decided is not None and found.setdefault(key, decided) != decided:
                raise UnreadableFileError(
                    f"{path} {table.place(row)} decides on the node '{key}' a second time, "
                    f"'{decided.label or decided.decision}' after another. Keep one row per node."
                )
    return Decisions(path.name, found)


def _decided(node: str, cells: Mapping[str, str], where: str) -> Decision | None:
    """Return what a row decides; None where it decides nothing."""
    decision, label = cells.get("decision", "").lower(), cells.get("label", "")
    given = cells.get("given") or cells.get("observed", "")
    meant = {"accept": cells.get("suggested", ""), "keep": given}.get(decision, "")
    if decision and decision not in DECISIONS:
        raise UnreadableFileError(
            f"{where}: the decision on '{node}' is '{decision}'; it must be one of {', '.join(DECISIONS)}."
        )
    if label and decision != "other" and decision and label != meant and (meant or decision not in VERIFYING):
        raise UnreadableFileError(
            f"{where}: '{node}' has '{decision}' and the label '{label}', too. Empty one of them."
        )
    if decision in {"accept", "other"} and not (label or meant):
        raise UnreadableFileError(f"{where}: '{node}' has '{decision}' and no label. Fill in the cell label.")
    if not (decision or label):
        return None
    kept = (cells.get("by", ""), cells.get("when", ""), given)
    return Decision(node, decision or "other", label or meant, *kept)


def _read_review(path: Path) -> Decisions:
    """Return what people decided together in a review; nodes on which they disagree are left out."""
    merged = merge(one for _, one in decisions_after(path))
    return Decisions(path.name, {node: one for node, one in merged.items() if one is not None})


def decisions_after(path: Path, last: int = 0) -> list[tuple[int, Decision]]:
    """Return the decisions of a review with a number above `last`, in the order they were made."""
    query = 'SELECT number, node, decision, label, by, "when", given FROM decisions WHERE number > ? ORDER BY number'
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=rw", uri=True, timeout=30)) as db:
            return [(number, Decision(*cells)) for number, *cells in db.execute(query, (last,)).fetchall()]
    except sqlite3.Error as error:
        raise UnreadableFileError(
            f"{path} is no readable file of decisions ({error}). Restore it from a copy."
        ) from error


def merge(decisions: Iterable[Decision]) -> dict[str, Decision | None]:
    """Return what people decided together by node, None where they disagree, which decides nothing.

    The last decision of a person counts; who is unsure leaves it to the others.
    """
    last, found = dict[str, dict[str, Decision]](), dict[str, Decision | None]()
    for one in decisions:
        last.setdefault(one.node, {}).pop(one.by, None)
        if one.decision:
            last[one.node][one.by] = one
    for node, by_person in last.items():
        sure = [one for one in by_person.values() if one.decision != "unsure"] or [*by_person.values()]
        if sure:
            agree = len({(one.label, one.decision == "drop") for one in sure}) == 1
            found[node] = sure[-1] if agree else None
    return found


def add_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Append decisions to the file of a review; when this returns, they outlive a crash."""
    columns = 'node, decision, label, by, "when", given'
    try:
        with closing(sqlite3.connect(path, timeout=30)) as db, db:
            db.execute(_TABLE)
            db.executemany(f"INSERT INTO decisions ({columns}) VALUES (?, ?, ?, ?, ?, ?)", map(astuple, decisions))
    except sqlite3.Error as error:
        raise UnwritablePathError(
            f"{path} cannot be written ({error}). Make room, or look at who may write."
        ) from error
