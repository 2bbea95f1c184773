"""What reviewers decide about the labels of a run: checked, appended, exported, and what more of it would buy."""

import datetime
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import pandas as pd

from quietgraph.assessment.verdict import DISTRUST
from quietgraph.data.decisions import (
    DECISIONS,
    DECISIONS_FILE,
    VERIFIED_FILE,
    Decision,
    Decisions,
    add_decisions,
    decisions_after,
    merge,
    read_decisions,
)
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.graph.io.tables import id_keys
from quietgraph.report.folder import SUSPECTS_FILE
from quietgraph.report.run import Facts, read_facts

CONFLICT: Final = "conflict"
_LONGEST_NAME: Final = 80
_NO_TEXT: Final = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # kinds of characters that no name holds


@dataclass(frozen=True, eq=False)
class ReviewedRun:
    """A run and the decisions on it.

    Attributes:
        folder: That `quietgraph fit` wrote.
        facts: Of the run.
        suspects: Every label that nobody had verified before the fit, by node id.
    """

    folder: Path
    facts: Facts
    suspects: pd.DataFrame

    @property
    def path(self) -> Path:
        """The file of decisions."""
        return self.folder / DECISIONS_FILE

    @cached_property
    def _labels(self) -> Mapping[str, tuple[str, str]]:
        """Given and suggested label by node id."""
        return dict(
            zip(self.suspects.index, zip(self.suspects["given"], self.suspects["suggested"], strict=True), strict=True)
        )

    def decide(self, node: str, decision: str, label: str, by: str) -> None:
        """Append a decision; when this returns, it outlives a crash.

        Args:
            node: Id of a suspect.
            decision: accept, keep, other, drop, unsure, or '' to take the last one back.
            label: The label that holds; counts for `other` alone.
            by: Who decides.
        """
        if node not in self._labels:
            raise InvalidParameterError(f"the node '{node}' is no suspect of this run.")
        if decision not in {"", *DECISIONS}:
            raise UnknownNameError("decision", decision, DECISIONS)
        given, suggested = self._labels[node]
        held = {"accept": suggested, "keep": given, "other": label}.get(decision, "")
        if decision == "other" and held not in map(str, self.facts.assessment["classes"]):
            raise InvalidParameterError(f"'{held}' is no label of this run.")
        when = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        add_decisions(self.path, [Decision(node, decision, held, check_name(by), when, given)])

    def after(self, last: int = 0) -> list[tuple[int, Decision]]:
        """Return the decisions with a number above `last`, in the order they were made."""
        return decisions_after(self.path, last) if self.path.is_file() else []

    def decided(self) -> dict[str, Decision | None]:
        """Return what people decided together by node, None where they disagree."""
        return merge(one for _, one in self.after())

    def outlook(self) -> str:
        """Return what was found, and how much more reviewing would buy."""
        if self.facts.assessment["verdict"]["level"] == DISTRUST:
            return "How many of the other labels are wrong is not known: see the verdict."
        made = {node: one for node, one in self.decided().items() if one is not None and one.decision != "unsure"}
        is_done, odds = self.suspects.index.isin(list(made)), self.suspects["p_wrong"]
        left, rest = self.suspects["is_suspect"] & ~is_done, ~self.suspects["is_suspect"] & ~is_done
        changed = sum(one.label != one.given for one in made.values())
        return (
            f"You decided on {len(made):,} of {len(odds):,} labels and changed {changed:,}; "
            f"{odds[is_done].sum():.0f} were expected to be wrong. "
            f"Of the {int(left.sum()):,} flagged ones that are left about {odds[left].sum():.0f} are wrong, "
            f"of the {int(rest.sum()):,} others about {odds[rest].sum():.0f}."
        )


def open_run(folder: Path) -> ReviewedRun:
    """Return a run folder that `quietgraph fit` wrote, to be reviewed."""
    facts, path = read_facts(folder), folder / SUSPECTS_FILE
    try:
        table = pd.read_csv(
            path, dtype=str, keep_default_na=False, usecols=["id", "given", "suggested", "p_wrong", "is_suspect"]
        )
        table = table.assign(
            p_wrong=table["p_wrong"].astype(float), is_suspect=table["is_suspect"].str.lower() == "true"
        )
    except (OSError, ValueError) as error:
        raise UnreadableFileError(f"{path} is not what the fit wrote ({error}). Restore it, or fit again.") from error
    return ReviewedRun(folder, facts, table.set_index(pd.Index(id_keys(table["id"]))))


def export_decisions(folder: Path) -> tuple[str, Counter[str]]:
    """Return all decisions on a run as CSV for `fit --verified`, earlier ones too, and the new ones by kind.

    Those on which reviewers disagree are counted as `conflict` and decide nothing, as in `fit --verified RUN`.
    """
    run = open_run(folder)
    held = any((folder / name).is_file() for name in (DECISIONS_FILE, VERIFIED_FILE))
    decisions = read_decisions(folder) if held else Decisions(str(folder), {})
    return decisions.to_csv(), Counter(CONFLICT if one is None else one.decision for one in run.decided().values())


def check_name(name: str) -> str:
    """Return a reviewer's name without spaces around it; what no file can hold is refused."""
    name = name.strip()
    if not 0 < len(name) <= _LONGEST_NAME or any(unicodedata.category(one) in _NO_TEXT for one in name):
        raise InvalidParameterError(
            f"a reviewer's name must be plain text of 1 to {_LONGEST_NAME} characters. Type it again."
        )
    return name
