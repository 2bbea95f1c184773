"""Labels as the one-hot matrices that the theory speaks of."""

import torch
from torch import Tensor

from quietgraph.errors import InvalidLabelsError
from quietgraph.types import UNKNOWN, Embeddings, Labels


def one_hot(labels: Labels, num_classes: int) -> Tensor:
    """Return one column per class [nodes, classes] in float64; unknown nodes are rows of zeros."""
    matrix = torch.zeros(len(labels), num_classes, dtype=torch.float64)
    known = (labels != UNKNOWN).nonzero().squeeze(1)
    matrix[known, labels[known]] = 1
    return matrix


def count_classes(*labels: Labels) -> int:
    """Return one more than the largest class code in any of the label tensors."""
    return 1 + max(int(each.max()) for each in labels)


def check_known(labels: Labels, embeddings: Embeddings, *, name: str = "labels") -> None:
    """Raise where the labels do not belong to the embeddings or are all unknown."""
    if labels.dim() != 1 or len(labels) != len(embeddings):
        raise InvalidLabelsError(
            f"{name} must have one entry per node ({len(embeddings)}), got shape "
            f"{list(labels.shape)}. Mark unlabelled nodes with -1."
        )
    if labels.is_floating_point() or bool((labels < UNKNOWN).any()):
        raise InvalidLabelsError(
            f"{name} must be whole class codes from 0 on, or -1 for unknown, got "
            f"{labels.dtype} with a smallest of {labels.min().item():g}."
        )
    if not bool((labels != UNKNOWN).any()):
        raise InvalidLabelsError(f"{name} must be known (not -1) for at least one node.")
