"""The folder of a run: checked before the fit, written whole after it, its decisions never lost."""

import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from quietgraph import __version__
from quietgraph.annotators.quality import annotator_table, disagreement_table
from quietgraph.assessment.assess import Assessment
from quietgraph.data.data import Truth
from quietgraph.data.decisions import VERIFIED_FILE, Decisions
from quietgraph.data.noise_setting import parse_noise
from quietgraph.data.tables import OURS
from quietgraph.errors import QuietgraphError, UnwritablePathError
from quietgraph.files import write_folder
from quietgraph.methods.base import NodeClassifier
from quietgraph.methods.registry import method_name
from quietgraph.report.corrected import write_corrected
from quietgraph.report.evidence import Evidence
from quietgraph.report.page import page_parts, render_page
from quietgraph.report.run import RUN_FILE, Facts, read_facts, to_review
from quietgraph.types import AnyArray, FloatArray

__all__ = ["check_folder", "free_folder", "next_command", "predictions_table", "read_facts", "write_run"]
PAGE_FILE: Final = "report.html"
SUSPECTS_FILE: Final = "suspects.csv"
_PATHS: Final = ("source", "nodes", "edges", "annotations", "verified")
_DECIDED: Final = {"id", "node", "node_id", "given", "observed", "suggested", "decision", "label", "by", "when"}
_EARLIER: Final = "earlier-"


