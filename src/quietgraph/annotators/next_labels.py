"""Which nodes to label next, or again, and by whom: uncertain ones that stand for others."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from quietgraph.annotators.quality import annotator_table
from quietgraph.errors import InvalidParameterError, UnknownNameError, UnreadableFileError
from quietgraph.types import AnyArray, BoolArray, FloatArray, IntArray

_READ: Any = {"dtype": {"id": str, "node": str, "annotator": str}, "keep_default_na": False}
_Crowd: TypeAlias = tuple[pd.DataFrame, pd.DataFrame]  # annotators as `annotator_table` gives them, and their answers
PERSON = "person"  # who is asked where nobody has answered so far
_SHARPNESS = 16.0  # power of the cosine: how fast a label's use falls off with distance
_UNSEEN = 0.2  # share of what is believed that may be wrong whatever it says: learned mistakes are believed firmly
_MOST_NODES = 3_000  # that are compared with one another, the most uncertain ones


def next_labels(assessment: Any, budget: int, *, costs: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Return a table to be filled in: which nodes to label, or label again, and by whom, the most useful first.

    Columns: node (its id), annotator, label (empty), suggested, probability, second, gain (expected errors that the
    label removes). The filled table goes to `annotate` or `--annotations`.

    Args:
        assessment: What `assess` returns.
        budget: How many labels.
        costs: Of an answer by annotator; 1 where it is not said.
    """
    data, consensus = assessment.data, assessment.consensus
    beliefs = pd.DataFrame(assessment.posterior, data.ids, assessment.classes)
    crowd = consensus and (annotator_table(data.annotations, consensus), data.annotations.to_frame(data.ids))
    return _rank(beliefs, assessment.embeddings, budget, costs or {}, crowd)


def next_labels_of_run(folder: str | Path, *, budget: int, costs: Mapping[str, float] | None = None) -> pd.DataFrame:
    """Return `next_labels` by the tables and embeddings of a run folder."""
    folder, crowd = Path(folder), None
    try:
        beliefs = pd.read_csv(folder / "predictions.csv", index_col="id", **_READ)
        embeddings = np.load(folder / "embeddings.npy", mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as why:
        raise UnreadableFileError(f"{folder} is no folder of a run ({why}). Name what `quietgraph fit` wrote.") from why
    if (folder / "annotators.csv").exists():
        crowd = pd.read_csv(folder / "annotators.csv", **_READ), pd.read_csv(folder / "annotations.csv", **_READ)
    return _rank(beliefs.drop(columns=["predicted", "probability"]), embeddings, budget, costs or {}, crowd)


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
        price: Of a label, infinite where nobody can be asked [nodes].
        certain: Nodes whose label is known [nodes].
    """
    rows = np.argsort(np.where(certain, 0.0, -uncertainty), kind="stable")[:_MOST_NODES]
    unit = np.asarray(embeddings[np.concatenate([rows, np.flatnonzero(certain)])], dtype=np.float64)
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


def _rank(
    beliefs: pd.DataFrame, embeddings: AnyArray, budget: int, costs: Mapping[str, float], crowd: _Crowd | None
) -> pd.DataFrame:
    """Return the table of `next_labels` from probabilities by id and class, annotators and their answers."""
    worth = pd.Series({PERSON: 1.0}) if crowd is None else crowd[0].set_index("annotator")["kappa"].clip(1e-3, 1.0)
    for name, cost in costs.items():
        if name not in worth.index:
            raise UnknownNameError("annotator", name, [*worth.index])
        if not cost > 0:
            raise InvalidParameterError(f"the cost of '{name}' must be above 0, got {cost:g}.")
        worth[name] /= cost
    value = np.tile(worth.to_numpy(), (len(beliefs), 1))  # of an answer for its cost [nodes, annotators]
    if crowd is not None:  # nobody is asked twice
        done = crowd[1].set_index(["node", "annotator"]).index
        value[
            beliefs.index.get_indexer(done.get_level_values(0)), worth.index.get_indexer(done.get_level_values(1))
        ] = 0
    posterior, classes = beliefs.to_numpy(np.float64), beliefs.columns.to_numpy()
    largest, best = posterior.max(axis=1), value.max(axis=1)
    price = np.divide(1, best, out=np.full_like(best, np.inf), where=best > 0)
    doubt = 1 - (1 - _UNSEEN) * largest
    nodes, gain = choose_nodes(doubt, embeddings, budget, price=price, certain=largest == 1)
    order = np.argsort(-posterior[nodes], axis=1, kind="stable")
    columns = {
        "node": beliefs.index.to_numpy()[nodes],
        "annotator": worth.index.to_numpy()[value[nodes].argmax(axis=1)],
        "label": "",
        "suggested": classes[order[:, 0]],
        "probability": largest[nodes],
        "second": classes[order[:, 1]],
        "gain": gain,
    }
    return pd.DataFrame(columns)
