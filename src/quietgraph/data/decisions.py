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

from quietgraph.errors import UnreadableFileError
from quietgraph.graph.io.tables import id_keys, open_database, open_table

DECISIONS: Final = ("accept", "keep", "other", "drop", "unsure")
VERIFYING: Final = ("accept", "keep", "other")
DECISIONS_FILE: Final = "decisions.sqlite"
VERIFIED_FILE: Final = "verified.csv"
CORRECTED_COLUMN: Final = "quietgraph_label"  # of nodes_corrected.csv: the label that holds, where it is another one
_NODE_NAMES: Final = ("node", "id", "node_id")
_TABLE: Final = """CREATE TABLE IF NOT EXISTS decisions (number INTEGER PRIMARY KEY, node TEXT NOT NULL,
    decision TEXT NOT NULL, label TEXT NOT NULL, by TEXT NOT NULL, "when" TEXT NOT NULL, observed TEXT NOT NULL)"""


@dataclass(frozen=True)
class Decision:
    """What a person decided about the label of one node.

    Attributes:
        node: Its id as text.
        decision: `accept` the suggested label, `keep` the observed one, `other` label, `drop` the label, or `unsure`,
            which changes nothing; '' takes an earlier one back.
        label: The label that holds from now on; '' where it is dropped or open, and for `keep` where nobody wrote it.
        by: Who decided.
        when: The time, ISO 8601.
        observed: The label that was decided about; '' where there was none.
    """

    node: str
    decision: str
    label: str = ""
    by: str = ""
    when: str = ""
    observed: str = ""


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
        own = CORRECTED_COLUMN in names
        if node is None and own:
            node = table.names[0]
        if node is None or not {"label", "decision", CORRECTED_COLUMN} & {*names}:
            raise UnreadableFileError(
                f"{path} must have a column node and a column label or decision, got {', '.join(table.names)}."
            )
        if "decision" in names and not {"suggested", "label", CORRECTED_COLUMN} & {*names}:
            raise UnreadableFileError(
                f"{path} has decisions but no column suggested that they could accept. Edit the suspects.csv of a fit, or "
                "name the labels in a column label."
            )
        used = ("decision", "label", "suggested", "by", "when", "observed", "given")
        columns = {name: names[name] for name in used if name in names and not (own and name == "label")}
        columns |= {"label": names[CORRECTED_COLUMN]} if own else {}
        table.fill([*dict.fromkeys([node, *columns.values()])], raw=table.names)
        cells = {name: table.arrays(f"SELECT {table.column(title)}::VARCHAR AS v FROM {{table}} ORDER BY _row")[0]
                 for name, title in {"node": node, **columns}.items()}  # fmt: skip
    found = dict[str, Decision]()
    for row, key in enumerate(id_keys(cells["node"])):
        texts = {name: "" if values[row] is None else str(values[row]) for name, values in cells.items()}
        decided = _decided(key, texts, f"{path} {table.place(row) if len(found) < 0 else f'row {row + 1}'}")
        if decided is None:
            continue
        if (known := found.setdefault(key, decided)) != decided:
            raise UnreadableFileError(
                f"{path} row {row + 1} decides on the node '{key}' a second time, '{decided.label or decided.decision}' after "
                f"'{known.label or known.decision}'. Keep one row per node."
            )
    return Decisions(path.name, found)


def _decided(node: str, cells: Mapping[str, str], where: str) -> Decision | None:
    """Return what a row decides; None where it decides nothing."""
    decision, label = cells.get("decision", "").strip().lower(), cells.get("label", "")
    observed, suggested = cells.get("observed") or cells.get("given", ""), cells.get("suggested", "")
    signed = (cells.get("by", ""), cells.get("when", ""), observed)
    if decision and decision not in DECISIONS:
        raise UnreadableFileError(
            f"{where} has the decision '{decision}'; it must be one of {', '.join(DECISIONS)}. Put a label of your own in a "
            "column label."
        )
    meant = {"accept": suggested, "keep": observed, "drop": "", "unsure": ""}.get(decision, label)
    if label and decision and label != meant and (meant or decision not in VERIFYING):
        raise UnreadableFileError(
            f"{where} says {decision} and gives the label '{label}', too. Empty one of the two cells."
        )
    if decision in {"accept", "other"} and not (label or meant):
        raise UnreadableFileError(f"{where} decides on a label that is not there. Fill in the cell label.")
    if label:
        return Decision(node, decision or "other", label, *signed)
    return Decision(node, decision, meant, *signed) if decision else None


def _read_review(path: Path) -> Decisions:
    """Return each node's last decision; two people who decided differently are refused."""
    last = dict[str, dict[str, Decision]]()
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            rows = db.execute(
                'SELECT node, decision, label, by, "when", observed FROM decisions ORDER BY number'
            ).fetchall()
    except sqlite3.Error as error:
        raise UnreadableFileError(
            f"{path} is no readable file of decisions ({error}). Restore it from a copy."
        ) from error
    for row in rows:
        one = Decision(*row)
        last.setdefault(one.node, {}).pop(one.by, None)
        if one.decision:
            last[one.node][one.by] = one
    found = {}
    for node, by_person in last.items():
        sure = [one for one in by_person.values() if one.decision != "unsure"] or [*by_person.values()]
        if len({(one.label, one.decision == "drop") for one in sure}) > 1:
            said = " and ".join(f"{one.by or 'somebody'}: {one.label or one.decision}" for one in sure)
            raise UnreadableFileError(
                f"{path}: people decided differently on the node '{node}' ({said}). Decide again in the review."
            )
        if sure:
            found[node] = sure[-1]
    return Decisions(path.name, found)


def add_decisions(path: Path, decisions: Iterable[Decision]) -> None:
    """Append decisions to the file of a review; when this returns, they outlive a crash."""
    with closing(sqlite3.connect(path, timeout=30)) as db, db:
        db.execute(_TABLE)
        columns = 'node, decision, label, by, "when", observed'
        db.executemany(f"INSERT INTO decisions ({columns}) VALUES (?, ?, ?, ?, ?, ?)", map(astuple, decisions))
