"""Homophily: how often edges join equal labels, beside how often they would by chance."""

from typing import NamedTuple

import torch

from quietgraph.graph import Graph
from quietgraph.types import UNKNOWN, Labels


class Homophily(NamedTuple):
    """Of the edges between labelled nodes; NaN where there are none."""

    observed: float  # fraction of edges that join equal labels
    by_chance: float  # the same if labels met at random, each as often as it is at an end
    edges: int  # counted once


def measure_homophily(graph: Graph, codes: Labels) -> Homophily:
    """Return the homophily of a graph under class codes of which some are -1, unknown [nodes]."""
    known = (codes != UNKNOWN).nonzero().squeeze(1)
    near = graph.adjacency.take_rows(known)  # edges of labelled nodes are enough
    first, second = codes[known][near.rows], codes[near.columns.long()]
    both = second != UNKNOWN
    first, second = first[both], second[both]
    by_chance = (torch.bincount(first).double() / len(first)).square().sum() if len(first) else torch.nan
    return Homophily(float((first == second).double().mean()), float(by_chance), len(first) // 2)
