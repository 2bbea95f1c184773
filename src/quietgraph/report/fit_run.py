"""A finished fit as a folder: predictions, suspects, embeddings, model, facts, report."""

import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.bench.datasets import Dataset
from quietgraph.bench.noise import Observation
from quietgraph.bench.protocol import versions
from quietgraph.errors import UnwritablePathError
from quietgraph.methods import NodeClassifier, method_name

RUN_FILE = "run.json"


@dataclass(frozen=True, eq=False)
class FitRun:
    """A fitted model, what it was fitted on, and how it scored against the clean labels."""

    source: str
    noise: str
    model: NodeClassifier
    dataset: Dataset
    observation: Observation
    metrics: dict[str, float]
    beside: dict[NodeClassifier, dict[str, float]]  # other models on the same labels
    command: str

    def comparison(self) -> list[dict[str, Any]]:
        """Return one row of scores per fitted method, this one first."""
        every = {self.model: self.metrics, **self.beside}
        return [
            {"method": method_name(type(model)), "seconds": model.seconds_, **scores}
            for model, scores in every.items()
        ]

    def wrong_labels(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return which labelled nodes were given a wrong label on purpose [nodes]."""
        given, clean = self.observation.labels.numpy(), self.dataset.clean_labels.numpy()
        return np.asarray((given >= 0) & (given != clean))

    def suspects_sentence(self) -> str:
        """Return how well the list of suspects finds the labels made wrong."""
        table = self.model.suspects()
        wrong = self.wrong_labels()
        accused = table[table["score"] > 0]
        if not wrong.any():
            return f"{len(accused)} of {len(table)} labels look wrong"
        first = table.head(20)
        hits = int(wrong[first["node"]].sum())
        found = int(wrong[accused["node"]].sum())
        return (
            f"{len(accused)} of {len(table)} labels look wrong: {found} of the {int(wrong.sum())} "
            f"that are, and {hits} of the {len(first)} most suspicious"
        )

    def facts(self) -> dict[str, Any]:
        """Return everything that made this run and came of it, as plain JSON values."""
        graph = self.dataset.graph
        return {
            "source": self.source,
            "method": method_name(type(self.model)),
            "parameters": self.model.get_params(),
            "noise": self.noise,
            "seed": self.model.seed,
            "command": self.command,
            "data": {
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "features": graph.num_features,
                "classes": len(self.dataset.classes),
                "fingerprint": graph.fingerprint,
                "notes": list(graph.notes),
            },
            "metrics": self.metrics,
            "chosen": self.model.notes_,
            "comparison": self.comparison(),
            "seconds_fit": self.model.seconds_,
            "versions": dict(versions()),
        }


def predictions_table(
    probabilities: np.ndarray[Any, Any], classes: np.ndarray[Any, Any]
) -> pd.DataFrame:
    """Return one row per node: the predicted label, its probability, and all probabilities."""
    best = probabilities.argmax(axis=1)
    rows = np.arange(len(best))
    chances = {f"p_{name}": probabilities[:, code] for code, name in enumerate(classes)}
    return pd.DataFrame(
        {
            "node": rows,
            "predicted": classes[best],
            "probability": probabilities[rows, best],
            **chances,
        }
    )


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch = path.with_name(f".{path.name}.part")
        table.to_csv(scratch, index=False, float_format="%.6g")
        scratch.replace(path)
    except OSError as error:
        raise UnwritablePathError(f"{path} cannot be written: {error}.") from error
    return path


def write_run(run: FitRun, folder: Path) -> Path:
    """Write the whole run folder; a run of an earlier time there is replaced, nothing else is."""
    if folder.exists() and any(folder.iterdir()) and not (folder / RUN_FILE).exists():
        raise UnwritablePathError(
            f"{folder} holds other files. Choose an empty or new folder with --out."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise UnwritablePathError(f"{folder} cannot be written: {error}.") from error
    try:
        _fill(run, scratch)
        os.chmod(scratch, 0o755)  # noqa: S103  (mkdtemp makes private folders; results are shared)
        if folder.exists():
            shutil.rmtree(folder)
        scratch.rename(folder)
    except OSError as error:
        raise UnwritablePathError(f"{folder} cannot be written: {error}.") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _fill(run: FitRun, folder: Path) -> None:
    from quietgraph.report.page import render_page  # noqa: PLC0415  (it imports FitRun)

    model = run.model
    predictions = predictions_table(model.predict_proba(), model.classes_)
    write_table(predictions, folder / "predictions.csv")
    write_table(model.suspects(), folder / "suspects.csv")
    np.save(folder / "embeddings.npy", model.embeddings_)
    model.save(folder / "model")
    (folder / RUN_FILE).write_text(json.dumps(run.facts(), indent=1), encoding="utf-8")
    (folder / "report.html").write_text(render_page(run), encoding="utf-8")
