"""A run folder opened for review: its page, its suspects, and the decisions as corrections."""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from quietgraph.errors import UnreadableFileError
from quietgraph.report.fit_run import RUN_FILE
from quietgraph.report.page_data import script_json
from quietgraph.review.decisions import Decision, latest_choices, merge

PAGE_FILE: Final = "report.html"
_COLUMNS: Final = ("node", "given", "suggested", "score", "decision", "reviewers")
_DATA: Final = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)
_REVIEW: Final = '<script type="application/json" id="review">{}</script>'


@dataclass(frozen=True)
class Suspect:
    """A label that looks wrong, as the page shows it."""

    given: str
    suggested: str
    score: float


@dataclass(frozen=True, eq=False)
class ReviewRun:
    """The page of a run, and its suspects by node id."""

    page: str
    suspects: Mapping[str, Suspect]

    def page_for(self, reviewer: str) -> str:
        """Return the page that sends its decisions to the server it came from.

        Args:
            reviewer: The name that a new reviewer's page starts with; '' makes it ask.
        """
        settings = script_json({"reviewer": reviewer})
        return self.page.replace(_REVIEW.format("null"), _REVIEW.format(settings))

    def corrections(self, decisions: Iterable[Decision]) -> tuple[str, Counter[str]]:
        """Return the merged decisions as CSV for `fit --fix`, and how many there are of each kind.

        A conflict is written as unsure: it changes nothing until the reviewers agree.
        """
        buffer, counts = io.StringIO(), Counter[str]()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(_COLUMNS)
        choices = latest_choices(decisions)
        for node, suspect in self.suspects.items():
            if node not in choices:
                continue
            merged = merge(choices[node])
            counts[merged] += 1
            decision = "unsure" if merged == "conflict" else merged
            said = "; ".join(f"{name}: {choice}" for name, choice in choices[node].items())
            row = (node, suspect.given, suspect.suggested, suspect.score, decision, said)
            writer.writerow(row)
        return buffer.getvalue(), counts


def open_run(folder: Path) -> ReviewRun:
    """Return the run of a folder that `quietgraph fit` wrote."""
    try:
        facts = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
        page = (folder / PAGE_FILE).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UnreadableFileError(
            f"{folder} is no run folder: {RUN_FILE} or {PAGE_FILE} cannot be read. "
            "Name a folder that `quietgraph fit` wrote."
        ) from error
    found = _DATA.search(page)
    if found is None or _REVIEW.format("null") not in page:
        raise UnreadableFileError(
            f"{folder / PAGE_FILE} was written by an earlier quietgraph and cannot be reviewed. "
            f"Fit again: {facts.get('command', 'quietgraph fit')}"
        )
    return ReviewRun(page, _suspects(json.loads(found[1])))


def _suspects(data: Mapping[str, Any]) -> dict[str, Suspect]:
    points, rows, classes = data["points"], data["suspects"], data["classes"]
    return {
        points["id"][row]: Suspect(
            classes[points["given"][row]], classes[rows["suggested"][row]], score
        )
        for row, score in enumerate(rows["score"])
    }
