"""What the linear classifier of the low-rank methods reads of each node, and its scores.

Large graphs are computed in blocks, so that no second matrix of all nodes is held.
"""

from collections.abc import Callable
from typing import Final

from torch import Tensor

from quietgraph.classify import centre_rows, is_heterophilous, mean_direction, smooth_rows
from quietgraph.classify.large_attributes import smooth_in_blocks
from quietgraph.classify.smoothing import pagerank_weights
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.base.task import Task
from quietgraph.methods.low_rank.large_features import in_blocks as rows_in_blocks
from quietgraph.methods.low_rank.large_features import is_large, mean_direction_in_blocks
from quietgraph.types import Embeddings, Scores

_SMOOTHING: Final = 10  # propagations, where neighbours are alike


def mean_row(embeddings: Embeddings, *, in_blocks: bool = False) -> Tensor:
    """Return the mean of the unit rows [dim]; of many, or if asked for, in blocks."""
    large = in_blocks or is_large(embeddings)
    return mean_direction_in_blocks(embeddings) if large else mean_direction(embeddings)


def count_propagations(wanted: int | None, task: Task) -> int:
    """Return how often rows are averaged over neighbours; None: 10, or 0 under heterophily."""
    if wanted is not None:
        return wanted
    # Averages over neighbours of other classes carry nothing.
    return 0 if is_heterophilous(task.graph, task.labels) else _SMOOTHING


def classifier_rows(
    embeddings: Embeddings,
    graph: Graph,
    mean: Tensor,
    *,
    steps: int,
    centre: bool,
    in_blocks: bool = False,
) -> Embeddings:
    """Return embeddings centred and averaged over neighbours [nodes, dim].

    Args:
        embeddings: One row per node [nodes, dim].
        graph: Whose neighbours are averaged.
        mean: Of `mean_row` on the graph of the fit [dim].
        steps: Propagations, 0 for none.
        centre: Whether unit rows less the mean are taken.
        in_blocks: Whether blocks of rows are computed though there may be few.
    """
    rows = embeddings
    if not (in_blocks or is_large(embeddings)):
        rows = centre_rows(rows, mean) if centre else rows
        return smooth_rows(normalised_adjacency(graph), rows, steps=steps) if steps else rows
    if centre:
        rows = rows_in_blocks(
            lambda block: centre_rows(embeddings[block], mean), len(embeddings), "centred"
        )
    if not steps:
        return rows
    # The centred rows are a copy, which the smoothed ones may overwrite.
    out = rows if centre else None
    return smooth_in_blocks(graph.adjacency, rows, pagerank_weights(steps), out=out)


def asked_rows(rows: Embeddings, task: Task) -> Embeddings:
    """Return the rows of a large graph that the task asks for, all of a small one [rows, dim]."""
    return rows[task.asked] if task.asked is not None and is_large(rows) else rows


def linear_scores(
    rows: Embeddings,
    features: Callable[[Embeddings, dict[str, Tensor]], Tensor],
    state: dict[str, Tensor],
    name: str = "scores",
    made: Tensor | None = None,
) -> Scores:
    """Return the scores of a fitted linear classifier [nodes, classes].

    Args:
        rows: Of `classifier_rows`.
        features: Computes what the classifier reads from some rows and the state.
        state: Of the fit, with weight and bias.
        name: Of the matrix where processes share it.
        made: What the classifier reads of all nodes, where it is made already.
    """

    def score(some: Embeddings) -> Scores:
        return features(some, state) @ state["weight"] + state["bias"]

    if made is not None:
        return made @ state["weight"] + state["bias"]
    if not is_large(rows):
        return score(rows)
    return rows_in_blocks(lambda block: score(rows[block]), len(rows), name)
