"""Decisions of people about labels: read from a file, applied to labels, written to a file.

A decision is a fact that outlives the run it was made in: which node, which label holds from now
on, what was decided, by whom and when. Labels that a person decided on are verified: a fit takes
them as certain and never lists them as suspects again.
"""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from quietgraph.errors import UnknownNameError, UnreadableFileError
from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.spreadsheet import guard
from quietgraph.graph.io.table import open_table
from quietgraph.types import UNKNOWN, AnyArray, BoolArray, Labels

DECISIONS: Final = ("accept", "keep", "other", "drop", "unsure")
VERIFYING: Final = ("accept", "keep", "other")
CHANGING: Final = ("accept", "other")
COLUMNS: Final = ("node", "label", "decision", "by", "when", "observed")
_NODE_NAMES: Final = ("node", "id", "node_id")
_OBSERVED_NAMES: Final = ("observed", "given")


@dataclass(frozen=True)
class LabelDecision:
    """What a person decided about the label of one node.

    Attributes:
        node: Its id as text.
        decision: `accept` the suggested label, `keep` the observed one, `other` label, `drop` the
            label, or `unsure`, which changes nothing.
        label: The label that holds from now on as text; '' where it is dropped or undecided, and
            for `keep` where the file does not say it.
        by: Who decided; '' where nobody said.
        when: The time, ISO 8601; '' where nobody said.
        observed: The label that was decided about; '' where there was none or nobody said.
    """

    node: str
    decision: str
    label: str = ""
    by: str = ""
    when: str = ""
    observed: str = ""


@dataclass(frozen=True)
class Corrections:
    """Decisions by node id, and where they come from."""

    path: Path
    decisions: Mapping[str, LabelDecision]

    def apply(
        self, codes: Labels, classes: AnyArray, node_ids: Sequence[object] | AnyArray
    ) -> Labels:
        """Return the class codes after the decisions [nodes].

        Args:
            codes: Observed class of each node, -1 = unknown [nodes].
            classes: Label value of each code [classes].
            node_ids: Of the nodes [nodes].
        """
        known = {str(label): code for code, label in enumerate(classes)}
        places = {id_key(node): place for place, node in enumerate(node_ids)}
        changed = codes.clone()
        for node, decided in self.decisions.items():
            if node not in places:
                raise UnreadableFileError(
                    f"{self.path} decides on the node '{node}', which is not in the graph. "
                    "Check its id."
                )
            if decided.label and decided.label not in known:
                kind = f"class (node '{node}' of {self.path})"
                raise UnknownNameError(kind, decided.label, known)
            if decided.decision == "drop":
                changed[places[node]] = UNKNOWN
            elif decided.label:
                changed[places[node]] = known[decided.label]
        return changed

    def verified(self, node_ids: Sequence[object] | AnyArray) -> BoolArray:
        """Return which nodes have a label that a person kept or corrected [nodes] bool."""
        verified = {node for node, one in self.decisions.items() if one.decision in VERIFYING}
        return np.array([id_key(node) in verified for node in node_ids], dtype=bool)

    def observed(
        self, codes: Labels, classes: AnyArray, node_ids: Sequence[object] | AnyArray
    ) -> Labels:
        """Return the class codes before the decisions [nodes].

        A table may have been corrected already: then the decision itself knows the label that it is
        about, or nobody does. Classes that no label has any more are unknown.

        Args:
            codes: Observed class of each node in the table, -1 = unknown [nodes].
            classes: Label value of each code [classes].
            node_ids: Of the nodes [nodes].
        """
        known = {str(label): code for code, label in enumerate(classes)}
        before = codes.clone()
        for place, node in enumerate(node_ids):
            decided = self.decisions.get(id_key(node))
            if decided is None:
                continue
            if decided.observed:
                before[place] = known.get(decided.observed, UNKNOWN)
            elif decided.decision in CHANGING and codes[place] == known.get(decided.label):
                before[place] = UNKNOWN
        return before

    def about(
        self, codes: Labels, classes: AnyArray, node_ids: Sequence[object] | AnyArray
    ) -> "Corrections":
        """Return the decisions, each with the label that it is about, as `observed` finds it."""
        if not self.decisions:
            return self
        before, found = self.observed(codes, classes, node_ids).tolist(), dict(self.decisions)
        for node, code in zip(node_ids, before, strict=True):
            one = found.get(id_key(node))
            if one is not None and not one.observed and code != UNKNOWN:
                found[one.node] = replace(one, observed=str(classes[code]))
        return Corrections(self.path, found)

    @property
    def labels(self) -> dict[str, str]:
        """Labels that hold from now on by node; '' where a label is dropped."""
        return {node: one.label for node, one in self.decisions.items() if one.decision != "unsure"}

    def within(self, node_ids: Sequence[object] | AnyArray) -> "Corrections":
        """Return the decisions on nodes of a graph."""
        known = {id_key(node) for node in node_ids}
        return Corrections(
            self.path, {node: one for node, one in self.decisions.items() if node in known}
        )

    def updated(self, later: "Corrections") -> "Corrections":
        """Return these decisions with later ones in their place; unsure undoes nothing."""
        merged = dict(self.decisions)
        for node, decided in later.decisions.items():
            if decided.decision != "unsure" or node not in merged:
                first = merged[node].observed if node in merged else ""
                merged[node] = replace(decided, observed=first or decided.observed)
        return Corrections(later.path, merged)


