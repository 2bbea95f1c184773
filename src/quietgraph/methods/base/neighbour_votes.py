"""What the neighbours of a node say about its class, for methods that correct labels by votes."""

import torch
import torch.nn.functional as F
from torch import Tensor

from quietgraph.embed import multiply
from quietgraph.graph import CSR
from quietgraph.types import UNKNOWN, Labels, Scores


def neighbour_votes(adjacency: CSR, distribution: Tensor) -> Tensor:
    """Return the weighted count of each class among each node's neighbours [nodes, classes].

    Args:
        adjacency: Weight of every vote: row i holds the neighbours of node i [voted, nodes].
        distribution: What each neighbour is: one-hot or soft [nodes, classes].
    """
    return multiply(adjacency, distribution)


def known_or_predicted(train_labels: Labels, scores: Scores) -> Tensor:
    """Return the one-hot class of each node: its label where known, else its largest score.

    Args:
        train_labels: Class codes of training nodes, -1 elsewhere, so that no other label counts
            [nodes].
        scores: What the model says now; no gradient passes [nodes, classes].
    """
    predicted = scores.detach().argmax(dim=1)
    classes = torch.where(train_labels == UNKNOWN, predicted, train_labels)
    return F.one_hot(classes, scores.shape[1]).to(scores.dtype)
