"""Graphs without labels: features and a symmetric adjacency."""

from quietgraph.graph.graph import Graph
from quietgraph.graph.sparse import CSR, Features

__all__ = ["CSR", "Features", "Graph"]
