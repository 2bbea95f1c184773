"""What several methods share: training by validation, answers meanwhile, votes and supports of nodes."""

from typing import Any

import numpy as np
import scipy.sparse
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from quietgraph.embed.train import Losses, Schedule, train
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, Observed
from quietgraph.types import Scores, SparseMatrix


def fit_network(
    network: nn.Module,
    losses: Losses,
    schedule: Schedule,
    graph: Graph,
    observed: Observed,
    *,
    parameters: list[dict[str, Any]] | None = None,
) -> Fitted:
    """Train a network in place on its named losses, and return its answer at the epoch of the best validation.

    The network gives scores and embeddings of a graph; `parameters` are optimiser groups, where decay differs.
    """

    def score() -> float:
        return observed.score(network(graph)[0])

    history = train(network, losses, schedule, score=score, parameters=parameters, on_epoch=observed.on_epoch)
    with torch.no_grad():
        scores, embeddings = network(graph)
    return Fitted(scores, embeddings, network, history=history)


@torch.no_grad()
def look(network: nn.Module, *inputs: Any) -> Any:
    """Return what a network in training answers now, without dropout or gradient."""
    network.eval()
    answer = network(*inputs)
    network.train()
    return answer


def known_or_predicted(observed: Observed, scores: Scores) -> Tensor:
    """Return the class of each node as one-hot rows: its training label, else its largest score [nodes, classes]."""
    classes = torch.where(observed.train, observed.codes, scores.argmax(dim=1))
    return F.one_hot(classes, scores.shape[1]).to(scores.dtype)


def keep_largest(matrix: SparseMatrix, most: int) -> SparseMatrix:
    """Return the `most` largest entries of each row; of equal ones, those of smaller columns."""
    found = matrix.tocoo()
    order = np.lexsort((found.col, -found.data, found.row))
    rows = found.row[order]
    order = order[np.arange(len(rows)) - np.searchsorted(rows, rows) < most]
    return scipy.sparse.csr_matrix((found.data[order], (found.row[order], found.col[order])), shape=found.shape)
