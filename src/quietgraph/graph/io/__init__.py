"""Own data from disk: tables, arrays, PyG and network files, read to one checked graph."""

from quietgraph.graph.io.corrections import Corrections, read_corrections
from quietgraph.graph.io.encoding import Encoding, read_encoding
from quietgraph.graph.io.read import ReadOptions, read_graph
from quietgraph.graph.io.result import ReadGraph, Understood

__all__ = [
    "Corrections",
    "Encoding",
    "ReadGraph",
    "ReadOptions",
    "Understood",
    "read_corrections",
    "read_encoding",
    "read_graph",
]
