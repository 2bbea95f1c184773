"""The ten checks of `quietgraph.testing` over every method and over one of our own, and that they notice mistakes."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from quietgraph.embed.operator import normalised_adjacency, scaled
from quietgraph.embed.sparse import project, propagate
from quietgraph.graph import Graph
from quietgraph.methods.base import Fitted, NodeClassifier, Observed
from quietgraph.methods.registry import METHODS
from quietgraph.params import param, parameters
from quietgraph.testing import CHECKS, Trial, check_method, small_data

QUICK = {"epochs": 3, "hidden": 8, "dim": 8, "warm_up": 1, "steps": 2, "head": 8, "walks": 4, "propagation_steps": 2}


@lru_cache(maxsize=2)
def trial_of(name: str) -> Trial:
    method = METHODS[name]
    return Trial(method, {key: value for key, value in QUICK.items() if key in parameters(method)}, small_data())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_the_contract(name: str, check: Any) -> None:
    check(trial_of(name))


class Centres(nn.Module):
    """Scores by the squared distance of smoothed attributes to the mean of each class."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("centres", torch.zeros(classes, features))

    def forward(self, graph: Graph) -> tuple[torch.Tensor, torch.Tensor]:
        rows = propagate(normalised_adjacency(graph), project(scaled(graph, "l2"), torch.eye(graph.num_features)))
        return -torch.cdist(rows, self.centres).square(), rows


@dataclass(kw_only=True, eq=False, repr=False)
class NearestCentre(NodeClassifier):
    """The mean of each class, of attributes averaged over neighbours."""

    sharpness: float = param(1.0, "factor of the scores", low=0)

    def _network(self, features: int, classes: int) -> Centres:
        return Centres(features, classes)

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        network = self._network(graph.num_features, observed.num_classes)
        rows, codes = network(graph)[1], observed.codes
        known = [rows[codes == one] for one in range(observed.num_classes)]
        network.centres = torch.stack([one.mean(dim=0) if len(one) else rows.mean(dim=0) for one in known])
        return Fitted(*network(graph), network)


def test_a_method_of_your_own_keeps_the_contract() -> None:
    check_method(NearestCentre)


@dataclass(kw_only=True, eq=False, repr=False)
class Peeks(NearestCentre):
    """Reads labels that are no business of a method."""

    def fit(self, graph: Any, *arguments: Any, **more: Any) -> Any:
        super().fit(graph, *arguments, **more)
        self.fitted_.scores.add_(torch.nn.functional.one_hot(graph.codes.clamp_min(0), 3))
        return self


@dataclass(kw_only=True, eq=False, repr=False)
class Draws(NearestCentre):
    """Draws from NumPy's global stream."""

    def _fit(self, graph: Graph, observed: Observed) -> Fitted:
        fitted = super()._fit(graph, observed)
        fitted.scores.mul_(float(np.random.rand()))  # noqa: NPY002
        return fitted


@dataclass(kw_only=True, eq=False, repr=False)
class Forgets(NearestCentre):
    """Answers for other graphs with what is not in its network."""

    def _network(self, features: int, classes: int) -> Centres:
        network = super()._network(features, classes)
        network._buffers.pop("centres")
        network.centres = torch.zeros(classes, features)  # a plain attribute, which is not saved
        return network


@pytest.mark.parametrize(
    ("method", "complaint"),
    [(Peeks, "labels of test nodes"), (Draws, "two fits with one seed"), (Forgets, "a loaded model")],
)
def test_the_checks_notice(method: type[NodeClassifier], complaint: str) -> None:
    with pytest.raises(AssertionError, match=complaint):
        check_method(method)
