"""A finished fit as a folder: predictions, suspects, embeddings, model, facts, report."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.bench.protocol import versions
from quietgraph.bench.variant import settings_words
from quietgraph.data.noise_setting import NoiseSetting
from quietgraph.data.observation import Observation, Reference
from quietgraph.errors import UnwritablePathError
from quietgraph.files import whole_file, whole_folder
from quietgraph.graph.io.encoding import ENCODING_FILE
from quietgraph.methods import NodeClassifier, method_name

RUN_FILE = "run.json"
DECISIONS_FILE = "decisions.sqlite"  # kept in the run folder by `quietgraph review`


@dataclass(frozen=True, eq=False)
class FitRun:
    """A fitted model, what it was fitted on, and how it scored.

    Only a dataset by name has reference labels to score against; own data is scored by agreement
    with observed labels that were held out, and nothing else is claimed of it.
    """

    source: str
    noise: NoiseSetting
    model: NodeClassifier
    observation: Observation
    reference: Reference | None  # None for own data, whose true labels nobody knows
    metrics: dict[str, float]
    beside: dict[NodeClassifier, dict[str, float]]  # other models on the same labels
    command: str

    @property
    def wrong(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Labels that are known to be wrong [nodes]; of own data none is known to be."""
        if self.reference is None:
            return np.zeros(self.observation.graph.num_nodes, dtype=bool)
        return self.reference.wrong(self.observation).numpy()

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """Labelled nodes by position, most suspicious first, with the votes of others."""
        return self.model.suspects(columns="evidence")

    def suspects_with_ids(self) -> pd.DataFrame:
        """Return the suspects with the user's own node ids."""
        return self.suspects.assign(node=self.observation.node_ids[self.suspects["node"]])

    def comparison(self) -> list[dict[str, Any]]:
        """Return one row of scores per fitted method, this one first."""
        every = {self.model: self.metrics, **self.beside}
        return [
            {
                "method": method_name(type(model)),
                "settings": self.settings(model),
                "seconds": model.seconds_,
                **scores,
            }
            for model, scores in every.items()
        ]

    def settings(self, model: NodeClassifier) -> str:
        """Return whose settings a fitted model has, in words."""
        return settings_words(model, None if self.reference is None else self.observation.name)

    def suspects_sentence(self) -> str:
        """Return how many labels look wrong, and how many of those that are so are among them."""
        table, wrong = self.suspects, self.wrong
        accused = table[table["suggested"] != table["given"]]
        looks = f"{len(accused)} of {len(table)} labels look wrong"
        if not len(accused) and not wrong.any():
            return f"None of {len(table)} labels looks wrong"
        if not wrong.any():
            return f"{looks}, {int(table['is_issue'].sum())} of them probably are"
        first = table.head(20)
        hits = int(wrong[first["node"]].sum())
        found = int(wrong[accused["node"]].sum())
        return (
            f"{looks}: {found} of the {int(wrong.sum())} "
            f"that are, and {hits} of the {len(first)} most suspicious"
        )

    def facts(self) -> dict[str, Any]:
        """Return everything that made this run and came of it, as plain JSON values."""
        graph, table = self.observation.graph, self.suspects
        understood = self.observation.understood
        return {
            "source": self.source,
            "method": method_name(type(self.model)),
            "parameters": self.model.get_params(),
            "settings": self.settings(self.model),
            "noise": str(self.noise),
            "seed": self.model.seed,
            "command": self.command,
            "data": {
                "nodes": graph.num_nodes,
                "edges": graph.num_edges,
                "features": graph.num_features,
                "classes": len(self.observation.classes),
                "fingerprint": graph.fingerprint,
                "notes": list(graph.notes),
                "understood": understood.to_dict() if understood else None,
            },
            "labels": {
                "given": len(table),
                "look_wrong": int((table["suggested"] != table["given"]).sum()),
                "probably_wrong": int(table["is_issue"].sum()),
                "changes": list(self.observation.changes),
            },
            "metrics": self.metrics,
            "chosen": self.model.notes_,
            "comparison": self.comparison(),
            "seconds_fit": self.model.seconds_,
            "versions": dict(versions()),
        }


def predictions_table(
    probabilities: np.ndarray[Any, Any],
    classes: np.ndarray[Any, Any],
    node_ids: np.ndarray[Any, Any],
) -> pd.DataFrame:
    """Return one row per node: the predicted label, its probability, and all probabilities."""
    best = probabilities.argmax(axis=1)
    chances = {f"p_{name}": probabilities[:, code] for code, name in enumerate(classes)}
    return pd.DataFrame(
        {
            "node": node_ids,
            "predicted": classes[best],
            "probability": probabilities[np.arange(len(best)), best],
            **chances,
        }
    )


def write_table(table: pd.DataFrame, path: Path) -> Path:
    """Write a table as CSV, whole or not at all."""
    with whole_file(path) as scratch:
        table.to_csv(scratch, index=False, float_format="%.6g")
    return path


def write_run(run: FitRun, folder: Path) -> Path:
    """Write the whole run folder; a run of an earlier time there is replaced, nothing else is."""
    if folder.exists() and any(folder.iterdir()) and not (folder / RUN_FILE).exists():
        raise UnwritablePathError(
            f"{folder} holds other files. Choose an empty or new folder with --out."
        )
    if (folder / DECISIONS_FILE).exists():
        raise UnwritablePathError(
            f"{folder} holds decisions of reviewers ({DECISIONS_FILE}), which are not overwritten. "
            "Choose another folder with --out."
        )
    with whole_folder(folder) as scratch:
        _fill(run, scratch)
    return folder


def _fill(run: FitRun, folder: Path) -> None:
    from quietgraph.report.page import render_page  # noqa: PLC0415  (it imports FitRun)

    model = run.model
    node_ids = run.observation.node_ids
    predictions = predictions_table(model.predict_proba(), model.classes_, node_ids)
    write_table(predictions, folder / "predictions.csv")
    write_table(run.suspects_with_ids(), folder / "suspects.csv")
    np.save(folder / "embeddings.npy", model.embeddings_)
    model.save(folder / "model")
    encoding = run.observation.encoding
    if encoding is not None:
        (folder / "model" / ENCODING_FILE).write_text(encoding.to_json(), encoding="utf-8")
    (folder / RUN_FILE).write_text(json.dumps(run.facts(), indent=1), encoding="utf-8")
    (folder / "report.html").write_text(render_page(run), encoding="utf-8")
