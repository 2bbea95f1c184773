"""The user's own table of nodes with corrected labels, and why each was corrected."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.data.observation import Observation
from quietgraph.graph.io.corrections import LabelDecision
from quietgraph.graph.io.nodes import OUR_COLUMNS
from quietgraph.graph.io.raw import id_key
from quietgraph.report.evidence import Evidence
from quietgraph.types import AnyArray, Labels

WHY_COLUMN: Final = f"{OUR_COLUMNS}why"
NOT_REACHED: Final = "no label: no path leads here from a labelled node"


def corrected_table(
    evidence: Evidence,
    decisions: Mapping[str, LabelDecision],
    suspects: pd.DataFrame,
    *,
    method: str,
    is_trusted: bool = True,
    unreached: Sequence[object] = (),
) -> pd.DataFrame:
    """Return the table of nodes with the labels that hold now, and a column that says why.

    Labels that people decided on are as they decided. Of the other ones, those that are probably
    wrong by the model are as it suggests. They stay where its predictions cannot be trusted, where
    somebody was unsure, and where the class has too few labels to be learned.

    Args:
        evidence: Of the run; without a table of its own, the result has a node and a label column.
        decisions: Of people, by node id.
        suspects: With the user's own ids; the rows with `is_issue` are corrected.
        method: Name of the method, for the reasons.
        is_trusted: False where the verdict on the predictions is `do not trust`.
        unreached: Ids of nodes to which no path leads from a labelled node.
    """
    table, labels = _start(evidence)
    keys = [id_key(node) for node in evidence.observation.node_ids]
    before = dict(zip(keys, table[labels], strict=True))
    after, why = dict(before), dict.fromkeys(keys, "")
    for key in map(id_key, unreached):
        why[key] = NOT_REACHED
    for key, (label, reason) in _of_annotators(evidence, before).items():
        after[key], why[key] = label, reason
    asked = suspects["is_issue"] if is_trusted else suspects["suggested"] != suspects["given"]
    for row in suspects[asked].itertuples():
        key = id_key(row.node)
        why[key] = _why_it_stays(str(row.given), evidence, method, is_trusted=is_trusted)
        if not why[key]:
            after[key] = str(row.suggested)
            odds = f"{row.p_wrong:.2f}".replace("1.00", "> 0.99")  # never certain
            why[key] = (
                f"corrected by {method}, not reviewed; it was {row.given}, "
                f"wrong with probability {odds}"
            )
    for key, one in decisions.items():
        if key in before:
            is_decided = one.decision == "drop" or one.label
            after[key] = one.label if is_decided else before[key]
            why[key] = _reason(one, before[key])
    table[labels] = [after[key] for key in keys]
    table[WHY_COLUMN] = [why[key] for key in keys]
    return table


def _why_it_stays(given: str, evidence: Evidence, method: str, *, is_trusted: bool) -> str:
    """Return why the method must not correct a label; nothing where it may."""
    if not is_trusted:
        return f"not corrected: the verdict on {method} is 'do not trust'"
    count = evidence.observation.rare_classes.get(given)
    if count is None:
        return ""
    labels = "1 label has" if count == 1 else f"{count} labels have"
    return f"not corrected: {labels} this class, too few for {method} to know it; look at it"


def _start(evidence: Evidence) -> tuple[pd.DataFrame, str]:
    """Return the user's own table, or one of nodes and labels, and the name of its labels."""
    if evidence.table is not None and evidence.label_column in evidence.table.columns:
        return evidence.table.copy(), str(evidence.label_column)
    observation = evidence.observation
    known = observation.known
    if observation.annotations is not None:
        known = known & (observation.verified | ~observation.annotations.answered)
    labels = np.where(known.numpy(), _names(observation, observation.codes), "")
    return pd.DataFrame({"node": observation.node_ids, "label": labels}), "label"


def _names(observation: Observation, codes: Labels) -> AnyArray:
    """Return the names of classes; that of an unknown one has no meaning [nodes]."""
    named = np.array([str(name) for name in observation.classes], dtype=object)
    return np.asarray(named[codes.numpy()])


def _of_annotators(evidence: Evidence, before: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return consensus label and reason of the nodes that annotators answered, by node id.

    Only of those whose label in the user's own table is another one, or none.
    """
    observation = evidence.observation
    answers = observation.annotations
    if answers is None:
        return {}
    held, votes = (_names(observation, codes) for codes in (observation.codes, answers.majority()))
    found = {}
    for place in (answers.answered & ~observation.verified).nonzero().flatten().tolist():
        key, label = id_key(observation.node_ids[place]), held[place]
        if label != before[key]:
            said = "" if votes[place] == label else f"; most said {votes[place]}"
            was = f"; it was {before[key]}" if before[key] else ""
            found[key] = (label, f"consensus of the annotators and the graph{said}{was}")
    return found


def _reason(one: LabelDecision, before: str) -> str:
    signed = f" by {one.by}" if one.by else ""
    signed += f" on {one.when[:10]}" if one.when else ""
    if one.decision == "unsure":
        return f"unsure{signed}"
    if one.decision == "drop":
        return f"dropped{signed}; it was {before}"
    before = one.observed or before
    if one.label in {"", before}:
        return f"kept{signed}"
    return f"corrected{signed}; it was {before or 'unknown'}"
