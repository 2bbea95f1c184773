"""Which nodes to label next, or again, and by whom: uncertain ones that stand for others."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from quietgraph.annotators.quality import annotator_table
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.types import AnyArray, BoolArray, FloatArray, IntArray

PERSON = "person"  # who is asked where nobody has answered so far
_SHARPNESS = 16.0  # power of the cosine: how fast a label's use falls off with distance
_UNSEEN = 0.2  # share of what is believed that may be wrong whatever it says: learned mistakes are believed firmly
_MOST_NODES = 3_000  # that are compared with one another, the most uncertain ones


def next_labels(
    assessment: Any, budget: int, *, annotator: str | None = None, costs: Mapping[str, float] | None = None
) -> pd.DataFrame:
    """Return a table to be filled in: which nodes to label, or label again, and by whom, the most useful first.

    Columns: node (its id), annotator, label (empty), suggested, probability, second, gain (expected errors that the
    label removes). The filled table goes to `annotate` or `--annotations`.

    Args:
        assessment: What `assess` returns.
        budget: How many labels.
        annotator: Who is to be asked, known or new; without it whoever suits each node best.
        costs: Of an answer by annotator; 1 where it is not said.
    """
    answers, kappa = assessment.data.annotations, dict[str, float]()
    if assessment.consensus is not None:
        table = annotator_table(answers, assessment.consensus).set_index("annotator")
        kappa = {name: float(table["kappa"][name]) for name in answers.names}
    names, value = _value(len(assessment.posterior), kappa, annotator, costs or {})
    if kappa:
        value[answers.nodes, answers.annotators] = 0.0
    return _rank(assessment, budget, names, value)


def next_labels_of_run(folder: str | Path, *, budget: int, costs: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Return `next_labels` by the predictions and embeddings of a run folder."""
    folder = Path(folder)
    try:
        table = pd.read_csv(folder / "predictions.csv", dtype={"id": str})
        embeddings = np.load(folder / "embeddings.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UnreadableFileError(
            f"{folder} is no folder of a run ({error}). Name what `quietgraph fit` wrote."
        ) from error
    columns, kappa = table.drop(columns=["id", "predicted", "probability"]), dict[str, float]()
    if (folder / "annotators.csv").exists():
        quality = pd.read_csv(folder / "annotators.csv")
        kappa = dict(zip(quality["annotator"].astype(str), quality["kappa"], strict=True))
    known = SimpleNamespace(
        data=SimpleNamespace(ids=table["id"].to_numpy()),
        posterior=columns.to_numpy(np.float64),
        classes=columns.columns.to_numpy(),
        embeddings=embeddings,
    )
    return _rank(known, budget, *_value(len(table), kappa, None, costs or {}))


def choose_nodes(
    uncertainty: FloatArray, embeddings: AnyArray, budget: int, *, price: FloatArray, certain: BoolArray
) -> tuple[IntArray, FloatArray]:
    """Return the nodes whose labels remove the most uncertainty for their price, best first, and how much each removes.

    A label removes the uncertainty of its own node, and of node j the share cos(i, j)^16 in the embedding, so a node in
    a dense and uncertain region is worth more than an outlier. Chosen one after the other: what a label removes counts
    no more for the next.

    Args:
        uncertainty: Expected error of what is believed of each node [nodes].
        embeddings: Of the nodes [nodes, dim].
        budget: How many to choose.
        price: Of a label of each node, infinite where it cannot be asked [nodes].
        certain: Nodes whose label is known [nodes].
    """
    rows = np.argsort(np.where(certain, 0.0, -uncertainty), kind="stable")[:_MOST_NODES]
    known = np.flatnonzero(certain)
    unit = np.asarray(embeddings[np.concatenate([rows, known])], dtype=np.float64)
    unit = unit - unit[: len(rows)].mean(axis=0)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    use = np.maximum(unit[: len(rows)] @ unit.T, 0.0) ** _SHARPNESS  # [rows, rows and known]
    left, use = uncertainty[rows] * np.prod(1 - use[:, len(rows) :], axis=1), use[:, : len(rows)]
    np.fill_diagonal(use, 1.0)
    gains, cost, chosen, removed = use @ left, np.where(certain[rows], np.inf, price[rows]), list[int](), list[float]()
    for _ in range(min(budget, int(np.isfinite(cost).sum()))):
        best = int((gains / cost).argmax())
        chosen.append(int(rows[best]))
        removed.append(float(gains[best]))
        lost, cost[best] = left * use[best], np.inf
        left, gains = left - lost, gains - use @ lost
    return np.array(chosen, dtype=np.int64), np.array(removed)


def _rank(known: Any, budget: int, names: AnyArray, value: FloatArray) -> pd.DataFrame:
    """Return the table of `next_labels`, from what an answer of each annotator is worth [nodes, annotators]."""
    if budget < 1:
        raise InvalidParameterError(f"the budget must be one label or more, got {budget}.")
    largest = known.posterior.max(axis=1)
    with np.errstate(divide="ignore"):
        price = 1 / value.max(axis=1)
    doubt = 1 - (1 - _UNSEEN) * largest
    nodes, gain = choose_nodes(doubt, known.embeddings, budget, price=price, certain=largest == 1)
    order = np.argsort(-known.posterior[nodes], axis=1, kind="stable")
    columns = {
        "node": known.data.ids[nodes],
        "annotator": names[value[nodes].argmax(axis=1)],
        "label": "",
        "suggested": known.classes[order[:, 0]],
        "probability": largest[nodes],
        "second": known.classes[order[:, 1]],
        "gain": gain,
    }
    return pd.DataFrame(columns)


def _value(
    nodes: int, kappa: dict[str, float], annotator: str | None, costs: Mapping[str, float]
) -> tuple[AnyArray, FloatArray]:
    """Return names of annotators, and what an answer of each is worth for its cost [nodes, annotators].

    Their kappa over the cost; 0 of others than the one who is to be asked.
    """
    names = [*kappa, *({annotator or PERSON} - {*kappa} if annotator or not kappa else ())]
    for name, cost in costs.items():
        if name not in names:
            raise UnknownNameError("annotator", name, names)
        if not cost > 0:
            raise InvalidParameterError(f"the cost of '{name}' must be above 0, got {cost:g}.")
    merit = [np.clip(kappa.get(name, 1.0), 1e-3, 1.0) / costs.get(name, 1.0) for name in names]
    asked = [annotator in {None, name} for name in names]
    return np.array(names, dtype=object), np.tile(np.where(asked, merit, 0.0), (nodes, 1))
