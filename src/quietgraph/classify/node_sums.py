"""Means over the nodes of a graph, in blocks of rows; several processes add up their own rows."""

import torch
from torch import Tensor

from quietgraph.classify.class_prior import mean_margin
from quietgraph.embed.scale.node_rows import BLOCK, node_rows
from quietgraph.types import Mask, Scores


def margin_of_nodes(scores: Scores) -> Tensor:
    """Return by how much the best class of a node is ahead of its second on average.

    Args:
        scores: Of all nodes, the same in all processes [nodes, classes].
    """
    if len(scores) <= BLOCK:
        return mean_margin(scores)

    def add_up(rows: slice) -> Tensor:
        top = scores[rows].topk(2, dim=1).values.double()
        return (top[:, 0] - top[:, 1]).sum()

    return (node_rows(len(scores)).sum(add_up) / len(scores)).clamp_min(1e-12).to(scores.dtype)


def fraction_differing(first: Scores, second: Scores, where: Mask) -> float:
    """Return the fraction of some nodes whose largest scores are of different classes, 0 of none.

    Args:
        first: Of all nodes [nodes, classes].
        second: As well.
        where: Which nodes count [nodes].
    """

    def count(rows: slice) -> Tensor:
        differs = first[rows].argmax(dim=1) != second[rows].argmax(dim=1)
        return torch.stack([(differs & where[rows]).sum(), where[rows].sum()])

    differing, every = node_rows(len(first)).sum(count).tolist()
    return float(differing / max(every, 1))
