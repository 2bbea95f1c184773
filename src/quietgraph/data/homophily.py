"""Homophily: how often edges join equal labels, beside how often they would by chance."""

from typing import NamedTuple

import torch

from quietgraph.data.observation import Observation


class Homophily(NamedTuple):
    """Of the edges between labelled nodes; NaN where there are none."""

    observed: float  # fraction of edges that join equal labels
    by_chance: float  # the same if labels met at random, each as often as it is at an end
    edges: int  # counted once


def measure_homophily(observation: Observation) -> Homophily:
    """Return the homophily of a graph under its observed labels."""
    ends = observation.codes[observation.graph.edge_index]
    ends = ends[:, (ends >= 0).all(dim=0)]
    fractions = torch.bincount(ends.reshape(-1)).double() / ends.numel()
    observed = (ends[0] == ends[1]).double().mean()
    by_chance = fractions.square().sum() if ends.numel() else torch.nan
    return Homophily(float(observed), float(by_chance), ends.shape[1] // 2)
