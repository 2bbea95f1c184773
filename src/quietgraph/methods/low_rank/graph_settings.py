"""Settings of the low-rank encoder that follow from the graph: views and number of epochs."""

import math
from typing import Final

from quietgraph.graph import Graph

VIEWS: Final = {
    "edge_drop_1": 0.2,
    "edge_drop_2": 0.4,
    "feature_mask_1": 0.3,
    "feature_mask_2": 0.4,
    "temperature": 0.5,
}
_DENSE_VIEWS: Final = {
    "edge_drop_1": 0.5,
    "edge_drop_2": 0.6,
    "feature_mask_1": 0.1,
    "feature_mask_2": 0.1,
    "temperature": 0.2,
}
EPOCHS: Final = 60
_DENSE_FROM: Final = 15.0  # mean degree from which a graph is dense
_SMALL: Final = 2700  # nodes up to which the usual epochs are enough
_LONGEST: Final = 2.25  # times the usual epochs at most


def graph_settings(graph: Graph) -> dict[str, float]:
    """Return rates and temperature of the views, and the epochs.

    Weak views collapse the embeddings of dense graphs, and larger graphs need more steps.
    """
    growth = min(_LONGEST, max(1.0, math.sqrt(graph.num_nodes / _SMALL)))
    return {**(_DENSE_VIEWS if is_dense(graph) else VIEWS), "epochs": round(EPOCHS * growth)}


def is_dense(graph: Graph) -> bool:
    """Whether nodes have so many neighbours that views must be strong, 15 or more in the mean."""
    return 2 * graph.num_edges >= _DENSE_FROM * graph.num_nodes
