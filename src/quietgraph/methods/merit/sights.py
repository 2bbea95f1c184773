"""What nodes see of a graph: products with any weight matrix, prepared once for both networks."""

from collections.abc import Callable
from typing import Final, TypeAlias

import torch
from torch import Tensor

from quietgraph.embed import View, multiply, project
from quietgraph.embed.diffusion import DiffusedFeatures
from quietgraph.graph import CSR, Features

Nodes: TypeAlias = Tensor | slice  # node indices [nodes] int64, or all of them
Sight: TypeAlias = Callable[[Tensor], Tensor]  # weight [features, dim] -> rows of A X W

ALL: Final = slice(None)


class Surroundings:
    """What the nodes of a graph see when nothing is changed: their edges, and their diffusion."""

    def __init__(self, operator: CSR, features: Features, teleport: float) -> None:
        self.features, self.whole = features, View(operator)
        self.diffused = DiffusedFeatures(operator, features, teleport)

    def sights(self, nodes: Nodes = ALL) -> tuple[Sight, Sight]:
        """Return what some nodes see through their edges and through the diffusion."""
        return edge_sight(self.features, self.whole, nodes), self.diffused_sight(nodes)

    def diffused_sight(self, nodes: Nodes, mask: Tensor | None = None) -> Sight:
        """Return what some nodes see through the diffusion, with feature columns masked."""
        if self.diffused.kept is not None:
            return _dense_sight(self.diffused.kept[nodes], mask)
        if mask is None:
            return lambda weight: self.diffused.project(weight, nodes)
        return lambda weight: self.diffused.project(weight * mask[:, None], nodes)


def edge_sight(features: Features, view: View, nodes: Nodes) -> Sight:
    """Return what some nodes see in a view: weight -> rows of A X W [nodes, dim]."""
    operator, mask = view.operator, view.feature_mask
    if isinstance(nodes, Tensor):
        operator = operator.take_rows(nodes).to(nodes.device)
    if isinstance(features, Tensor):
        return _dense_sight(multiply(operator, features), mask)
    if isinstance(nodes, Tensor):
        operator, features = _within_reach(operator, features)
    if mask is not None:  # a masked entry instead of a masked row of the weight
        features = features.with_values(features.values * mask[features.columns])
    return lambda weight: multiply(operator, project(features, weight))


def _dense_sight(rows: Tensor, mask: Tensor | None) -> Sight:
    """Return weight -> rows W with feature columns masked."""
    if mask is None:
        return lambda weight: rows @ weight
    return lambda weight: rows @ (weight * mask[:, None])


def _within_reach(operator: CSR, features: CSR) -> tuple[CSR, CSR]:
    """Return both matrices without the nodes that the operator does not read."""
    reached, columns = torch.unique(operator.columns, return_inverse=True)
    shape = (operator.shape[0], len(reached))
    narrow = CSR(operator.row_pointer, columns.to(operator.columns.dtype), operator.values, shape)
    return narrow, features.take_rows(reached)
