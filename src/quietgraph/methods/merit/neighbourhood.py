"""Projected features in the views of MERIT, prepared once for both networks."""

from collections.abc import Callable
from typing import Final, TypeAlias

import torch
from torch import Tensor

from quietgraph.embed import View, multiply, project
from quietgraph.embed.diffusion import DiffusedFeatures
from quietgraph.graph import CSR, Features

Nodes: TypeAlias = Tensor | slice  # node indices [nodes] int64, or all of them
ProjectedView: TypeAlias = Callable[[Tensor], Tensor]  # weight [features, dim] -> rows of A X W

ALL: Final = slice(None)


class Neighbourhood:
    """The unchanged graph: its features through its edges, and through its diffusion."""

    def __init__(self, operator: CSR, features: Features, teleport: float) -> None:
        self.features, self.whole = features, View(operator)
        self.diffused = DiffusedFeatures(operator, features, teleport)

    def views(self, nodes: Nodes = ALL) -> tuple[ProjectedView, ProjectedView]:
        """Return the edge view and the diffusion view of some nodes."""
        return edge_view(self.features, self.whole, nodes), self.diffusion_view(nodes)

    def diffusion_view(self, nodes: Nodes, mask: Tensor | None = None) -> ProjectedView:
        """Return the diffusion view of some nodes, with feature columns masked."""
        if self.diffused.kept is not None:
            return _dense_view(self.diffused.kept[nodes], mask)
        if mask is None:
            return lambda weight: self.diffused.project(weight, nodes)
        return lambda weight: self.diffused.project(weight * mask[:, None], nodes)


def edge_view(features: Features, view: View, nodes: Nodes) -> ProjectedView:
    """Return a function of the weight that gives rows of A X W of some nodes [nodes, dim]."""
    operator, mask = view.operator, view.feature_mask
    if isinstance(nodes, Tensor):
        operator = operator.take_rows(nodes).to(nodes.device)
    if isinstance(features, Tensor):
        return _dense_view(multiply(operator, features), mask)
    if isinstance(nodes, Tensor):
        operator, features = _within_reach(operator, features)
    if mask is not None:  # a masked entry instead of a masked row of the weight
        features = features.with_values(features.values * mask[features.columns])
    return lambda weight: multiply(operator, project(features, weight))


def _dense_view(rows: Tensor, mask: Tensor | None) -> ProjectedView:
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
