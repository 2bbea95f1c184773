"""Graphs that ship with the library: a real one, and a generator of artificial ones."""

from typing import NamedTuple

import numpy as np

from quietgraph.errors import InvalidParameterError
from quietgraph.graph.graph import Graph
from quietgraph.types import IntArray


class LabelledGraph(NamedTuple):
    """A graph and the class of each node."""

    graph: Graph
    classes: IntArray  # [nodes]


def digits_graph() -> LabelledGraph:
    """Return 1,797 scanned digits of scikit-learn as a symmetric graph of 8 nearest neighbours (10 classes)."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    images, classes = load_digits(return_X_y=True)
    # Pixels are whole numbers, so a tree compares exact distances: the same graph everywhere.
    search = NearestNeighbors(n_neighbors=8, algorithm="kd_tree").fit(images)
    neighbours = search.kneighbors_graph().tocoo()
    graph = Graph.from_arrays(images / 16.0, np.vstack([neighbours.row, neighbours.col]))
    return LabelledGraph(graph, classes.astype(np.int64))


def block_model(
    num_nodes: int,
    *,
    num_classes: int = 4,
    num_features: int = 32,
    mean_degree: float = 10.0,
    homophily: float = 0.8,
    signal: float = 1.0,
    generator: np.random.Generator,
) -> LabelledGraph:
    """Return an attributed block-model graph, drawn in time linear in nodes and edges.

    Args:
        num_nodes: Number of nodes, at least one per class.
        num_classes: Number of equally likely classes.
        num_features: Columns of Gaussian features.
        mean_degree: Edges drawn per node, counted at both ends.
        homophily: Fraction of edges drawn inside a class.
        signal: Distance of the class means from 0, in standard deviations of the features.
        generator: Source of all draws.
    """
    if num_nodes < num_classes or num_classes < 1:
        raise InvalidParameterError(f"num_nodes must be at least num_classes ({num_classes}), got {num_nodes}.")
    classes = generator.permutation(np.arange(num_nodes) % num_classes)
    means = generator.standard_normal((num_classes, num_features))
    means *= signal / np.linalg.norm(means, axis=1, keepdims=True)
    features = generator.standard_normal((num_nodes, num_features), dtype=np.float32)
    features += means.astype(np.float32)[classes]
    sources = generator.integers(num_nodes, size=round(num_nodes * mean_degree / 2))
    inside = generator.random(len(sources)) < homophily
    shift = generator.integers(1, max(num_classes, 2), size=len(sources))
    wanted = np.where(inside, classes[sources], (classes[sources] + shift) % num_classes)
    by_class = np.argsort(classes, kind="stable")
    counts = np.bincount(classes, minlength=num_classes)
    starts = counts.cumsum() - counts
    targets = by_class[starts[wanted] + (generator.random(len(sources)) * counts[wanted]).astype(np.int64)]
    return LabelledGraph(Graph.from_arrays(features, np.vstack([sources, targets])), classes)
