"""What attributes and neighbours say of a node without its own label, in closed form."""

from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from scipy.special import log_softmax

from quietgraph.classify.label_issues.pooling import pool_evidence
from quietgraph.classify.label_issues.suspects import neighbour_label_fractions
from quietgraph.classify.smoothing import attribute_directions, attributes_of
from quietgraph.graph import Graph
from quietgraph.types import UNKNOWN, Embeddings, Labels, Mask

_DIRECTIONS: Final = 256  # of the smoothed attributes that are kept
_PENALTIES: Final = 10.0 ** np.arange(-2, 2.1, 0.5)  # in units of the mean squared length of rows
_SHARPNESS: Final = 2.0 ** np.arange(0, 6)
_LEAST: Final = 1e-6
_Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, eq=False)
class LeaveOneOutRidge:
    """Ridge regression onto one-hot labels whose leave-one-out predictions cost one product.

    Attributes:
        left: Left singular vectors of the centred rows [rows, rank].
        squares: Squared singular values [rank].
    """

    left: _Array
    squares: _Array

    @classmethod
    def of(cls, rows: _Array) -> "LeaveOneOutRidge":
        """Decompose the rows once, for any labels [rows, columns]."""
        centred = rows - rows.mean(axis=0)
        narrow = centred.shape[1] <= centred.shape[0]
        values, vectors = np.linalg.eigh(centred.T @ centred if narrow else centred @ centred.T)
        kept = values > 1e-9 * max(float(values[-1]), 1e-30)
        squares = values[kept]
        left = centred @ vectors[:, kept] / np.sqrt(squares) if narrow else vectors[:, kept]
        return cls(left, squares)

    def left_out(self, targets: _Array, penalty: float) -> _Array:
        """Return what each row is predicted by a fit to the other rows [rows, classes].

        The residual of the fit to all rows, over 1 less the leverage of the row.

        Args:
            targets: To be predicted [rows, classes].
            penalty: In units of the mean squared length of the rows.
        """
        mean, unit = targets.mean(axis=0), self.squares.sum() / len(targets)
        shrink = self.squares / (self.squares + penalty * unit)
        fitted = mean + self.left @ (shrink[:, None] * (self.left.T @ (targets - mean)))
        leverage = np.square(self.left) @ shrink + 1 / len(targets)
        return np.asarray(targets - (targets - fitted) / np.maximum(1 - leverage, _LEAST)[:, None])

    def log_probabilities(self, labels: _Array, num_classes: int) -> _Array:
        """Return log probabilities of each row's classes by the other rows [rows, classes].

        Penalty and sharpness are those under which the labels are likeliest.
        """
        targets = np.eye(num_classes)[labels] - 1 / num_classes
        rows = np.arange(len(labels))
        options = (
            log_softmax(sharpness * scores, axis=1)
            for scores in (self.left_out(targets, penalty) for penalty in _PENALTIES)
            for sharpness in _SHARPNESS
        )
        return np.asarray(max(options, key=lambda logs: float(logs[rows, labels].sum())))


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
        self.ridges = {
            name: LeaveOneOutRidge.of(rows[known].double().numpy())
            for name, rows in {"attributes": smooth, "own": own}.items()
        }

    def __call__(self, labels: Labels, num_classes: int) -> _Array:
        """Return probabilities of the nodes' classes without their own labels [nodes, classes].

        Own attributes, smoothed ones and the labels of neighbours are pooled with weights that fit
        the labels; rows of other nodes are 0.

        Args:
            labels: Class codes of the known nodes [nodes].
            num_classes: Number of classes.
        """
        labels = labels.masked_fill(~self.known, UNKNOWN)
        sources = {"neighbours": neighbour_label_fractions(self.adjacency, labels, num_classes)}
        for name, ridge in self.ridges.items():
            logs = ridge.log_probabilities(labels[self.known].numpy(), num_classes)
            sources[name] = torch.zeros(len(labels), num_classes, dtype=torch.float64)
            sources[name][self.known] = torch.from_numpy(np.exp(logs))
        return pool_evidence(sources, labels).probabilities.numpy()


def attribute_views(graph: Graph, *, seed: int) -> tuple[Embeddings, Embeddings]:
    """Return own attributes, and leading directions of smoothed ones, in rows of unit length."""
    own, smooth = attributes_of(graph, seed=seed, most_columns=_DIRECTIONS)
    mean, directions = attribute_directions(graph, _DIRECTIONS, seed=seed, most_columns=_DIRECTIONS)
    return own, F.normalize((smooth - mean) @ directions, dim=1)
