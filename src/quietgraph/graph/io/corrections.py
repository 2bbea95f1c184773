"""Labels that a person decided on: read from a file, put in the place of the given ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np

from quietgraph.errors import UnknownNameError, UnreadableFileError
from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.table import open_table
from quietgraph.types import UNKNOWN, Labels

DECISIONS: Final = ("accept", "keep", "unsure", "drop")
_NODE_NAMES: Final = ("node", "id", "node_id")
_DROP: Final = ""
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Corrections:
    """What is to be changed: a label as text by node id as text; '' forgets the label."""

    path: Path
    labels: Mapping[str, str]

    def apply(self, codes: Labels, classes: _Array, node_ids: Sequence[Any] | _Array) -> Labels:
        """Return the class codes with the corrections in them [nodes].

        Args:
            codes: Observed class of each node, -1 = unknown [nodes].
            classes: Label value of each code [classes].
            node_ids: Of the nodes [nodes].
        """
        known = {str(label): code for code, label in enumerate(classes)}
        places = {id_key(node): place for place, node in enumerate(node_ids)}
        changed = codes.clone()
        for node, label in self.labels.items():
            if node not in places:
                raise UnreadableFileError(
                    f"{self.path} corrects the node '{node}', which is not in the graph. "
                    "Check its id."
                )
            if label != _DROP and label not in known:
                raise UnknownNameError(f"class (node '{node}' of {self.path})", label, known)
            changed[places[node]] = UNKNOWN if label == _DROP else known[label]
        return changed


def read_corrections(path: str | Path) -> Corrections:
    """Return the corrections of a CSV file.

    It has a column `node` and a column `label`, or it is a suspects.csv with a new column
    `decision` (accept the suggested label, keep, unsure, drop the label) or `label`. Where a row
    has both, the label counts; where it has neither, nothing changes.
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
    found: dict[str, str] = {}
    rows = (row for piece in table.pieces() for row in piece.to_pylist())
    for place, row in enumerate(rows):
        cells = {name: _text(row[names[name]]) for name in names}
        label = cells.get("label") or _decided(cells, path, partial(table.place, place))
        key = id_key(row[node])
        if label is None:
            continue
        if found.setdefault(key, label) != label:
            raise UnreadableFileError(
                f"{path} {table.place(place)} gives the node '{key}' a second label, '{label}' "
                f"after '{found[key]}'. Keep one row per node."
            )
    return Corrections(path, found)


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _decided(cells: Mapping[str, str], path: Path, where: Callable[[], str]) -> str | None:
    """Return the label of a decision, '' to forget it, None to leave it."""
    decision = cells.get("decision", "").lower()
    if decision in {"", "keep", "unsure"}:
        return None
    if decision == "drop":
        return _DROP
    if decision == "accept" and cells.get("suggested"):
        return cells["suggested"]
    if decision == "accept":
        raise UnreadableFileError(
            f"{path} {where()} accepts a suggestion that is not there. Fill in suggested, or label."
        )
    raise UnreadableFileError(
        f"{path} {where()} has the decision '{decision}'; it must be one of "
        f"{', '.join(DECISIONS)}. Put a label of your own in a column label."
    )
