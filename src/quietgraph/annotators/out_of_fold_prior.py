"""What attributes and neighbours say of a node without its own label, in closed form."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import log_softmax

from quietgraph.classify.label_issues.pooling import pool_evidence
from quietgraph.classify.label_issues.suspects import neighbour_label_fractions
from quietgraph.classify.smoothing import attribute_directions, attributes_of
from quietgraph.graph import Graph
from quietgraph.types import UNKNOWN, AnyArray, Embeddings, Labels, Mask

_DIRECTIONS: Final = 256  # of the smoothed attributes that are kept
_PENALTIES: Final = 10.0 ** np.arange(-2, 2.1, 0.5)  # in units of the mean squared length of rows
_SHARPNESS: Final = 2.0 ** np.arange(0, 6)
_LEAST: Final = 1e-6


@dataclass(frozen=True, eq=False)
class LeaveOneOutRidge:
    """Ridge regression onto one-hot labels whose leave-one-out predictions cost one product.

    Attributes:
        rows: The rows less their weighted mean, along the principal directions [rows, rank].
        squares: Weighted sum of the squares of each column of `rows` [rank].
        weights: How much each row counts in the fit [rows].
    """

    rows: AnyArray
    squares: AnyArray
    weights: AnyArray

    @classmethod
    def of(cls, rows: AnyArray, weights: AnyArray | None = None) -> "LeaveOneOutRidge":
        """Decompose the rows once, for any labels.

        Args:
            rows: To predict from [rows, columns].
            weights: How much each row counts; 0 for one that is only predicted [rows].
        """
        weights = np.ones(len(rows)) if weights is None else weights
        centred = rows - weights @ rows / weights.sum()
        scaled = np.sqrt(weights)[:, None] * centred
        narrow = centred.shape[1] <= centred.shape[0]
        values, vectors = np.linalg.eigh(scaled.T @ scaled if narrow else scaled @ scaled.T)
        kept = values > 1e-9 * max(float(values[-1]), 1e-30)
        squares, vectors = values[kept], vectors[:, kept]
        along = vectors if narrow else scaled.T @ (vectors / np.sqrt(squares))
        return cls(centred @ along, squares, weights)

    def left_out(self, targets: AnyArray, penalty: float) -> AnyArray:
        """Return what each row is predicted by a fit to the other rows [rows, classes].

        The residual of the fit to all rows, over 1 less the leverage of the row.

        Args:
            targets: To be predicted [rows, classes].
            penalty: In units of the mean squared length of the rows.
        """
        total = self.weights.sum()
        mean, unit = self.weights @ targets / total, self.squares.sum() / total
        inverse = 1 / (self.squares + penalty * unit)
        products = self.rows.T @ (self.weights[:, None] * (targets - mean))
        fitted = mean + self.rows @ (inverse[:, None] * products)
        leverage = self.weights * (np.square(self.rows) @ inverse + 1 / total)
        return np.asarray(targets - (targets - fitted) / np.maximum(1 - leverage, _LEAST)[:, None])

    def log_probabilities(self, labels: AnyArray, num_classes: int) -> AnyArray:
        """Return log probabilities of each row's classes by the other rows [rows, classes].

        Penalty and sharpness are those under which the labels are likeliest, by weight.
        """
        targets = np.eye(num_classes)[labels] - 1 / num_classes
        rows = np.arange(len(labels))
        options = (
            log_softmax(sharpness * scores, axis=1)
            for scores in (self.left_out(targets, penalty) for penalty in _PENALTIES)
            for sharpness in _SHARPNESS
        )
        return np.asarray(max(options, key=lambda logs: float(self.weights @ logs[rows, labels])))


class OutOfFoldPrior:
    """Classifiers on a graph that learn from any labels of the same nodes.

    Args:
        graph: With attributes.
        known: Nodes that have labels [nodes].
        seed: Of random projections.
    """

    def __init__(self, graph: Graph, known: Mask, *, seed: int) -> None:
        own, smooth = attribute_views(graph, seed=seed)
        self.adjacency, self.known = graph.adjacency, known
        views = {"attributes": smooth, "own": own}
        self.rows = {name: rows[known].double().numpy() for name, rows in views.items()}
        self.ridges: dict[str, LeaveOneOutRidge] = {}

    def __call__(
        self, labels: Labels, num_classes: int, weights: AnyArray | None = None
    ) -> AnyArray:
        """Return probabilities of the nodes' classes without their own labels [nodes, classes].

        Own attributes, smoothed ones and the labels of neighbours are pooled with weights that fit
        the labels; rows of other nodes are 0.

        Args:
            labels: Class codes of the known nodes [nodes].
            num_classes: Number of classes.
            weights: How much each label counts; nothing is learned from one of weight 0 [nodes].
        """
        labels = labels.masked_fill(~self.known, UNKNOWN)
        counted = labels if weights is None else labels.masked_fill(_are_zero(weights), UNKNOWN)
        sources = {"neighbours": neighbour_label_fractions(self.adjacency, counted, num_classes)}
        for name in self.rows:
            logs = self._ridge(name, weights).log_probabilities(
                labels[self.known].numpy(), num_classes
            )
            sources[name] = torch.zeros(len(labels), num_classes, dtype=torch.float64)
            sources[name][self.known] = torch.from_numpy(np.exp(logs))
        return pool_evidence(sources, labels, weights).probabilities.numpy()

    def _ridge(self, name: str, weights: AnyArray | None) -> LeaveOneOutRidge:
        if weights is not None:
            return LeaveOneOutRidge.of(self.rows[name], weights[self.known.numpy()])
        if name not in self.ridges:
            self.ridges[name] = LeaveOneOutRidge.of(self.rows[name])
        return self.ridges[name]


def _are_zero(weights: AnyArray) -> Mask:
    return torch.from_numpy(weights == 0)


def attribute_views(graph: Graph, *, seed: int) -> tuple[Embeddings, Embeddings]:
    """Return own attributes, and leading directions of smoothed ones, in rows of unit length."""
    own, smooth = attributes_of(graph, seed=seed, most_columns=_DIRECTIONS)
    mean, directions = attribute_directions(graph, smooth, _DIRECTIONS, seed=seed)
    return own, F.normalize((smooth - mean) @ directions, dim=1)
