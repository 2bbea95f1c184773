"""The table of suspects: which observed labels are probably wrong, and the evidence."""

from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.errors import UnknownNameError
from quietgraph.graph import CSR
from quietgraph.html import rows_html
from quietgraph.types import UNKNOWN, AnyArray, Embeddings, Labels, Probabilities

VOTERS: Final = ("neighbours", "nearest", "attributes", "own")  # in the order of their columns
COLUMNS: Final = ("plain", "evidence", "cleanlab")
_MOST_VOTERS: Final = 20_000  # labelled nodes among which the nearest are searched, at most
_BLOCK: Final = 1024  # rows compared at once
_SHOWN: Final = 20  # rows in a notebook


def suspect_table(
    posterior: Probabilities,
    labels: Labels,
    classes: AnyArray,
    *,
    flag: bool = True,
) -> pd.DataFrame:
    """Return the labelled nodes, most suspicious first.

    Columns: node, given, suggested, score (posterior of the likeliest other class less that of
    the observed one), p_wrong (1 less the posterior of the observed class), given_probability,
    suggested_probability, is_issue. One posterior decides all: another label is suggested, the
    score is above 0 and p_wrong above 0.5 for every issue, and every label with a likelier other
    class is an issue, unless `flag` is False.

    Args:
        posterior: Of the true class, from evidence that did not use the own label, and from the
            observed label [nodes, classes].
        labels: Observed labels as class codes, -1 unknown [nodes].
        classes: Label value of each class code.
        flag: Whether labels may be called issues; False where the evidence cannot be trusted.
    """
    nodes = np.flatnonzero((labels != UNKNOWN).cpu().numpy())
    probabilities = posterior.cpu().double().numpy()[nodes]
    observed = labels.cpu().numpy()[nodes]
    rows = np.arange(len(nodes))
    others = probabilities.copy()
    others[rows, observed] = -1.0
    rival = others.argmax(axis=1)
    score = others[rows, rival] - probabilities[rows, observed]
    suggested = np.where(score > 0, rival, observed)
    table = pd.DataFrame(
        {
            "node": nodes,
            "given": classes[observed],
            "suggested": classes[suggested],
            "score": score,
            "p_wrong": 1 - probabilities[rows, observed],
            "given_probability": probabilities[rows, observed],
            "suggested_probability": probabilities[rows, suggested],
            "is_issue": (score > 0) & flag,
        }
    )
    return table.iloc[np.argsort(-score, kind="stable")].reset_index(drop=True)


def with_votes(table: pd.DataFrame, votes: dict[str, Tensor], classes: Any) -> pd.DataFrame:
    """Return the suspects with the votes on each: fractions for the observed and suggested label.

    Args:
        table: Of `suspect_table`.
        votes: Fraction of each class by name of the voters [nodes, classes]; NaN without voters.
        classes: Label value of each class code.
    """
    nodes, known = table["node"].to_numpy(), pd.Index(classes)
    codes = {name: known.get_indexer(table[name]) for name in ("given", "suggested")}
    columns = {
        f"{voters}_{name}": fractions.double().numpy()[nodes, codes[name]]
        for voters, fractions in ((name, votes[name]) for name in VOTERS if name in votes)
        for name in codes
    }
    return table.assign(**columns)


def cleanlab_columns(table: pd.DataFrame) -> pd.DataFrame:
    """Return the suspects as cleanlab's users know them, in the order of the nodes.

    Columns: is_label_issue, label_quality (cleanlab's normalised margin: 0 = certainly wrong,
    1 = certainly right), given_label, predicted_label; the index is the node.
    """
    ordered = table.set_index("node").sort_index()
    return pd.DataFrame(
        {
            "is_label_issue": ordered["is_issue"],
            "label_quality": (1 - ordered["score"]) / 2,
            "given_label": ordered["given"],
            "predicted_label": ordered["suggested"],
        }
    )


def for_notebooks(table: pd.DataFrame) -> pd.DataFrame:
    """Return the suspects; a notebook shows the first rows, and what holds of them all.

    It is this table's own way to be shown: a subclass would not compare equal to plain tables, and
    whatever pandas makes of the table is shown as pandas does.
    """
    object.__setattr__(table, "_repr_html_", partial(suspects_html, table))
    return table


def suspects_html(table: pd.DataFrame) -> str:
    """Return the first suspects as HTML, with the count of issues and the notice."""
    first, names = table.head(_SHOWN), ["node", "given", "suggested", "p_wrong"]
    columns = (first[name].tolist() for name in [*names, "is_issue"])
    title = f"{int(table['is_issue'].sum()):,} of {len(table):,} labels are probably wrong"
    notes = [f"The first {len(first)} of {len(table):,} rows."] if len(table) > _SHOWN else []
    notes += [table.attrs["notice"]] if "notice" in table.attrs else []
    return rows_html(title, [*names, "probably wrong"], zip(*columns, strict=True), notes)


def check_columns(name: str) -> None:
    """Raise where a set of columns is asked for that does not exist."""
    if name not in COLUMNS:
        raise UnknownNameError("set of columns", name, COLUMNS)


def neighbour_label_fractions(adjacency: CSR, labels: Labels, num_classes: int) -> Tensor:
    """Return the fraction of each class among a node's labelled neighbours [nodes, classes].

    Neighbours count by the weight of their edge; NaN where none has a label.
    """
    rows, columns = adjacency.rows.cpu(), adjacency.columns.cpu().long()
    neighbour_labels = labels.cpu()[columns]
    known = neighbour_labels != UNKNOWN
    votes = torch.zeros(adjacency.shape[0] * num_classes, dtype=torch.float64)
    places = rows[known] * num_classes + neighbour_labels[known]
    votes.index_add_(0, places, adjacency.values.cpu().double()[known])
    votes = votes.view(-1, num_classes)
    return votes / votes.sum(dim=1, keepdim=True)


def nearest_label_fractions(
    embeddings: Embeddings,
    labels: Labels,
    num_classes: int,
    *,
    generator: torch.Generator,
    nearest: int = 10,
) -> Tensor:
    """Return the fraction of each class among the nearest labelled nodes [nodes, classes].

    Near by cosine; rows of nodes without a label are NaN; no node votes for itself. Above
    20,000 labelled nodes the nearest are searched among that many drawn ones.

    Args:
        embeddings: One row per node [nodes, dim].
        labels: Observed labels as class codes, -1 unknown [nodes].
        num_classes: Number of classes.
        generator: Draws the voters where there are too many.
        nearest: How many vote.
    """
    asked = (labels != UNKNOWN).nonzero().squeeze(1)
    voters = asked
    if len(voters) > _MOST_VOTERS:
        voters = asked[torch.randperm(len(asked), generator=generator)[:_MOST_VOTERS]]
    fractions = torch.full((len(labels), num_classes), torch.nan, dtype=torch.float64)
    count = min(nearest, len(voters) - 1)
    if count < 1:
        return fractions
    directions = F.normalize(embeddings[voters].double(), dim=1)
    votes = F.one_hot(labels[voters], num_classes).double()
    for block in torch.split(asked, _BLOCK):
        asking = F.normalize(embeddings[block].double(), dim=1)
        similarity = asking @ directions.T  # [block, voters]
        similarity[block[:, None] == voters[None]] = -torch.inf
        fractions[block] = votes[similarity.topk(count, dim=1).indices].mean(dim=1)
    return fractions
