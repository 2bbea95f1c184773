"""The folder of a run: checked before the fit, written whole after it, never lost."""

import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.annotators.tables import consensus_table
from quietgraph.classify.verdict import DISTRUST
from quietgraph.embed.scale.distributed import current_world
from quietgraph.errors import UnwritablePathError
from quietgraph.files import whole_file, whole_folder
from quietgraph.graph.io.corrections import corrections_csv
from quietgraph.graph.io.encoding import ENCODING_FILE
from quietgraph.graph.io.spreadsheet import guard_table
from quietgraph.methods import method_name
from quietgraph.report.corrected import corrected_table
from quietgraph.report.earlier import has_decisions, keep_decisions
from quietgraph.report.fit_run import FitRun
from quietgraph.report.page import render_page
from quietgraph.report.run_files import (
    ANNOTATIONS_FILE,
    ANNOTATORS_FILE,
    CONSENSUS_FILE,
    CORRECTED_FILE,
    DECISIONS_FILE,
    DISAGREEMENTS_FILE,
    EMBEDDINGS_FILE,
    EVIDENCE_FILE,
    PAGE_FILE,
    PREDICTIONS_FILE,
    RUN_FILE,
    SAMPLE_FILE,
    SUSPECTS_FILE,
    VERIFIED_FILE,
)
from quietgraph.report.shared_rows import predictions_table, write_rows

_BYTES_PER_NODE: Final = 3_000  # of embeddings, predictions and tables, roughly
_BYTES_PER_CELL: Final = 10  # of a probability in a table
_LEAST_ROOM: Final = 20_000_000


def free_folder(folder: Path) -> Path:
    """Return the folder, or the first one with a number after its name that does not exist."""
    number = 2
    found = folder
    while found.exists():
        found = folder.with_name(f"{folder.name}-{number}")
        number += 1
    return found


def check_folder(folder: Path, *, overwrite: bool, nodes: int = 0, classes: int = 0) -> None:
    """Raise where a run could not be written to a folder, before anything is computed.

    Args:
        folder: Where the run is to be.
        overwrite: Whether a run that is there may be replaced.
        nodes: Number of nodes, for the room that is needed.
        classes: Number of classes.
    """
    try:
        holds = folder.exists() and any(folder.iterdir())
    except OSError as error:
        raise UnwritablePathError(
            f"{folder} cannot be a run folder: {error.strerror}. Choose another one with --out."
        ) from error
    if holds and not (folder / RUN_FILE).exists():
        raise UnwritablePathError(
            f"{folder} holds other files. Choose an empty or new folder with --out."
        )
    if holds and not overwrite:
        raise UnwritablePathError(
            f"{folder} holds a run already. Choose another folder with --out, or replace the run "
            "with --overwrite, which keeps the decisions made in it."
        )
    has_decisions(folder / DECISIONS_FILE)  # a damaged store is refused
    _check_room(folder, _LEAST_ROOM + nodes * (_BYTES_PER_NODE + classes * _BYTES_PER_CELL))


def _check_room(folder: Path, needed: int) -> None:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for place in [folder.parent, *([folder] if folder.exists() else [])]:
            with tempfile.TemporaryFile(dir=place):  # a run that is replaced is written to as well
                free = shutil.disk_usage(place).free
    except OSError as error:
        raise UnwritablePathError(
            f"{folder} cannot be written: {error.strerror}. Choose a writable folder with --out."
        ) from error
    if free < needed:
        raise UnwritablePathError(
            f"{folder} has room for {free / 1e6:,.0f} MB, the run needs about {needed / 1e6:,.0f}. "
            "Make room, or choose another disk with --out."
        )


def write_run(run: FitRun, folder: Path, *, overwrite: bool = False) -> Path:
    """Write the whole run folder; return it.

    All processes of a world call it together: each writes the predictions and embeddings of its
    rows, the first one everything else.

    Args:
        run: What to write.
        folder: Where to.
        overwrite: Whether a run that is there may be replaced; its decisions are kept.
    """
    world = current_world()
    if not world.is_first:
        _write_rows(run, Path(world.agree(None)))
        world.wait()
        return folder
    check_folder(folder, overwrite=overwrite)
    with ExitStack() as after, whole_folder(folder) as scratch:
        if run.is_in_parts:
            _write_rows(run, Path(world.agree(str(scratch))))
        else:
            _write_predictions(run, scratch)
        _fill(run, scratch)
        after.enter_context(keep_decisions(folder, scratch))
    world.wait()
    return folder


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV in one step; no cell of it is a formula to a spreadsheet."""
    with whole_file(path) as scratch:
        guard_table(table).to_csv(scratch, index=False, float_format="%.6g")
    return path


def _write_rows(run: FitRun, folder: Path) -> None:
    """Write the rows of this process, and wait for those of the others."""
    whole = run.whole
    if whole is None:
        write_rows(run.model, run.observation.node_ids, folder)
    else:
        write_rows(whole.model, whole.observation.node_ids, folder)
    current_world().wait()


def _write_predictions(run: FitRun, folder: Path) -> None:
    model, ids = run.model, run.observation.node_ids
    predictions = predictions_table(model.predict_proba(), model.classes_, ids)
    write_table(predictions, folder / PREDICTIONS_FILE)
    np.save(folder / EMBEDDINGS_FILE, model.embeddings_)


def _fill(run: FitRun, folder: Path) -> None:
    model, suspects = run.model, run.suspects_with_ids()
    write_table(suspects, folder / SUSPECTS_FILE)
    decisions = run.decisions.decisions
    corrected = corrected_table(
        run.evidence_of_sample,
        decisions,
        suspects,
        method=method_name(type(model)),
        is_trusted=model.quality().verdict != DISTRUST,
        unreached=run.unreached(),
    )
    write_table(corrected, folder / CORRECTED_FILE)
    _write_text(folder / EVIDENCE_FILE, "".join(f"{line}\n" for line in run.evidence_lines))
    if decisions:
        _write_text(folder / VERIFIED_FILE, corrections_csv(decisions.values()))
    _write_annotators(run, folder)
    if run.is_in_parts:
        write_table(pd.DataFrame({"node": run.observation.node_ids}), folder / SAMPLE_FILE)
    model.save(folder / "model")
    encoding = run.observation.encoding
    if encoding is not None:
        _write_text(folder / "model" / ENCODING_FILE, encoding.to_json())
    _write_text(folder / RUN_FILE, json.dumps(run.facts(), indent=1))
    _write_text(folder / PAGE_FILE, render_page(run))


def _write_annotators(run: FitRun, folder: Path) -> None:
    """Write who gave which answer, how good they are, where they disagree, and the consensus."""
    consensus = run.model.consensus_
    if consensus is None:
        return
    node_ids = run.observation.node_ids
    write_table(consensus.answers.to_frame(node_ids), folder / ANNOTATIONS_FILE)
    write_table(run.model.annotators(), folder / ANNOTATORS_FILE)
    write_table(run.model.disagreements(), folder / DISAGREEMENTS_FILE)
    write_table(consensus_table(consensus, node_ids), folder / CONSENSUS_FILE)


def _write_text(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="", errors="replace") as file:
        file.write(text)
