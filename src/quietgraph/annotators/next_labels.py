"""Which nodes to label next, or again, and by whom: uncertain ones that stand for others."""

from collections.abc import Mapping
from typing import Final

import numpy as np
import pandas as pd

from quietgraph.annotators.consensus import Consensus
from quietgraph.annotators.tables import annotator_table
from quietgraph.errors import InvalidParameterError, UnknownNameError
from quietgraph.types import AnyArray

PERSON: Final = "person"  # who is asked where nobody has answered so far
_SHARPNESS: Final = 16.0  # power of the cosine: how fast a label's use falls off with distance
_UNSEEN: Final = 0.2  # fraction of beliefs about which confidence says nothing: a classifier that
# learned the mistakes of an annotator is sure of them
_MOST_NODES: Final = 3_000  # that are compared with one another, the most uncertain ones


def choose_nodes(
    uncertainty: AnyArray,
    embeddings: AnyArray,
    budget: int,
    *,
    allowed: AnyArray,
    cost: AnyArray,
    certain: AnyArray | None = None,
) -> tuple[AnyArray, AnyArray]:
    """Return the nodes whose labels remove the most uncertainty for their cost, best first.

    A label removes the uncertainty of its own node, and of node j the fraction cos(i, j)^16 in the
    embedding, so a node in a dense and uncertain region is worth more than an outlier. Chosen one
    after the other: what the first label removes counts no more for the second, and what labels
    that are certain already have removed counts for none.

    Args:
        uncertainty: Expected error of what is believed of each node [nodes].
        embeddings: Of the nodes [nodes, dim].
        budget: How many to choose.
        allowed: Nodes that may be chosen [nodes] bool.
        cost: Of a label of each node [nodes].
        certain: Nodes whose label is certain [nodes] bool; none without it.

    Returns:
        Nodes, and how much expected error each removes, in nodes.
    """
    order = np.argsort(-uncertainty, kind="stable")
    rows = np.union1d(order[:_MOST_NODES], order[allowed[order]][:_MOST_NODES])
    known = rows[:0] if certain is None else np.flatnonzero(certain)
    unit = embeddings[np.concatenate([rows, known])].astype(np.float64)
    unit = unit - unit[: len(rows)].mean(axis=0)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    use = np.maximum(unit[: len(rows)] @ unit.T, 0.0) ** _SHARPNESS  # [rows, rows and known]
    left = uncertainty[rows] * np.prod(1 - use[:, len(rows) :], axis=1)
    return _choose(use[:, : len(rows)], left, budget, rows, allowed[rows], cost[rows])


def _choose(  # noqa: PLR0917
    use: AnyArray,
    left: AnyArray,
    budget: int,
    rows: AnyArray,
    free: AnyArray,
    cost: AnyArray,
) -> tuple[AnyArray, AnyArray]:
    np.fill_diagonal(use, 1.0)
    gains = use @ left
    chosen, removed = [], []
    for _ in range(min(budget, int(free.sum()))):
        best = int(np.where(free, gains / cost, -np.inf).argmax())
        chosen.append(rows[best])
        removed.append(gains[best])
        free[best] = False
        lost = left * use[best]
        left = left - lost
        gains = gains - use @ lost
    return np.array(chosen, dtype=np.int64), np.array(removed)


def next_labels(
    beliefs: AnyArray,
    embeddings: AnyArray,
    budget: int,
    *,
    classes: AnyArray,
    labelled: AnyArray,
    consensus: Consensus | None = None,
    annotator: str | None = None,
    costs: Mapping[str, float] | None = None,
    among: AnyArray | None = None,
    verified: AnyArray | None = None,
) -> pd.DataFrame:
    """Return a table to be filled in: which nodes to label, or label again, and by whom.

    Columns: node, annotator, label (empty), action, suggested, probability, second, gain (expected
    errors that the label removes), given (answers so far). Each node is asked of the annotator who
    has not answered it and is most accurate beyond chance for the cost.

    Args:
        beliefs: Probabilities of every node's class, all that is known counted [nodes, classes].
        embeddings: Of the nodes [nodes, dim].
        budget: How many labels.
        classes: Label value of each column of `beliefs`.
        labelled: Nodes that have a label already [nodes] bool.
        consensus: Of the annotators so far; None where there were none.
        annotator: Who is to be asked, known or new; without it whoever suits each node best.
        costs: Of an answer by annotator; 1 where it is not said.
        among: Nodes that may be asked about [nodes] bool; all without it.
        verified: Nodes whose label is certain [nodes] bool; none without it.
    """
    _check(budget, costs, consensus, annotator)
    nodes = len(beliefs)
    allowed = np.ones(nodes, dtype=bool) if among is None else among.copy()
    who, price = _whom(consensus, annotator, costs or {}, nodes)
    allowed &= who >= 0
    uncertainty = 1 - (1 - _UNSEEN) * beliefs.max(axis=1)
    chosen, gain = choose_nodes(
        uncertainty, embeddings, budget, allowed=allowed, cost=price, certain=verified
    )
    names = _names(consensus, annotator)
    order = np.argsort(-beliefs[chosen], axis=1, kind="stable")
    given = np.full(nodes, "", dtype=object) if consensus is None else consensus.answers.in_words()
    return pd.DataFrame(
        {
            "node": chosen,
            "annotator": [names[place] for place in who[chosen]],
            "label": "",
            "action": np.where(labelled[chosen], "label again", "label"),
            "suggested": classes[order[:, 0]],
            "probability": beliefs[chosen].max(axis=1),
            "second": classes[order[:, 1]],
            "gain": gain,
            "given": given[chosen],
        }
    )


def _check(
    budget: int,
    costs: Mapping[str, float] | None,
    consensus: Consensus | None,
    annotator: str | None,
) -> None:
    if budget < 1:
        raise InvalidParameterError(f"the budget must be one label or more, got {budget}.")
    known = {*_names(consensus, annotator)}
    for name, cost in (costs or {}).items():
        if name not in known:
            raise UnknownNameError("annotator", name, known)
        if not cost > 0:
            raise InvalidParameterError(f"the cost of '{name}' must be above 0, got {cost:g}.")


def _names(consensus: Consensus | None, annotator: str | None) -> list[str]:
    names = [] if consensus is None else list(consensus.answers.names)
    wanted = annotator or (None if names else PERSON)
    return names if wanted is None or wanted in names else [*names, wanted]


def _whom(
    consensus: Consensus | None, annotator: str | None, costs: Mapping[str, float], nodes: int
) -> tuple[AnyArray, AnyArray]:
    """Return the annotator to ask for each node, -1 where all have answered, and the cost."""
    names = _names(consensus, annotator)
    price = np.array([costs.get(name, 1.0) for name in names])
    merit = np.ones(len(names))
    free = np.ones((nodes, len(names)), dtype=bool)
    if consensus is not None:
        table = annotator_table(consensus).set_index("annotator")
        known = len(consensus.answers.names)
        merit[:known] = table["kappa"][list(consensus.answers.names)].fillna(0.5).clip(lower=1e-3)
        free[consensus.answers.nodes, consensus.answers.annotators] = False
    if annotator is not None:
        free[:, [place for place, name in enumerate(names) if name != annotator]] = False
    value = np.where(free, merit / price, -1.0)
    who = np.where(free.any(axis=1), value.argmax(axis=1), -1)
    # A poor answer removes less: its price in good answers is higher.
    return who, price[who] / merit[who]
