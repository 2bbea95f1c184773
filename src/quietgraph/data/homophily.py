"""Homophily: how often edges join equal labels, beside how often they would by chance."""

import math
from typing import Final, NamedTuple

import torch

from quietgraph.data.observation import Observation
from quietgraph.types import UNKNOWN

_ERRORS: Final = 3  # standard errors that chance may explain


class Homophily(NamedTuple):
    """Of the edges between labelled nodes; NaN where there are none."""

    observed: float  # fraction of edges that join equal labels
    by_chance: float  # the same if labels met at random, each as often as it is at an end
    edges: int  # counted once

    @property
    def is_low(self) -> bool:
        """Whether edges join equal labels less often than chance explains."""
        return is_heterophilous(self.observed, self.by_chance, self.edges)


def is_heterophilous(observed: float, by_chance: float, edges: float) -> bool:
    """Return whether homophily is below chance by three standard errors of so many edges.

    Args:
        observed: Fraction of the edges that join equal labels.
        by_chance: The same if labels met at random.
        edges: Between labelled nodes, each counted once.
    """
    if not edges:
        return False
    return observed < by_chance - _ERRORS * math.sqrt(by_chance * (1 - by_chance) / edges)


def measure_homophily(observation: Observation) -> Homophily:
    """Return the homophily of a graph under its observed labels."""
    codes, known = observation.codes, observation.known.nonzero().squeeze(1)
    near = observation.graph.adjacency.take_rows(known)  # edges of labelled nodes are enough
    ends = torch.stack([codes[known][near.rows], codes[near.columns.long()]])
    ends = ends[:, ends[1] != UNKNOWN]
    fractions = torch.bincount(ends.reshape(-1)).double() / ends.numel()
    observed = (ends[0] == ends[1]).double().mean()
    by_chance = fractions.square().sum() if ends.numel() else torch.nan
    return Homophily(float(observed), float(by_chance), ends.shape[1] // 2)
