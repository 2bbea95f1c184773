"""What is said of a run: its facts, the labels to review in their order, and the sentences about them."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pydantic import BaseModel, ConfigDict, ValidationError

from quietgraph.assessment.assess import Assessment
from quietgraph.assessment.verdict import DISTRUST
from quietgraph.data.data import Truth
from quietgraph.errors import UnreadableFileError

RUN_FILE: Final = "run.json"
_LONGEST_QUEUE, _SHORTEST_QUEUE, _DOUBT = 5_000, 50, 0.1
_MOST_SENTENCES, _MOST_NAMED, _MOSTLY = 5, 3, 0.75


class Facts(BaseModel):
    """What run.json holds.

    Attributes:
        version: Of quietgraph.
        options: Those of the command that were set; paths are relative to the run folder.
        method: Name, parameters and notes.
        data: Sizes, fingerprint and what was understood.
        assessment: The verdict and what led to it.
        scores: Of each fitted method on the true labels of a dataset.
        seconds: That the whole command took.
        written: Digest of every file of the run, to see what people changed.
    """

    model_config = ConfigDict(extra="ignore")
    version: str
    options: dict[str, Any]
    method: dict[str, Any]
    data: dict[str, Any]
    assessment: dict[str, Any]
    scores: list[dict[str, Any]] = []
    seconds: float | None = None
    written: dict[str, str] = {}


def read_facts(folder: Path) -> Facts:
    """Return the facts of a run folder."""
    try:
        return Facts.model_validate_json((folder / RUN_FILE).read_bytes())
    except (OSError, ValidationError) as error:
        raise UnreadableFileError(
            f"{folder} is no run folder: {RUN_FILE} cannot be read. Name a folder that `quietgraph fit` wrote."
        ) from error


def is_trusted(assessment: Assessment) -> bool:
    """Return whether anything can be said of single labels."""
    return assessment.verdict.level != DISTRUST


def to_review(assessment: Assessment) -> pd.DataFrame:
    """Return all unverified labels as `suspects` does, the flagged ones first, then the uncertain ones."""
    table = assessment.suspects()
    order = np.lexsort((-table["p_wrong"].to_numpy(), ~table["is_suspect"].to_numpy(dtype=bool)))
    return table.iloc[order].reset_index(drop=True)


def length_of_queue(table: pd.DataFrame) -> int:
    """Return how many rows of `to_review` the page shows: flagged ones and those in doubt."""
    doubtful = int((table["is_suspect"] | (table["p_wrong"] >= _DOUBT)).sum())
    return min(len(table), max(_SHORTEST_QUEUE, doubtful), _LONGEST_QUEUE)


def suspects_sentence(assessment: Assessment, truth: Truth | None = None) -> str:
    """Return how many labels are probably wrong and, where it is known, how many of the wrong ones are found."""
    if not is_trusted(assessment):
        return "No label is called wrong, since the model cannot tell wrong labels from right ones here."
    table = to_review(assessment)
    flagged = table[table["is_suspect"]]
    labels = "labels" if assessment.consensus is None else "majority labels"
    sentence = f"{len(flagged):,} of {len(table):,} {labels} are probably wrong"
    if truth is not None and (wrong := truth.wrong(assessment.data).numpy()).any():
        hits = int(wrong[flagged["node"]].sum())
        sentence += (
            f": {hits:,} of the {int(wrong[table['node']].sum()):,} that are, {len(flagged) - hits:,} by mistake"
        )
    return f"{sentence}."


def mistake_sentences(assessment: Assessment) -> list[str]:
    """Return which label stands for which other class how often, most frequent first.

    Of 273 'garden' about 110 are kitchen or tools.
    """
    if not is_trusted(assessment):
        return []
    counts, names = assessment.noise.counts, [str(one) for one in assessment.classes]
    total, right = counts.sum(axis=1), counts.diagonal()
    sentences = list[str]()
    for given in np.argsort(right - total, kind="stable")[:_MOST_SENTENCES].tolist():
        wrong = total[given] - right[given]
        if round(wrong) < 1:
            break
        others = np.where(np.arange(len(names)) == given, 0.0, counts[given])
        order = np.argsort(-others, kind="stable")
        held = np.cumsum(others[order]) / wrong
        most = int(np.searchsorted(held, _MOSTLY)) + 1
        named = [names[code] for code in order[: min(most, _MOST_NAMED)]]
        words = f"{', '.join(named[:-1])} or {named[-1]}" if named[:-1] else named[0]
        start = f"Of {round(total[given]):,} '{names[given]}' about {round(wrong):,}"
        are = "is" if round(wrong) == 1 else "are"
        sentences.append(
            f"{start} {are} {words}." if most <= _MOST_NAMED else f"{start} {are} wrong, most often {words}."
        )
    return sentences
