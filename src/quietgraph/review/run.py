"""A run folder opened for review: its page, its suspects, and the decisions made on them."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from quietgraph.errors import UnreadableFileError
from quietgraph.files import regular_file
from quietgraph.graph.io.corrections import (
    VERIFYING,
    Corrections,
    LabelDecision,
    corrections_csv,
    read_corrections,
)
from quietgraph.graph.io.limits import budget_of
from quietgraph.graph.io.raw import id_key
from quietgraph.graph.io.table import Table, open_table
from quietgraph.report.run_files import (
    DECISIONS_FILE,
    EVIDENCE_FILE,
    PAGE_FILE,
    SUSPECTS_FILE,
    VERIFIED_FILE,
    next_command,
    read_facts,
)
from quietgraph.review.decisions import Decision, DecisionStore, latest_choices, merge

_OBSERVED: Final = ("observed", "given")  # names of the column through the releases


@dataclass(frozen=True)
class Suspect:
    """A labelled node of suspects.csv."""

    observed: str
    suggested: str


@dataclass(frozen=True, eq=False)
class ReviewRun:
    """What a review needs of a run folder.

    Attributes:
        folder: Where the run is.
        page: Its report.
        suspects: Every labelled node that nobody verified before the fit, by id.
        classes: Names of all classes.
        evidence: Columns and neighbours of a node as JSON text, by id.
        earlier: Decisions that the fit was given already.
        command: The command that made the run.
    """

    folder: Path
    page: str
    suspects: Mapping[str, Suspect]
    classes: tuple[str, ...]
    evidence: Mapping[str, str]
    earlier: Corrections
    command: str

    def label_after(self, node: str, choice: str, label: str) -> str:
        """Return the label that holds after a choice; '' where none does.

        Args:
            node: Id of a suspect.
            choice: Of the reviewer.
            label: What the reviewer named; counts for `other` only.
        """
        suspect = self.suspects[node]
        return {"accept": suspect.suggested, "keep": suspect.observed, "other": label}.get(
            choice, ""
        )

    def decided(self, decisions: Iterable[Decision]) -> dict[str, LabelDecision]:
        """Return what all reviewers decided together, by node; disagreement is a `conflict`."""
        found = {
            node: merge({name: self._complete(one) for name, one in choices.items()})
            for node, choices in latest_choices(decisions).items()
        }
        return {
            node: replace(one, observed=self.suspects[node].observed)
            if node in self.suspects
            else one
            for node, one in found.items()
        }

    def export(self, decisions: Iterable[Decision]) -> tuple[str, Counter[str]]:
        """Return all decisions as CSV for `fit --verified`, and the new ones by kind.

        A conflict is written as unsure: it changes nothing until the reviewers agree.
        """
        found = self.decided(decisions)
        settled = {
            node: replace(one, decision="unsure") if one.decision == "conflict" else one
            for node, one in found.items()
        }
        every = self.earlier.updated(Corrections(self.folder, settled))
        text = corrections_csv(every.decisions.values())
        return text, Counter(one.decision for one in found.values())

    def next_command(self, file: str) -> str:
        """Return the command that fits again with the decisions of a file."""
        return next_command(self.command, file)

    def _complete(self, decision: Decision) -> Decision:
        """Return the decision with its label; stores of quietgraph 0.1 hold none."""
        if decision.choice in VERIFYING and not decision.label and decision.node in self.suspects:
            label = self.label_after(decision.node, decision.choice, "")
            return replace(decision, label=label)
        return decision


def open_run(folder: Path) -> ReviewRun:
    """Return the run of a folder that `quietgraph fit` wrote."""
    facts = read_facts(folder)
    try:
        page = regular_file(folder / PAGE_FILE).read_text(encoding="utf-8")
        lines = regular_file(folder / EVIDENCE_FILE).read_text(encoding="utf-8")
        evidence = {str(json.loads(line)["node"]): line for line in lines.splitlines()}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableFileError(
            f"{folder} was written by an earlier quietgraph and cannot be reviewed. "
            f"Fit again: {facts.command}"
        ) from error
    earlier, suspects = _earlier(folder), _suspects(folder)
    return ReviewRun(folder, page, suspects, facts.classes, evidence, earlier, facts.command)


def read_decisions(path: Path) -> Corrections:
    """Return the decisions of a file, or all that a run folder holds, later ones first.

    Args:
        path: A CSV file (see `read_corrections`), or a run folder: what its fit was given, what
            was written into its suspects.csv, and what its reviewers decided.
    """
    if not path.is_dir():
        return read_corrections(path)
    found = _earlier(path)
    suspects = path / SUSPECTS_FILE
    if suspects.is_file() and {"decision", "label"} & {*_open(suspects).names}:
        found = found.updated(read_corrections(suspects))
    if (path / DECISIONS_FILE).is_file():
        run = ReviewRun(path, "", _suspects(path), (), {}, found, "")
        decided = run.decided(DecisionStore(path / DECISIONS_FILE).after())
        settled = {node: one for node, one in decided.items() if one.decision != "conflict"}
        found = found.updated(Corrections(path, settled))
    if not found.decisions:
        raise UnreadableFileError(
            f"{path} holds no decisions about labels. Make some with: quietgraph review {path}"
        )
    return Corrections(path, found.decisions)


def _earlier(folder: Path) -> Corrections:
    path = folder / VERIFIED_FILE
    return read_corrections(path) if path.is_file() else Corrections(path, {})


def _suspects(folder: Path) -> dict[str, Suspect]:
    path = folder / SUSPECTS_FILE
    table = _open(path)
    observed = next((name for name in _OBSERVED if name in table.names), None)
    if observed is None or not {"node", "suggested"} <= {*table.names}:
        raise UnreadableFileError(
            f"{path} must have the columns node, {_OBSERVED[0]} and suggested, got "
            f"{', '.join(table.names)}. Fit again."
        )
    rows = (row for piece in table.pieces() for row in piece.to_pylist())
    return {id_key(row["node"]): Suspect(row[observed], row["suggested"]) for row in rows}


def _open(path: Path) -> Table:
    if not path.is_file():
        raise UnreadableFileError(f"there is no file {path}. Fit again.")
    return open_table(path, budget_of(str(path), [path], None))
