"""What the linear classifier of the low-rank methods reads of each node, and its scores.

Large graphs are computed in blocks, so that no second matrix of all nodes is held.
"""

from collections.abc import Callable

from torch import Tensor

from quietgraph.classify import centre_rows, mean_direction, smooth_rows
from quietgraph.embed import normalised_adjacency
from quietgraph.graph import Graph
from quietgraph.methods.low_rank.large_features import (
    in_blocks,
    is_large,
    mean_direction_in_blocks,
    smooth_in_blocks,
)
from quietgraph.types import Embeddings, Scores


def mean_row(embeddings: Embeddings) -> Tensor:
    """Return the mean of the unit rows [dim]."""
    large = is_large(embeddings)
    return mean_direction_in_blocks(embeddings) if large else mean_direction(embeddings)


def classifier_rows(
    embeddings: Embeddings, graph: Graph, mean: Tensor, *, steps: int, centre: bool
) -> Embeddings:
    """Return embeddings centred and averaged over neighbours [nodes, dim].

    Args:
        embeddings: One row per node [nodes, dim].
        graph: Whose neighbours are averaged.
        mean: Of `mean_row` on the graph of the fit [dim].
        steps: Propagations, 0 for none.
        centre: Whether unit rows less the mean are taken.
    """
    rows = embeddings
    if not is_large(embeddings):
        rows = centre_rows(rows, mean) if centre else rows
        return smooth_rows(normalised_adjacency(graph), rows, steps=steps) if steps else rows
    if centre:
        rows = in_blocks(lambda block: centre_rows(embeddings[block], mean), len(embeddings))
    return smooth_in_blocks(graph.adjacency, rows, steps=steps) if steps else rows


def linear_scores(
    rows: Embeddings,
    features: Callable[[Embeddings, dict[str, Tensor]], Tensor],
    state: dict[str, Tensor],
) -> Scores:
    """Return the scores of a fitted linear classifier [nodes, classes].

    Args:
        rows: Of `classifier_rows`.
        features: Computes what the classifier reads from some rows and the state.
        state: Of the fit, with weight and bias.
    """

    def score(some: Embeddings) -> Scores:
        return features(some, state) @ state["weight"] + state["bias"]

    return in_blocks(lambda block: score(rows[block]), len(rows)) if is_large(rows) else score(rows)
