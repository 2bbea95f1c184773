"""Q^d X W for fixed features X, where training changes the depth d and the weights W.

Scoring and the step that follows see the same parameters, so the costly part is computed once.
"""

import copy
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from quietgraph.embed.negative_depth import ExactPower, Power
from quietgraph.embed.propagation import multiply, project
from quietgraph.graph import CSR, Features
from quietgraph.types import Scalar


class FilteredFeatures(Protocol):
    """Something that computes Q^d X W, with gradients to d and W."""

    def __call__(self, weight: Tensor, depth: Scalar) -> Tensor:
        """Return Q^depth X weight [nodes, dim]."""

    def at(self, nodes: Tensor) -> "FilteredFeatures":
        """Return what computes the rows of these nodes alone."""


class LastScored:
    """What was computed without gradients, kept with its graph for the next step."""

    def __init__(self) -> None:
        self._parameters: list[tuple[Tensor, int]] = []
        self._value: Tensor | None = None

    def __call__(self, compute: Callable[[], Tensor], *parameters: Tensor) -> Tensor:
        """Return compute(), or what it gave when scored if the parameters are still the same."""
        value = self._value if self._is_of(parameters) else None
        if torch.is_grad_enabled():
            self._value = None  # a graph serves one step
            return compute() if value is None else value
        if value is None:
            with torch.enable_grad():
                self._value = value = compute()
            self._parameters = [(each, each._version) for each in parameters]
        return value

    def _is_of(self, parameters: tuple[Tensor, ...]) -> bool:
        known = [(id(each), version) for each, version in self._parameters]
        return known == [(id(each), each._version) for each in parameters]


class _Exact:
    """Through the eigenvectors V: only V^T X W is shared by all nodes."""

    def __init__(self, power: ExactPower, features: Features) -> None:
        self.power, self.last = power, LastScored()
        self.spectral = _spectral_product(power, features)

    def __call__(self, weight: Tensor, depth: Scalar) -> Tensor:
        return self.power.filtered(self.last(lambda: self.spectral(weight), weight), depth)

    def at(self, nodes: Tensor) -> "_Exact":
        part = copy.copy(self)
        part.power = self.power.at(nodes)
        return part


class _Whole:
    """Of all nodes, and then the rows that are wanted."""

    def __init__(self, power: Power, features: Features) -> None:
        self.power, self.features, self.last = power, features, LastScored()
        self.nodes: Tensor | None = None

    def __call__(self, weight: Tensor, depth: Scalar) -> Tensor:
        def compute() -> Tensor:
            return self.power(project(self.features, weight), depth)

        rows = self.last(compute, weight, depth)
        return rows if self.nodes is None else rows[self.nodes]

    def at(self, nodes: Tensor) -> "_Whole":
        part = copy.copy(self)
        part.nodes = nodes
        return part


def filtered_features(power: Power, features: Features) -> FilteredFeatures:
    """Return Q^d X W as a function of W and d."""
    if isinstance(power, ExactPower):
        return _Exact(power, features)
    return _Whole(power, features)


def _spectral_product(power: ExactPower, features: Features) -> Callable[[Tensor], Tensor]:
    """Return W -> V^T X W."""
    if len(power.blocks) == 1:
        return _block_product(power.vectors[0], features)
    parts = [
        _block_product(vectors, _rows(features, nodes))
        for vectors, nodes in zip(power.vectors, power.blocks, strict=True)
    ]
    return lambda weight: torch.cat([part(weight) for part in parts])


def _rows(features: Features, nodes: Tensor) -> Features:
    return features.take_rows(nodes) if isinstance(features, CSR) else features[nodes]


def _block_product(vectors: Tensor, features: Features) -> Callable[[Tensor], Tensor]:
    """Return W -> V^T X W, by way of V^T X where that has fewer numbers than V and X."""
    entries = features.num_entries if isinstance(features, CSR) else features.numel()
    if vectors.shape[1] * features.shape[1] >= vectors.numel() + entries:
        return lambda weight: vectors.T @ project(features, weight)
    if isinstance(features, CSR):
        at_once = multiply(features.transposed(), vectors).T
    else:
        at_once = vectors.T @ features
    return lambda weight: at_once @ weight
