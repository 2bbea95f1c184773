"""Stage 1, in: a checked graph without labels."""

from quietgraph.graph.generate import LabelledGraph, block_model, digits_graph
from quietgraph.graph.graph import Graph
from quietgraph.graph.sparse import CSR, Features

__all__ = ["CSR", "Features", "Graph", "LabelledGraph", "block_model", "digits_graph"]