def free_folder(folder: Path) -> Path:
    """Return the folder, or the first one with a number after its name that does not exist."""
    number, found = 2, folder
    while found.exists():
        found, number = folder.with_name(f"{folder.name}-{number}"), number + 1
    return found


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise where a run could not be written to a folder; nothing is created."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        if not (folder / RUN_FILE).is_file():
            raise UnwritablePathError(f"{folder} holds other files. Choose an empty or new folder with --out.")
        if not overwrite:
            raise UnwritablePathError(
                f"{folder} holds a run already. Choose another folder with --out, or replace it with --overwrite, "
                "which keeps the decisions made in it."
            )
    parent = next(one for one in folder.absolute().parents if one.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        raise UnwritablePathError(f"{folder} cannot be written. Choose a folder with --out that you may write to.")


def write_run(
    folder: Path,
    *,
    model: NodeClassifier,
    assessment: Assessment,
    options: Mapping[str, Any],
    truth: Truth | None = None,
    scores: Sequence[Mapping[str, Any]] = (),
    seconds: Callable[[], float] | None = None,
    decisions: Decisions | None = None,
    overwrite: bool = False,
) -> None:
    """Write the whole run folder, or nothing.

    Args:
        folder: Where to. A run that is replaced is kept in its `earlier-1` if people changed anything in it.
        model: The fitted model.
        assessment: Of it.
        options: Of the command that were set, by name.
        truth: True labels, where they are known.
        scores: Of each fitted method, this one first.
        seconds: Gives the seconds since the command began.
        decisions: Of people, that the fit was given.
        overwrite: Whether a run that is there may be replaced.
    """
    check_folder(folder, overwrite=overwrite)
    data, evidence, name = assessment.data, Evidence(assessment), method_name(type(model))
    earlier = _next_earlier(folder)
    with write_folder(folder, marker=RUN_FILE, earlier=earlier) as scratch:
        table = predictions_table(assessment.probabilities, assessment.classes, data.ids)
        table.to_csv(scratch / "predictions.csv", index=False, float_format="%.6g")
        suspects_table(assessment, evidence).to_csv(scratch / SUSPECTS_FILE, index=False, float_format="%.6g")
        write_corrected(assessment, scratch, in_place=bool(options.get("correct_in_place")), method=name)
        np.save(scratch / "embeddings.npy", assessment.embeddings)
        model.save(scratch / "model")
        if decisions is not None:
            (scratch / VERIFIED_FILE).write_text(decisions.to_csv(), encoding="utf-8")
        _write_annotators(assessment, scratch)
        graph = data.graph
        sizes = {"nodes": graph.num_nodes, "edges": graph.num_edges, "features": graph.num_features}
        parts = page_parts(model, assessment, evidence, truth)
        facts = Facts(
            version=__version__,
            options=_portable(options, folder, is_own=data.source is not None),
            method={"name": name, "parameters": model.get_params(), "notes": model.fitted_.notes},
            data={"name": data.name, **sizes, "fingerprint": graph.fingerprint, "understood": data.describe()},
            assessment=assessment.to_dict(),
            scores=[dict(one) for one in scores],
            seconds=None if seconds is None else round(seconds(), 1),
        )
        (scratch / PAGE_FILE).write_text(render_page(facts, parts), encoding="utf-8")
        facts = facts.model_copy(update={"written": _digests(scratch)})
        (scratch / RUN_FILE).write_text(json.dumps(facts.model_dump(), indent=1, default=str), encoding="utf-8")
    _tidy_earlier(folder, earlier)


def next_command(folder: Path, facts: Facts | None = None, *, verified: Path) -> str:
    """Return the command that fits again with the decisions of a file or run, to be typed where we are."""
    options = dict((facts or read_facts(folder)).options)
    is_own, source, words = options.pop("own", False), options.pop("source", None), list[str]()
    for name, value in options.items():
        if name in {"out", "overwrite", "json_", "verified"}:
            continue
        if name in _PATHS:
            value = _each(value, lambda path: _here(folder, path))  # noqa: PLW2901
        if name == "noise":
            value = _noise(value, lambda path: _here(folder, path))  # noqa: PLW2901
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
            continue
        pairs = [f"{key}={one}" for key, one in value.items()] if isinstance(value, dict) else value
        for one in pairs if isinstance(pairs, list | tuple) else [pairs]:
            words += [flag, str(one)]
    if source is not None:
        words.insert(0, _here(folder, source) if is_own else source)
    return shlex.join(["quietgraph", "fit", *words, "--verified", str(verified)])


def predictions_table(probabilities: FloatArray, classes: AnyArray, ids: AnyArray) -> pd.DataFrame:
    """Return id, predicted class, its probability, and the probability of every class under its name."""
    best = probabilities.argmax(axis=1)
    answers = pd.DataFrame({"id": ids, "predicted": classes[best], "probability": probabilities.max(axis=1)})
    return pd.concat([answers, pd.DataFrame(probabilities, columns=[str(one) for one in classes])], axis=1)


def suspects_table(assessment: Assessment, evidence: Evidence) -> pd.DataFrame:
    """Return the labels to review with an empty column for decisions and the user's own columns."""
    table = to_review(assessment)
    table.insert(len(table.columns), "decision", "")
    if (own := evidence.table) is not None:
        rows = own.iloc[table["node"].to_numpy()].reset_index(drop=True)
        rows.columns = pd.Index([f"own_{name}" if _is_ours(str(name)) else str(name) for name in rows])
        table = pd.concat([table, rows], axis=1)
    return table.drop(columns="node")


def _is_ours(name: str) -> bool:
    """Return whether `read_decisions` would take a column of this name for one of ours."""
    return name.strip().lower() in {*_DECIDED, "p_wrong", "is_suspect"} or name.strip().lower().startswith(OURS)


def _write_annotators(assessment: Assessment, folder: Path) -> None:
    """Write who gave which answer, how good they are, and where they disagree; nothing without annotators."""
    answers, consensus = assessment.data.annotations, assessment.consensus
    if answers is None or consensus is None:
        return
    answers.to_frame(assessment.data.ids).to_csv(folder / "annotations.csv", index=False)
    annotator_table(answers, consensus).to_csv(folder / "annotators.csv", index=False, float_format="%.4g")
    disagreement_table(answers).to_csv(folder / "disagreements.csv", index=False, float_format="%.4g")


def _portable(options: Mapping[str, Any], folder: Path, *, is_own: bool) -> dict[str, Any]:
    """Return options whose paths are relative to the run folder, so that it holds no path of this machine."""

    def relative(path: str) -> str:
        return os.path.relpath(path, folder)

    found: dict[str, Any] = {"own": True} if is_own else {}
    for name, value in options.items():
        if name in _PATHS and (is_own or name != "source"):
            found[name] = _each(value, relative)
        elif name != "out":
            found[name] = _noise(value, relative) if name == "noise" else value
    return found


def _each(value: Any, change: Callable[[str], str]) -> Any:
    return [change(str(one)) for one in value] if isinstance(value, list | tuple) else change(str(value))


def _noise(text: str, change: Callable[[str], str]) -> str:
    """Return a noise setting with the path in it changed, where it has one."""
    setting = parse_noise(text)
    return text if setting.path is None else str(setting.model_copy(update={"path": change(setting.path)}))


def _here(folder: Path, path: str) -> str:
    """Return a path relative to the run folder as it is typed where we are."""
    found = os.path.normpath(folder.resolve() / path)
    return min(found, os.path.relpath(found), key=len)


def _digests(folder: Path) -> dict[str, str]:
    """Return the digest of every file directly in a folder, by name."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.name != RUN_FILE:
            with path.open("rb") as file:
                found[path.name] = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
    return found


def _next_earlier(folder: Path) -> str:
    """Return the name under which a run that is replaced is kept."""
    return next(name for number in count(1) if not (folder / (name := f"{_EARLIER}{number}")).exists())


def _tidy_earlier(folder: Path, name: str) -> None:
    """Move the earlier runs of a replaced one beside it; remove it if nobody changed or decided anything in it."""
    old = folder / name
    if not old.is_dir():
        return
    if not any(old.iterdir()):  # an empty folder was there
        old.rmdir()
        return
    for path in old.glob(f"{_EARLIER}*"):
        path.rename(folder / path.name)
    try:
        is_untouched = read_facts(old).written == _digests(old) and not (old / VERIFIED_FILE).exists()
    except QuietgraphError:
        return
    if is_untouched and [path.name for path in old.iterdir() if path.is_dir()] == ["model"]:
        shutil.rmtree(old)