def read_corrections(path: str | Path) -> Corrections:
    """Return the decisions of a CSV file.

    It has a column `node` and a column `label`, or it is a suspects.csv with a new column
    `decision` (accept, keep, other, drop, unsure) or `label`, or it was exported by a report, a
    review or a fit (node, label, decision, by, when, observed). Where a row has a label, the label
    counts; where it has neither, nothing is decided.
    """
    path = Path(path)
    table = open_table(path, budget_of(str(path), [path], None))
    names = {name.lower(): name for name in table.names}
    node = next((names[name] for name in _NODE_NAMES if name in names), None)
    if node is None or not {"label", "decision"} & names.keys():
        raise UnreadableFileError(
            f"{path} must have a column node and a column label or decision, got "
            f"{', '.join(table.names)}."
        )
    if "decision" in names and "suggested" not in names and "label" not in names:
        raise UnreadableFileError(
            f"{path} has decisions but no column suggested that they could accept. "
            "Edit the suspects.csv of a fit, or name the labels in a column label."
        )
    found: dict[str, LabelDecision] = {}
    rows = (row for piece in table.pieces() for row in piece.to_pylist())
    for place, row in enumerate(rows):
        cells = {name: _text(row[names[name]]) for name in names}
        key, where = id_key(row[node]), partial(table.place, place)
        decided = _decided(key, cells, path, where)
        if decided is None:
            continue
        known = found.setdefault(key, decided)
        if (known.label, known.decision == "drop") != (decided.label, decided.decision == "drop"):
            raise UnreadableFileError(
                f"{path} {where()} decides on the node '{key}' a second time, "
                f"'{decided.label or decided.decision}' after '{known.label or known.decision}'. "
                "Keep one row per node."
            )
    return Corrections(path, found)


def _text(cell: object) -> str:
    return "" if cell is None else str(cell)


def _decided(
    node: str, cells: Mapping[str, str], path: Path, where: Callable[[], str]
) -> LabelDecision | None:
    """Return what a row decides; None where it decides nothing."""
    decision, label = cells.get("decision", "").lower(), cells.get("label", "")
    observed = next((cells[name] for name in _OBSERVED_NAMES if name in cells), "")
    signed = (cells.get("by", ""), cells.get("when", ""), observed)
    if decision and decision not in DECISIONS:
        raise UnreadableFileError(
            f"{path} {where()} has the decision '{decision}'; it must be one of "
            f"{', '.join(DECISIONS)}. Put a label of your own in a column label."
        )
    if label:
        kind = decision if decision in VERIFYING else "other"
        return LabelDecision(node, kind, label, *signed)
    if decision == "other" or (decision == "accept" and not cells.get("suggested")):
        raise UnreadableFileError(
            f"{path} {where()} decides on a label that is not there. Fill in the cell label."
        )
    if decision == "accept":
        return LabelDecision(node, decision, cells["suggested"], *signed)
    if decision == "keep":
        return LabelDecision(node, decision, observed, *signed)
    return LabelDecision(node, decision, "", *signed) if decision else None


def corrections_csv(decisions: Iterable[LabelDecision]) -> str:
    """Return the decisions as CSV that `read_corrections` takes and a spreadsheet can open."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for one in decisions:
        cells = (getattr(one, name) for name in COLUMNS)
        writer.writerow([guard(cell) for cell in cells])
    return buffer.getvalue()
